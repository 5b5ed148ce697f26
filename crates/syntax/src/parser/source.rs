//! Where the rows of a select come from: names, selects, and how they are joined (JOI-14).

use super::{Outcome, Parser, expression::Place};
use crate::{
    ast::{ExpressionKind, Joint, Name, Select, SelectManner, Source, VerbKind},
    complete::Wanted,
    diagnostic::codes,
    lexer,
};

/// Joins of SQL, with what to write instead.
const FOREIGN_JOINS: &[(&str, &str, &str)] = &[
    ("inner", "join", "`join` alone joins: `from a as x join b as y on y.id = x.b`"),
    ("cross", "join", "each row beside each needs a comma only: `from a as x, b as y`"),
    ("natural", "join", NATURAL),
    ("natural", "left", NATURAL),
    ("natural", "inner", NATURAL),
    ("left", "outer", "`left join` needs no `outer`: `from a as x left join b as y on y.id = x.b`"),
    ("right", "join", RIGHT),
    ("right", "outer", RIGHT),
    ("full", "join", FULL),
    ("full", "outer", FULL),
    ("join", "lateral", LATERAL),
    ("cross", "lateral", LATERAL),
];

const NATURAL: &str = "say which columns are equal: `from a as x join b as y on y.id = x.b`";
const RIGHT: &str =
    "write the sources the other way round: `from b as y left join a as x on y.id = x.b`";
const FULL: &str = "put a `left join` and the rows without a partner together";
const LATERAL: &str = "a select in `[ ]` or `( )` among the columns sees the row";

/// The place of the expression behind `on`: bare words are columns.
const IN_ON: Place = Place { is_where: false, may_end: true, is_json: false };

impl Parser<'_> {
    /// `source { ',' source | [ 'left' ] 'join' source [ 'on' expr ] }`.
    pub(super) fn sources(&mut self) -> Outcome<Vec<Source>> {
        let mut sources = vec![self.row_source()?];
        loop {
            if self.accept(",").is_some() {
                sources.push(self.row_source()?);
            } else if let Some(joint) = self.joint()? {
                let mut source = self.row_source()?;
                source.joint = joint;
                let is_list = begins_with_alias(&source.name, &sources);
                sources.push(source);
                // The condition may name all sources so far, the new one included.
                self.set_scope(u32::MAX, &sources, VerbKind::Select);
                let on = if self.accept_clause("on").is_some() {
                    self.want_column();
                    Some(self.expression_at(IN_ON)?)
                } else {
                    None
                };
                let Some(source) = sources.last_mut() else { continue };
                if on.is_none() && !is_list {
                    return self.report_missing_on(source);
                }
                source.on = on;
            } else {
                return Ok(sources);
            }
        }
    }

    /// `( name | '(' select ')' ) [ 'as' name ]`.
    fn row_source(&mut self) -> Outcome<Source> {
        if !is_select_in_parentheses(self.lexer.rest()) {
            return self.source();
        }
        let start = self.start();
        self.lexer.take(1);
        let select = self.sub_select()?;
        self.require(")")?;
        let name = Name { text: String::new(), span: self.since(start) };
        let alias = match self.accept_clause("as") {
            Some(_) => Some(self.name()?),
            None => None,
        };
        let span = self.since(start);
        Ok(Source { select: Some(select), ..Source::named(name, alias, span) })
    }

    /// Takes `join` or `left join`, unless it starts the next statement.
    fn joint(&mut self) -> Outcome<Option<Joint>> {
        self.refuse_foreign_join()?;
        if self.is_pair("left", "join") {
            self.lexer.take("left".len());
            self.lexer.take("join".len());
            return Ok(Some(Joint::Left));
        }
        self.offer(&["join", "left"]);
        let after = self.lexer.rest_after_word();
        let is_call = after.starts_with('(') && !is_select_in_parentheses(after);
        if self.lexer.peek_word() != "join" || !self.is_continuation() || is_call {
            return Ok(None);
        }
        self.lexer.take("join".len());
        self.want(Wanted::Table);
        Ok(Some(Joint::Inner))
    }

    /// Refuses a join that SQL has and this language has not.
    fn refuse_foreign_join(&mut self) -> Outcome<()> {
        let (first, after) = (self.lexer.peek_word(), self.lexer.rest_after_word());
        let second = &after[..lexer::word_length(after)];
        let is_here = |foreign: &&(&str, &str, &str)| {
            first.eq_ignore_ascii_case(foreign.0) && second.eq_ignore_ascii_case(foreign.1)
        };
        let Some((_, _, hint)) = FOREIGN_JOINS.iter().find(is_here) else { return Ok(()) };
        if !self.is_continuation() {
            return Ok(());
        }
        let span = self.word_span();
        let message = format!("there is no `{first} {second}`");
        self.error(codes::UNKNOWN_OPERATOR, span, message, *hint)
    }

    fn report_missing_on<T>(&mut self, source: &Source) -> Outcome<T> {
        let is_using = self.lexer.peek_word() == "using";
        let message = if is_using {
            "there is no `using` for a join"
        } else {
            "this join does not say which rows belong together"
        };
        let hint = match &source.alias {
            None => "give the source an alias and a condition: `join t as y on y.id = x.id`".into(),
            Some(alias) if is_using => format!("write `on {}.id = x.id`", alias.text),
            Some(alias) => format!(
                "write `on {}.id = x.id`; a comma in place of `join` puts each row beside each",
                alias.text
            ),
        };
        self.error(codes::MISSING_JOIN_CONDITION, source.span, message, hint)
    }

    /// A select that stands in another one.
    pub(super) fn sub_select(&mut self) -> Outcome<Box<Select>> {
        let (outer, verb) = self.scope();
        let around = self.enter_select();
        let select = self.descend(Self::select);
        self.leave_select(around);
        let select = Box::new(select?);
        self.set_scope(u32::MAX, &outer, verb);
        Ok(select)
    }

    /// A select as a value, up to the bracket that ends it; the one before it is taken.
    pub(super) fn nested(
        &mut self,
        manner: SelectManner,
        end: &'static str,
    ) -> Outcome<ExpressionKind> {
        let select = self.sub_select()?;
        self.require(end)?;
        Ok(ExpressionKind::Select { select, manner })
    }
}

/// Whether a text begins with a parenthesis and the word `select`, as a keyword.
pub(super) fn is_select_in_parentheses(text: &str) -> bool {
    let Some(inner) = text.strip_prefix('(') else { return false };
    let inner = &inner[lexer::trivia_end(inner, 0)..];
    let Some(behind) = inner.strip_prefix("select") else { return false };
    let is_word = lexer::word_length(inner) == "select".len();
    let next = &behind[lexer::trivia_end(behind, 0)..];
    is_word && !behind.starts_with(['.', '[']) && !next.starts_with([',', ')', '='])
}

/// Whether a dotted name begins with the alias of one of these sources.
fn begins_with_alias(name: &Name, sources: &[Source]) -> bool {
    sources.iter().filter_map(|source| source.alias.as_ref()).any(|alias| {
        name.text.strip_prefix(alias.text.as_str()).is_some_and(|rest| rest.starts_with('.'))
    })
}
