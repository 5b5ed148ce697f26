//! `select`, its conditions and the time bounds all statements share (GRM-7).

use super::{Outcome, Parser, expect::Expected};
use crate::{
    ast::{Column, ColumnValue, Columns, Condition, Count, Delays, Select, VerbKind},
    diagnostic::codes,
    source::Span,
};

/// The clauses behind the sources, in the order they must have.
const CLAUSE_ORDER: &[&str] =
    &["where", "limit", "offset", "timeout", "minDelay", "maxDelay", "deadline"];

/// Operators of other languages that people try here, with what to write instead; of two that begin
/// alike the longer one first.
const FOREIGN_OPERATORS: &[(&str, &str)] = &[
    ("<>", NOT_EQUAL),
    ("!=", NOT_EQUAL),
    ("<", LESS_OR_MORE),
    (">", LESS_OR_MORE),
    ("!", NOT_EQUAL),
    ("~", IN_A_FUNCTION),
    ("like", IN_A_FUNCTION),
    ("not", NOT_EQUAL),
    ("is", "conditions compare with `=` or `in`: `a = null`"),
    ("between", LESS_OR_MORE),
    ("contains", IN_A_FUNCTION),
    ("matches", IN_A_FUNCTION),
];

const NOT_EQUAL: &str = "conditions compare with `=` or `in`; leave rows out by a filter of a path, \
                         `\"{rows.$[?(@.a != 1)]}\"`, or by a row function";
const LESS_OR_MORE: &str = "conditions compare with `=` or `in`; take a filter of a path, \
                            `\"{rows.$[?(@.a > 1)]}\"`, or a row function";
const IN_A_FUNCTION: &str = "conditions compare with `=` or `in`; anything else is a row function of a \
                             module: `where m.matches(a)`";

impl Parser<'_> {
    /// `'select' columns 'from' source { ',' source } [ 'where' conds ] [ 'limit' n ] [ 'offset' n ]
    /// delays`.
    pub(super) fn select(&mut self) -> Outcome<Select> {
        let start = self.start();
        self.require_word("select")?;
        self.leave_scope();
        let columns = self.columns()?;
        self.require_word("from")?;
        let mut sources = vec![self.source()?];
        while self.accept(",").is_some() {
            sources.push(self.source()?);
        }
        self.set_scope(start, &sources, VerbKind::Select);
        let conditions = self.where_clause()?;
        let limit = self.counted_clause("limit")?;
        let offset = self.counted_clause("offset")?;
        let delays = self.delays()?;
        let span = self.since(start);
        Ok(Select { columns, sources, conditions, limit, offset, delays, span })
    }

    /// `columns = '*' | column { ',' column }`.
    pub(super) fn columns(&mut self) -> Outcome<Columns> {
        if let Some(span) = self.accept("*") {
            return Ok(Columns::Star(span));
        }
        let mut columns = vec![self.column()?];
        while self.accept(",").is_some() {
            columns.push(self.column()?);
        }
        Ok(Columns::List(columns))
    }

    /// `column = ( udfCall | Path ) [ 'as' Name ]`.
    fn column(&mut self) -> Outcome<Column> {
        let start = self.start();
        self.want_column();
        let value = if self.lexer.is_call_ahead() {
            ColumnValue::Call(self.call()?)
        } else {
            ColumnValue::Path(self.path()?)
        };
        let alias = match self.accept_word("as") {
            Some(_) => Some(self.name()?),
            None => None,
        };
        Ok(Column { value, alias, span: self.since(start) })
    }

    /// `[ 'where' cond { 'and' cond } ]`.
    pub(super) fn where_clause(&mut self) -> Outcome<Vec<Condition>> {
        if self.accept_clause("where").is_none() {
            return Ok(Vec::new());
        }
        let mut conditions = vec![self.where_condition()?];
        while self.accept_clause("and").is_some() {
            conditions.push(self.where_condition()?);
        }
        if self.lexer.peek_word() == "or" && self.is_continuation() {
            let span = self.word_span();
            let hint =
                "conditions are joined with `and`; for several values of one column use `in (…)`";
            return self.error(codes::UNKNOWN_OPERATOR, span, "there is no `or` in `where`", hint);
        }
        Ok(conditions)
    }

    /// `cond = Path ( '=' | 'in' ) operand | Path 'in' '(' … ')' | udfCall`.
    fn where_condition(&mut self) -> Outcome<Condition> {
        self.want_condition();
        if self.lexer.is_call_ahead() {
            return self.call().map(Condition::Call);
        }
        let start = self.start();
        let path = self.path()?;
        if self.accept("=").is_some() {
            let operand = self.operand()?;
            return Ok(Condition::Equals { path, operand, is_in: false, span: self.since(start) });
        }
        if self.accept_word("in").is_none() {
            return self.report_missing_operator();
        }
        if self.accept("(").is_none() {
            let operand = self.operand()?;
            return Ok(Condition::Equals { path, operand, is_in: true, span: self.since(start) });
        }
        if self.is_sub_select() {
            let (outer, verb) = self.scope();
            let select = Box::new(self.descend(Self::select)?);
            self.set_scope(u32::MAX, &outer, verb);
            self.require(")")?;
            return Ok(Condition::InSelect { path, select, span: self.since(start) });
        }
        let items = self.operands()?;
        Ok(Condition::InList { path, items, span: self.since(start) })
    }

    /// Whether `select` starts a statement here, rather than being a bareword of the list.
    fn is_sub_select(&self) -> bool {
        self.lexer.peek_word() == "select"
            && !self.lexer.rest()["select".len()..].starts_with(['.', '['])
            && !self.lexer.rest_after_word().starts_with([',', ')'])
    }

    fn report_missing_operator<T>(&mut self) -> Outcome<T> {
        let rest = self.lexer.rest();
        let word = self.lexer.peek_word();
        let is_here = |operator: &str| {
            if word.is_empty() {
                rest.starts_with(operator)
            } else {
                word.eq_ignore_ascii_case(operator)
            }
        };
        let foreign = FOREIGN_OPERATORS.iter().find(|(operator, _)| is_here(operator));
        if let Some((operator, hint)) = foreign {
            let span = self.here();
            let message = format!("there is no operator `{operator}` in `where`");
            return self.error(codes::UNKNOWN_OPERATOR, span, message, *hint);
        }
        self.fail()
    }

    /// `[ keyword Digits ]`.
    fn counted_clause(&mut self, keyword: &'static str) -> Outcome<Option<Count>> {
        match self.accept_clause(keyword) {
            Some(_) => self.count().map(Some),
            None => Ok(None),
        }
    }

    /// `[ 'timeout' n ] [ 'minDelay' n ] [ 'maxDelay' n ] [ 'deadline' n ]`, in any letter case.
    pub(super) fn delays(&mut self) -> Outcome<Delays> {
        let delays = Delays {
            timeout: self.delay("timeout")?,
            min_delay: self.delay("minDelay")?,
            max_delay: self.delay("maxDelay")?,
            deadline: self.delay("deadline")?,
        };
        self.refuse_late_clause()?;
        Ok(delays)
    }

    fn delay(&mut self, keyword: &'static str) -> Outcome<Option<Count>> {
        let word = self.lexer.peek_word();
        if word.eq_ignore_ascii_case(keyword) && self.is_continuation() {
            self.lexer.take(word.len());
            return self.count().map(Some);
        }
        self.expect(Expected::Literal(keyword));
        Ok(None)
    }

    /// Names a clause that comes twice or too late, which would otherwise be taken for the start of
    /// the next statement.
    fn refuse_late_clause(&mut self) -> Outcome<()> {
        let word = self.lexer.peek_word();
        let clause = CLAUSE_ORDER.iter().find(|clause| clause.eq_ignore_ascii_case(word));
        let Some(clause) = clause else { return Ok(()) };
        // `limit (…)` calls a function.
        if !self.is_continuation() || self.lexer.rest_after_word().starts_with('(') {
            return Ok(());
        }
        let span: Span = self.word_span();
        let message = format!("`{clause}` stands twice or too late");
        let hint = match *clause {
            "where" => "a statement has one `where`; join its conditions with `and`".to_owned(),
            _ => format!("the order is: {}", CLAUSE_ORDER.join(", ")),
        };
        let code =
            if *clause == "where" { codes::REPEATED_CLAUSE } else { codes::MISPLACED_CLAUSE };
        self.error(code, span, message, hint)
    }
}
