//! Scripts, statements, fallback chains and `return` (GRM-6, GRM-9).

use super::{
    Failed, Outcome, Parser,
    cursor::{LITERAL_WORDS, VALUE_WORDS},
    expect::{self, Expected, STATEMENT_WORDS},
    habit,
};
use crate::{
    ast::{Call, Comment, Count, Ident, Item, Primary, Return, Script, Statement},
    complete::Wanted,
    diagnostic::codes,
    functions::BuiltIn,
    source::Span,
    tokens::Role,
};

/// The words that start the statements which are values.
const STATEMENT_KEYWORDS: &[&str] =
    &["select", "insert", "update", "delete", "create", "show", "describe", "desc"];

/// The words that begin something in an expression or behind `select`, and may be modules as well.
const EXPRESSION_KEYWORDS: &[&str] = &["not", "case", "exists", "value", "distinct"];

/// Where a list of statements stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The script itself.
    Top,
    /// The braces of if, else, try or catch.
    Block,
    /// The braces of finally, where nothing can be thrown directly.
    Finally,
}

impl Parser<'_> {
    /// `script = { item } [ return ] { comment }`.
    pub(super) fn script(&mut self) -> Script {
        let mut script = Script::default();
        let mut documented_to = 0;
        while self.lexer.peek().is_some() {
            let started_at = self.lexer.at();
            let docs = self.comments_since(documented_to);
            if self.is_return() {
                match self.return_clause(docs) {
                    Ok(result) => {
                        documented_to = result.span.end;
                        script.result = Some(result);
                        self.refuse_more(script.result.as_ref());
                        break;
                    }
                    Err(Failed) => self.synchronise(started_at, false),
                }
            } else if let Ok(item) = self.item(docs, Place::Top) {
                documented_to = item_span(&item).end;
                script.items.push(item);
                continue;
            } else {
                self.synchronise(started_at, false);
            }
            documented_to = self.lexer.last_end();
        }
        if script.result.is_none() {
            self.leave_scope();
            self.want_statement(Place::Top);
        }
        if let Some(span) = self.lexer.unclosed_comment.take() {
            let _: Outcome<()> =
                self.error(codes::UNCLOSED_COMMENT, span, "this comment is never closed", "");
        }
        script.trailing = self.comments_since(documented_to);
        script
    }

    /// The comments that stand after `offset` and before the next token.
    fn comments_since(&self, offset: u32) -> Vec<Comment> {
        let comments = &self.lexer.comments;
        let first = comments.partition_point(|comment| comment.span.start < offset);
        comments[first..].to_vec()
    }

    /// Whether a `return` clause starts here, rather than a variable of that name.
    fn is_return(&mut self) -> bool {
        self.lexer.peek_word() == "return" && self.is_continuation()
    }

    /// Reports text behind the `return`.
    fn refuse_more(&mut self, result: Option<&Return>) {
        if self.lexer.peek().is_none() {
            return;
        }
        let span = self.here();
        let last = result.and_then(|result| result.alternatives.last());
        let hint = match last {
            Some(Primary::Reference(name)) => {
                expect::find_misspelling(&name.text, STATEMENT_WORDS.iter().copied())
            }
            _ => None,
        };
        let hint = hint.or_else(|| {
            let is_route = self.lexer.peek_word() == "via";
            is_route
                .then(|| "`via route` stands before the `;`".to_owned())
                .or_else(|| self.habit())
                .or_else(|| habit::capitals(self.lexer.rest()).map(str::to_owned))
        });
        let _: Outcome<()> = self.error(
            codes::TEXT_AFTER_RETURN,
            span,
            "only comments may follow `return`",
            hint.unwrap_or_default(),
        );
        let _: Outcome<()> = self.give_up();
    }

    /// `item = ifStmt | tryStmt | throwStmt | assignable`.
    pub(super) fn item(&mut self, docs: Vec<Comment>, place: Place) -> Outcome<Item> {
        self.leave_scope();
        self.count_statement()?;
        let word = self.lexer.peek_word();
        let after = self.lexer.rest_after_word();
        let is_dotted = self.lexer.rest()[word.len()..].starts_with('.');
        if word.is_empty() || after.starts_with('=') || is_dotted {
            return self.statement(docs).map(Item::Statement);
        }
        match word {
            "if" => self.if_statement(docs).map(Item::If),
            "try" if !after.starts_with('(') => self.try_statement(docs).map(Item::Try),
            "throw" if place == Place::Block => self.throw_statement(docs).map(Item::Throw),
            "throw" => {
                let span = self.word_span();
                let hint = match place {
                    Place::Finally => "`finally` cannot throw directly",
                    _ => "`throw` belongs inside the braces of if, try or catch",
                };
                self.error(codes::MISPLACED_THROW, span, "throw outside of if or try", hint)
            }
            "return" => {
                let span = self.word_span();
                self.error(
                    codes::MISPLACED_RETURN,
                    span,
                    "`return` inside braces",
                    "bind a variable here and return it as the last statement of the script",
                )
            }
            _ => self.statement(docs).map(Item::Statement),
        }
    }

    /// The span of the next word.
    pub(super) fn word_span(&self) -> Span {
        Span::new(self.start(), self.start() + self.lexer.peek_word().len() as u32)
    }

    /// Goes over the semicolons after a statement.
    pub(super) fn semicolons(&mut self) {
        while self.accept(";").is_some() {}
    }

    /// `assignable = [ Word '=' ] rhs { ';' }`.
    fn statement(&mut self, docs: Vec<Comment>) -> Outcome<Statement> {
        let start = self.start();
        let word = self.lexer.peek_word();
        let target = if !word.is_empty() && self.lexer.rest_after_word().starts_with('=') {
            let is_dotted = self.lexer.rest()[word.len()..].starts_with('.');
            debug_assert!(!is_dotted, "a dot is neither a blank nor a comment");
            let keywords = STATEMENT_KEYWORDS.iter().chain(EXPRESSION_KEYWORDS);
            let keyword = keywords.into_iter().find(|keyword| **keyword == word);
            self.keyword_variables.extend(keyword);
            let ident = self.ident()?;
            self.lexer.mark_role(Role::Binding);
            self.require("=")?;
            Some(ident)
        } else {
            None
        };
        let alternatives = self.alternatives(target.is_some())?;
        let built_in = target.as_ref().and_then(|target| BuiltIn::find(&target.text));
        if let Some(name) = built_in.map(BuiltIn::name)
            && alternatives.iter().any(may_be_module)
            && !self.modules.contains(&name)
        {
            self.modules.push(name);
        }
        let span = self.since(start);
        self.semicolons();
        Ok(Statement { docs, target, alternatives, span })
    }

    /// `rhs = primary { '||' primary }`. The first one may be a bare variable only if `allow_name`.
    fn alternatives(&mut self, allow_name: bool) -> Outcome<Vec<Primary>> {
        let mut alternatives = vec![self.primary(allow_name)?];
        while self.accept("||").is_some() {
            alternatives.push(self.primary(true)?);
        }
        Ok(alternatives)
    }

    /// `primary = statement | json | udfCall | Word`, tried in this order.
    fn primary(&mut self, allow_name: bool) -> Outcome<Primary> {
        let word = self.lexer.peek_word();
        if word.is_empty() {
            return self.json_primary(allow_name);
        }
        let is_dotted = self.lexer.rest()[word.len()..].starts_with('.');
        if !is_dotted && self.is_statement_ahead(word, allow_name) {
            return self.keyword_statement(word);
        }
        if !is_dotted && matches!(word, "true" | "false" | "null") {
            return self.json().map(Primary::Json);
        }
        if self.lexer.is_call_ahead() {
            return self.call_primary();
        }
        self.reference(allow_name)
    }

    fn json_primary(&mut self, allow_name: bool) -> Outcome<Primary> {
        let starts_json =
            |c: char| matches!(c, '{' | '[' | '"' | '\'' | '+' | '-') || c.is_ascii_digit();
        if self.lexer.peek().is_some_and(starts_json) {
            return self.json().map(Primary::Json);
        }
        self.offer(VALUE_WORDS);
        self.offer(LITERAL_WORDS);
        if allow_name {
            self.want(Wanted::Variable);
        }
        self.forget_expected();
        if !allow_name {
            self.expect(Expected::Kind("a statement"));
        }
        self.expect(Expected::Kind("a JSON value"));
        self.expect(Expected::Kind("a call"));
        if allow_name {
            self.expect(Expected::Kind("a statement"));
            self.expect(Expected::Kind("a variable"));
        }
        if self.lexer.rest().starts_with('=') && !self.lexer.rest().starts_with("=>") {
            let span = self.here();
            return self.error(
                codes::UNKNOWN_OPERATOR,
                span,
                "`==` does not assign",
                "a variable is bound with one `=`",
            );
        }
        self.fail()
    }

    /// Whether the word starts a statement. Where a name could stand, a lone `select` or one before
    /// the next assignment (`a = select b = 1`) is a variable; in `return` only if there is one.
    fn is_statement_ahead(&self, word: &str, allow_name: bool) -> bool {
        let after = self.lexer.rest_after_word();
        if !STATEMENT_KEYWORDS.contains(&word) {
            return false;
        }
        if after.starts_with('(') {
            // `select (a) …`, unless a module is called so.
            return word == "select" && !self.keyword_variables.contains(&word);
        }
        if !allow_name {
            return true;
        }
        // A word at the end that somebody is still typing behind is no variable.
        let is_end = (after.is_empty() && !self.is_completing())
            || after.starts_with([';', '}'])
            || after.starts_with("||");
        if is_end {
            return self.is_in_return && !self.keyword_variables.contains(&word);
        }
        let next = crate::lexer::word_length(after);
        let behind = &after[crate::lexer::trivia_end(after, next)..];
        next == 0 || !behind.starts_with('=')
    }

    fn keyword_statement(&mut self, word: &str) -> Outcome<Primary> {
        match word {
            "select" => self.descend(Self::select).map(|node| Primary::Select(Box::new(node))),
            "insert" => self.insert().map(|node| Primary::Insert(Box::new(node))),
            "update" => self.update().map(|node| Primary::Update(Box::new(node))),
            "delete" => self.delete().map(|node| Primary::Delete(Box::new(node))),
            "create" => self.create().map(|node| Primary::Create(Box::new(node))),
            "show" => self.show().map(Primary::Show),
            _ => self.describe(),
        }
    }

    fn call_primary(&mut self) -> Outcome<Primary> {
        let call: Call = self.call()?;
        match call.callee.text.as_str() {
            "throw" => self.error(
                codes::MISPLACED_THROW,
                call.callee.span,
                "throw outside of if or try",
                "`throw` is a statement, not a value",
            ),
            "if" | "try" | "catch" | "return" => self.error(
                codes::NOT_A_VALUE,
                call.callee.span,
                format!("`{}` is no function", call.callee.text),
                if call.callee.text == "return" {
                    "write `return` without parentheses"
                } else {
                    ""
                },
            ),
            _ => Ok(Primary::Call(call)),
        }
    }

    /// A bare variable name as a value.
    fn reference(&mut self, allow_name: bool) -> Outcome<Primary> {
        let name = self.ident_part();
        self.lexer.mark_role(Role::Variable);
        let rest = self.lexer.rest();
        if allow_name && rest.starts_with(['.', '[']) {
            let at = self.here();
            return self.error(
                codes::DOTTED_VARIABLE,
                at,
                "a path is not a value here",
                format!("write it as a token: `\"{{{}…}}\"`", name.text),
            );
        }
        if !allow_name && rest.starts_with('.') {
            let at = self.here();
            return self.error(codes::DOTTED_VARIABLE, at, "a variable name is a single word", "");
        }
        self.lexer.skip_trivia();
        if !allow_name {
            self.forget_expected();
            self.expect(Expected::Literal("="));
            self.expect(Expected::Literal("("));
            return self.fail_after(&name.text);
        }
        self.expect(Expected::Literal("("));
        if self.is_misspelt_statement(&name) {
            return self.fail_after(&name.text);
        }
        Ok(Primary::Reference(name))
    }

    /// Whether a name is nearly a keyword and is followed, on its line, by what would follow that
    /// keyword.
    fn is_misspelt_statement(&self, name: &Ident) -> bool {
        let rest = self.lexer.rest();
        if self.lexer.is_on_new_line() || !expect::starts_operand(rest) {
            return false;
        }
        let next = self.lexer.peek_word();
        let starts_another = matches!(next, "if" | "try" | "via" | "throw" | "return")
            || STATEMENT_WORDS.contains(&next)
            || self.lexer.rest_after_word().starts_with(['=', '(']);
        (next.is_empty() || !starts_another)
            && expect::find_misspelling(&name.text, STATEMENT_WORDS.iter().copied()).is_some()
    }

    /// `return = 'return' ret { '||' ret } [ route ] [ 'assert' 'calls' '<=' Digits ] { ';' }`.
    fn return_clause(&mut self, docs: Vec<Comment>) -> Outcome<Return> {
        self.leave_scope();
        self.count_statement()?;
        let start = self.start();
        if self.lexer.rest_after_word().starts_with('(') {
            self.lexer.take("return".len());
            let span = self.here();
            return self.error(
                codes::UNEXPECTED_TOKEN,
                span,
                "`return` takes no parentheses",
                "write the value directly behind `return`",
            );
        }
        self.require_word("return")?;
        self.is_in_return = true;
        let alternatives = self.alternatives(true)?;
        let route = if self.is_word("via") { Some(self.route_clause()?) } else { None };
        let calls_max = self.calls_assertion()?;
        let span = self.since(start);
        self.semicolons();
        Ok(Return { docs, alternatives, route, calls_max, span })
    }

    /// `[ 'assert' 'calls' '<=' Digits ]`.
    fn calls_assertion(&mut self) -> Outcome<Option<Count>> {
        self.offer(&["assert"]);
        if self.lexer.peek_word() != "assert" {
            return Ok(None);
        }
        self.require_word("assert")?;
        self.require_word("calls")?;
        self.require("<=")?;
        self.count().map(Some)
    }
}

/// Whether a value may be a module: `require(…)`, or a variable, which may hold one.
fn may_be_module(value: &Primary) -> bool {
    match value {
        Primary::Call(call) => call.callee.text == "require",
        Primary::Reference(_) => true,
        _ => false,
    }
}

/// Where an item stands.
pub(super) fn item_span(item: &Item) -> Span {
    match item {
        Item::Statement(node) => node.span,
        Item::If(node) => node.span,
        Item::Try(node) => node.span,
        Item::Throw(node) => node.span,
    }
}
