//! `select`, its conditions and the time bounds all statements share (GRM-7).

use super::{Outcome, Parser, expect::Expected, expression::Place};
use crate::{
    ast::{
        Bound, Column, ColumnValue, Columns, Condition, Count, Delays, Direction, Expression,
        ExpressionKind, Nulls, Path, Segment, Select, SortKey, VerbKind,
    },
    diagnostic::codes,
    source::Span,
    tokens::Role,
};

/// The clauses behind the sources, in the order they must have.
const CLAUSE_ORDER: &[&str] = &[
    "where", "group by", "having", "union", "order by", "limit", "offset", "timeout", "minDelay",
    "maxDelay", "deadline",
];

/// Operators of other languages that people try here, with what to write instead; of two that begin
/// alike the longer one first.
const FOREIGN_OPERATORS: &[(&str, &str)] = &[
    ("!", "`!=` compares, `not` turns a condition around"),
    ("~", REGULAR),
    ("^", REGULAR),
    ("contains", CONTAINS),
    ("includes", CONTAINS),
    ("rlike", REGULAR),
    ("regexp", REGULAR),
    ("glob", "patterns are written with `like`: `a like 'x%'`"),
    ("similar", REGULAR),
];

const REGULAR: &str = "a regular expression is tested with `matches`: `a matches '^x'`";
const CONTAINS: &str =
    "a part of a text is found by `a like '%x%'`, an element of a list by `a == 'x'`";

/// The place of an expression in `where`.
const IN_WHERE: Place = Place { is_where: true, may_end: true, is_json: false };

/// The place of a column: `from` still follows.
const IN_COLUMNS: Place = Place { is_where: false, may_end: false, is_json: false };

/// The place of a key of `order by`.
const IN_ORDER: Place = Place { is_where: false, may_end: true, is_json: false };

impl Parser<'_> {
    /// `'select' [ 'distinct' ] output 'from' sources [ 'where' expr ]
    /// [ group ] [ having ] { 'union' [ 'all' ] core } [ 'order' 'by' key { ',' key } ] [ 'limit' count ]
    /// [ 'offset' count ] delays`.
    pub(super) fn select(&mut self) -> Outcome<Select> {
        let start = self.start();
        let mut select = self.core()?;
        let around = std::mem::take(&mut self.place);
        select.unions = self.unions()?;
        select.order = self.order_clause()?;
        select.limit = self.bound_clause("limit")?;
        select.offset = self.bound_clause("offset")?;
        select.delays = self.delays()?;
        self.place = around;
        select.span = self.since(start);
        Ok(select)
    }

    /// A select up to `having`.
    pub(super) fn core(&mut self) -> Outcome<Select> {
        let start = self.start();
        let around = std::mem::take(&mut self.place);
        self.require_word("select")?;
        self.leave_scope();
        let is_distinct = self.takes_modifier("distinct");
        let is_value = self.takes_modifier("value");
        let columns = if is_value { self.value_column()? } else { self.output()? };
        self.require_word("from")?;
        let sources = self.sources()?;
        self.set_scope(start, &sources, VerbKind::Select);
        let conditions = self.where_clause()?;
        let grouping = self.group_clause()?;
        let having = if grouping.is_some() { self.having_clause()? } else { None };
        self.place = around;
        let span = self.since(start);
        Ok(Select {
            is_distinct,
            is_value,
            columns,
            sources,
            conditions,
            grouping,
            having,
            unions: Vec::new(),
            order: Vec::new(),
            limit: None,
            offset: None,
            delays: Delays::default(),
            span,
        })
    }

    /// Takes `distinct` or `value` behind `select`, unless it is a column (EXP-4).
    pub(super) fn takes_modifier(&mut self, word: &'static str) -> bool {
        let after = self.lexer.rest_after_word();
        // In `distinct * from` the star is no operator.
        let is_star = after.strip_prefix('*').is_some_and(|behind| {
            let behind = &behind[crate::lexer::trivia_end(behind, 0)..];
            let next = &behind[..crate::lexer::word_length(behind)];
            matches!(next, "from" | "exclude") || behind.starts_with(',')
        });
        // Behind a column of the output there is no direction.
        let is_direction = matches!(&after[..crate::lexer::word_length(after)], "asc" | "desc");
        let is_modifier = is_star || is_direction || !self.is_column_word();
        let is_next = self.lexer.peek_word() == word && is_modifier;
        if is_next {
            self.lexer.take(word.len());
        }
        is_next
    }

    /// The column behind `select value`.
    fn value_column(&mut self) -> Outcome<Columns> {
        let column = self.output_column()?;
        if let Some(alias) = &column.alias {
            let span = alias.span;
            let hint = "leave out the alias, or the word `value`";
            let message = "`select value` gives the value without a name";
            return self.error(codes::MISPLACED_CLAUSE, span, message, hint);
        }
        Ok(Columns::List(vec![column]))
    }

    /// `output = item { ',' item }`; a lone `*` is the rows as they are.
    fn output(&mut self) -> Outcome<Columns> {
        let mut columns = vec![self.output_column()?];
        while self.accept(",").is_some() {
            columns.push(self.output_column()?);
        }
        match columns.as_slice() {
            [Column { value: ColumnValue::Star(star), .. }]
                if star.alias.is_none() && star.excluded.is_empty() =>
            {
                Ok(Columns::Star(star.span))
            }
            _ => Ok(Columns::List(columns)),
        }
    }

    /// `item = star | expr [ 'as' name ]`.
    fn output_column(&mut self) -> Outcome<Column> {
        let start = self.start();
        self.want_column();
        if self.is_star_ahead() {
            let star = self.star()?;
            return Ok(Column {
                value: ColumnValue::Star(star),
                alias: None,
                span: self.since(start),
            });
        }
        let value = as_column(self.expression_at(IN_COLUMNS)?);
        let alias = match self.accept_word("as") {
            Some(_) => {
                self.note_role(Role::Output);
                Some(self.name()?)
            }
            None => None,
        };
        Ok(Column { value, alias, span: self.since(start) })
    }

    /// `columns = '*' | column { ',' column }`, of an insert.
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
            Some(_) => {
                self.note_role(Role::Output);
                Some(self.name()?)
            }
            None => None,
        };
        Ok(Column { value, alias, span: self.since(start) })
    }

    /// `[ 'where' expr ]`, as the conditions that its outermost `and`s join.
    pub(super) fn where_clause(&mut self) -> Outcome<Vec<Condition>> {
        if self.accept_clause("where").is_none() {
            return Ok(Vec::new());
        }
        let expression = self.expression_at(IN_WHERE)?;
        Ok(match expression.kind {
            ExpressionKind::All(conditions) => conditions.into_iter().map(as_condition).collect(),
            _ => vec![as_condition(expression)],
        })
    }

    /// `[ 'order' 'by' key { ',' key } ]`.
    fn order_clause(&mut self) -> Outcome<Vec<SortKey>> {
        if !self.is_pair("order", "by") {
            self.offer(&["order"]);
            return Ok(Vec::new());
        }
        self.lexer.take("order".len());
        self.require_word("by")?;
        let mut keys = vec![self.sort_key(IN_ORDER)?];
        while self.accept(",").is_some() {
            keys.push(self.sort_key(IN_ORDER)?);
        }
        Ok(keys)
    }

    /// `key = expr [ 'asc' | 'desc' ] [ 'nulls' ( 'first' | 'last' ) ]`.
    pub(super) fn sort_key(&mut self, place: Place) -> Outcome<SortKey> {
        let start = self.start();
        self.want_column();
        let value = self.expression_at(place)?;
        if matches!(value.kind, ExpressionKind::Number(_) | ExpressionKind::Text { .. }) {
            let message = "rows are not ordered by what is the same for all of them";
            let hint = match &value.kind {
                ExpressionKind::Number(_) => {
                    "columns have no numbers here: write the column, or its alias"
                }
                _ => "a column whose name needs quotes stands in backticks",
            };
            return self.error(codes::CONSTANT_KEY, value.span, message, hint);
        }
        let word = self.lexer.peek_word();
        let direction = match word {
            "asc" if self.is_continuation() => Some(Direction::Ascending),
            "desc" if self.is_continuation() => Some(Direction::Descending),
            _ => None,
        };
        if direction.is_some() {
            self.lexer.take(word.len());
        }
        let nulls = if self.is_pair("nulls", "first") {
            Some(Nulls::First)
        } else if self.is_pair("nulls", "last") {
            Some(Nulls::Last)
        } else {
            None
        };
        if nulls.is_some() {
            self.lexer.take("nulls".len());
            self.lexer.take(self.lexer.peek_word().len());
        }
        Ok(SortKey { value, direction, nulls, span: self.since(start) })
    }

    /// Whether two words come next that are a clause only together.
    pub(super) fn is_pair(&self, first: &str, second: &str) -> bool {
        if self.lexer.peek_word() != first || !self.is_continuation() {
            return false;
        }
        let after = self.lexer.rest_after_word();
        &after[..crate::lexer::word_length(after)] == second
    }

    /// `[ keyword ( digits | token ) ]`.
    fn bound_clause(&mut self, keyword: &'static str) -> Outcome<Option<Bound>> {
        if self.accept_clause(keyword).is_none() {
            return Ok(None);
        }
        let start = self.start();
        let rest = self.lexer.rest();
        if rest.starts_with("{=") || rest.starts_with("{^") {
            let text = self.token()?;
            return Ok(Some(Bound::Token { text, span: self.since(start) }));
        }
        self.count().map(|count| Some(Bound::Count(count)))
    }

    /// Whether `select` starts a statement here, rather than being a bareword of the list.
    pub(super) fn is_sub_select(&self) -> bool {
        self.lexer.peek_word() == "select"
            && !self.lexer.rest()["select".len()..].starts_with(['.', '['])
            && !self.lexer.rest_after_word().starts_with([',', ')'])
    }

    /// Names an operator that the language does not have, or says what was expected.
    pub(super) fn report_missing_operator<T>(&mut self) -> Outcome<T> {
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
        let clause = CLAUSE_ORDER.iter().find(|clause| match **clause {
            "order by" => self.is_pair("order", "by"),
            "group by" => self.is_pair("group", "by"),
            "union" => self.is_pair("union", "all") || self.is_pair("union", "select"),
            clause => clause.eq_ignore_ascii_case(word),
        });
        let Some(clause) = clause else { return Ok(()) };
        // `limit (…)` calls a function.
        if !self.is_continuation() || self.lexer.rest_after_word().starts_with('(') {
            return Ok(());
        }
        let span: Span = self.word_span();
        let message = format!("`{clause}` stands twice or too late");
        let hint = match *clause {
            "where" => "a statement has one `where`; join its conditions with `and`".to_owned(),
            "having" => "it stands behind `group by`; rows are tested by `where`".to_owned(),
            "union" => "it stands before `order by`, `limit` and `offset`, which are those of the whole: \
                        to order or cut one of the selects, bind it to a variable and select from that"
                .to_owned(),
            _ => format!("the order is: {}", CLAUSE_ORDER.join(", ")),
        };
        let code =
            if *clause == "where" { codes::REPEATED_CLAUSE } else { codes::MISPLACED_CLAUSE };
        self.error(code, span, message, hint)
    }
}

/// A column as older scripts could write it, where it is one.
fn as_column(expression: Expression) -> ColumnValue {
    match expression.kind {
        ExpressionKind::Path(path) => ColumnValue::Path(path),
        ExpressionKind::Text { text, is_json: false } => {
            let name = Segment::Member { name: text, is_quoted: true };
            ColumnValue::Path(Path { segments: vec![name], span: expression.span })
        }
        ExpressionKind::Condition(condition) => match *condition {
            Condition::Call(call) => ColumnValue::Call(call),
            other => ColumnValue::Expression(Expression {
                kind: ExpressionKind::Condition(Box::new(other)),
                span: expression.span,
            }),
        },
        _ => ColumnValue::Expression(expression),
    }
}

/// A condition as older scripts could write it, where it is one.
fn as_condition(expression: Expression) -> Condition {
    match expression.kind {
        ExpressionKind::Condition(condition) => *condition,
        _ => Condition::Test(expression),
    }
}
