//! Tokens to syntax tree: recursive descent, one function per production, one file per topic.
//!
//! In: a text. Out: [`Parsed`]: as much of the tree as could be read, every independent problem and
//! every comment. A production that fails has already reported why and gives [`Failed`]; the list of
//! statements around it goes on at the next statement. There is no backtracking: a choice looks ahead
//! one word, so the cost is linear in the length of the text. A text that calls a module by the name of
//! a built-in function and binds it further below is read a second time, knowing the name (FUN-1).
//!
//! There are no reserved words (GRM-1): a word is a keyword only where the grammar says
//! so and what follows does not turn it into a name (`limit = 2` is a statement, `limit 2` a clause).
//!
//! Files: `script` and `control` (lists of statements), `select`, `write`, `create`, `clause`,
//! `describe`, `route` (statements), `expression` and `primary` (expressions over rows), `operand` and
//! `literal` (values), `expect`, `habit` and
//! `recover` (failures), `cursor` (completion).

use crate::{
    ast::{Comment, Script},
    diagnostic::{Diagnostic, codes},
    lexer::{LexError, Lexer},
    limits::Limits,
    source::Span,
    tokens::Token,
};

mod clause;
mod control;
mod create;
pub(crate) mod cursor;
mod describe;
mod expect;
mod expression;
mod group;
mod habit;
mod literal;
mod operand;
mod paging;
mod primary;
mod recover;
mod route;
mod script;
mod select;
mod source;
mod write;

pub use primary::last_name;

/// The outcome of [`parse`].
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The statements that could be read. Complete if and only if `diagnostics` holds no error.
    pub script: Script,
    /// Every independent problem, in text order.
    pub diagnostics: Vec<Diagnostic>,
    /// Every comment of the text, in order, wherever it stands.
    pub comments: Vec<Comment>,
}

impl Parsed {
    /// Whether the text is a complete, well-formed script.
    pub fn is_ok(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Reads a script, a route or a table file with the default [`Limits`] (GRM-6).
///
/// Never fails as a whole and never panics; time is linear in the length of the text.
pub fn parse(text: &str) -> Parsed {
    parse_with(text, &Limits::default())
}

/// Like [`parse`], with other bounds.
pub fn parse_with(text: &str, limits: &Limits) -> Parsed {
    if let Some(refused) = refuse_large(text, limits) {
        return refused;
    }
    let (script, parser) = Parser::read(text, *limits, false);
    Parsed { script, diagnostics: parser.diagnostics, comments: parser.lexer.comments }
}

fn refuse_large(text: &str, limits: &Limits) -> Option<Parsed> {
    let bytes_max = limits.text_bytes_max.min(u32::MAX as usize);
    if text.len() <= bytes_max {
        return None;
    }
    let message = format!("the script has {} bytes, at most {bytes_max} are allowed", text.len());
    let too_large = Diagnostic::error(codes::SCRIPT_TOO_LARGE, Span::default(), message);
    Some(Parsed { script: Script::default(), diagnostics: vec![too_large], comments: Vec::new() })
}

/// A text that was read for its tokens.
pub(crate) struct Recorded {
    pub(crate) parsed: Parsed,
    pub(crate) tokens: Vec<Token>,
}

/// Like [`parse_with`], noting all tokens and what they are names of.
pub(crate) fn record(text: &str, limits: &Limits) -> Recorded {
    if let Some(parsed) = refuse_large(text, limits) {
        return Recorded { parsed, tokens: Vec::new() };
    }
    let (script, mut parser) = Parser::read(text, *limits, true);
    let tokens = parser.take_recorded();
    let Parser { diagnostics, lexer, .. } = parser;
    Recorded { parsed: Parsed { script, diagnostics, comments: lexer.comments }, tokens }
}

/// A production could not be read; the reason is already reported.
#[derive(Debug)]
struct Failed;

type Outcome<T> = Result<T, Failed>;

/// The state of one run.
struct Parser<'t> {
    lexer: Lexer<'t>,
    limits: Limits,
    diagnostics: Vec<Diagnostic>,
    /// The alternatives asked for at `expected_at` that were not there.
    expected: Vec<expect::Expected>,
    expected_at: usize,
    depth: usize,
    statements: usize,
    /// Keywords that start statements and are variables here.
    keyword_variables: Vec<&'static str>,
    /// Names of built-in functions that the script binds to modules, as far as it has been read.
    modules: Vec<&'static str>,
    /// Names that were read as built-in functions.
    functions: Vec<&'static str>,
    /// The text being read belongs to `return`: all variables are known.
    is_in_return: bool,
    /// Where the expression stands that is being read.
    place: expression::Place,
    /// A limit was hit or everything is said: report nothing more and read nothing more.
    is_stopped: bool,
    /// Notes for completion; absent while a text is just read.
    cursor: Option<Box<cursor::Cursor>>,
}

impl<'t> Parser<'t> {
    /// Reads a text, a second time where a module is bound below its use.
    fn read(text: &'t str, limits: Limits, is_recording: bool) -> (Script, Self) {
        let start = |modules| {
            let mut parser = Parser { modules, ..Parser::new(text, limits) };
            if is_recording {
                parser.start_recording();
            }
            parser
        };
        let mut parser = start(Vec::new());
        let mut script = parser.script();
        if parser.is_module_bound_below() {
            parser = start(parser.modules);
            script = parser.script();
        }
        (script, parser)
    }

    fn new(text: &'t str, limits: Limits) -> Self {
        Self {
            lexer: Lexer::new(text),
            limits,
            diagnostics: Vec::new(),
            expected: Vec::new(),
            expected_at: 0,
            depth: 0,
            statements: 0,
            keyword_variables: Vec::new(),
            modules: Vec::new(),
            functions: Vec::new(),
            is_in_return: false,
            place: expression::Place::default(),
            is_stopped: false,
            cursor: None,
        }
    }

    /// Whether a call was read as one of a built-in function whose name a later statement binds to a
    /// module: statements run in the order in which they need each other, so the module is meant.
    fn is_module_bound_below(&self) -> bool {
        self.modules.iter().any(|name| self.functions.contains(name))
    }

    /// Runs a production one level deeper.
    fn descend<T>(&mut self, production: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        if self.depth >= self.limits.nesting_depth_max {
            let message = format!("nested deeper than {} levels", self.limits.nesting_depth_max);
            return self.stop(codes::NESTING_TOO_DEEP, message);
        }
        self.depth += 1;
        let outcome = production(self);
        self.depth -= 1;
        outcome
    }

    /// Counts one more statement.
    fn count_statement(&mut self) -> Outcome<()> {
        self.statements += 1;
        if self.statements > self.limits.statements_max {
            let message = format!("more than {} statements", self.limits.statements_max);
            return self.stop(codes::TOO_MANY_STATEMENTS, message);
        }
        Ok(())
    }

    /// The position of the next token, one character long; empty at the end of the text.
    fn here(&self) -> Span {
        let at = self.lexer.at();
        let length = self.lexer.peek().map_or(0, char::len_utf8);
        Span::new(at as u32, (at + length) as u32)
    }

    /// The span from `start` to the end of the last token.
    fn since(&self, start: u32) -> Span {
        Span::new(start, self.lexer.last_end().max(start))
    }

    /// Offset of the next token.
    fn start(&self) -> u32 {
        self.lexer.at() as u32
    }

    /// Reports a token that could not be read.
    fn lex_failure<T>(&mut self, error: LexError) -> Outcome<T> {
        if error.is_open_to_end {
            self.note_open_text(error.span.start as usize);
        }
        let mut diagnostic = Diagnostic::error(error.code, error.span, error.message);
        diagnostic.hints.extend(error.hint);
        let at = error.span.start as usize;
        diagnostic.found = self.lexer.text()[at..].chars().next().map(String::from);
        self.report(diagnostic)
    }
}
