//! `group by`, `having`, calls of aggregates, `union` (GRP-1 to GRP-14, UNI-1 to UNI-6).

use super::{Outcome, Parser, expression::Place};
use crate::{
    ast::{AggregateCall, Expression, ExpressionKind, GroupKeys, Grouping, SortKey, Unioned},
    diagnostic::codes,
};

/// The place of a key of `group by`, and of `having`.
const IN_GROUP: Place = Place { is_where: false, may_end: true, is_json: false };

impl Parser<'_> {
    /// `[ 'group' 'by' ( 'all' | expr { ',' expr } ) ]`.
    pub(super) fn group_clause(&mut self) -> Outcome<Option<Grouping>> {
        if !self.is_pair("group", "by") {
            self.offer(&["group"]);
            return Ok(None);
        }
        let start = self.start();
        self.lexer.take("group".len());
        self.require_word("by")?;
        self.want_column();
        if self.lexer.peek_word() == "all" && !self.is_column_named_all() {
            let span = self.lexer.take("all".len());
            return Ok(Some(Grouping { keys: GroupKeys::All(span), span: self.since(start) }));
        }
        let mut keys = vec![self.group_key()?];
        while self.accept(",").is_some() {
            self.want_column();
            keys.push(self.group_key()?);
        }
        Ok(Some(Grouping { keys: GroupKeys::List(keys), span: self.since(start) }))
    }

    /// Whether `all` is the first key of several or a part of one.
    fn is_column_named_all(&self) -> bool {
        let behind = &self.lexer.rest()["all".len()..];
        let after = self.lexer.rest_after_word();
        behind.starts_with(['.', '[', '('])
            || after.starts_with([',', '+', '-', '*', '/', '%', '&'])
    }

    fn group_key(&mut self) -> Outcome<Expression> {
        let key = self.expression_at(IN_GROUP)?;
        if matches!(key.kind, ExpressionKind::Number(_) | ExpressionKind::Text { .. }) {
            let message = "rows are not grouped by what is the same for all of them";
            let hint = match &key.kind {
                ExpressionKind::Number(_) => {
                    "columns have no numbers here: write the column, or its alias"
                }
                _ => "a column whose name needs quotes stands in backticks",
            };
            return self.error(codes::CONSTANT_KEY, key.span, message, hint);
        }
        Ok(key)
    }

    /// `[ 'having' expr ]`, behind `group by`.
    pub(super) fn having_clause(&mut self) -> Outcome<Option<Expression>> {
        let is_next = self.lexer.peek_word() == "having" && self.is_continuation();
        self.offer(&["having"]);
        if !is_next {
            return Ok(None);
        }
        self.lexer.take("having".len());
        self.want_column();
        self.expression_at(IN_GROUP).map(Some)
    }

    /// `name '(' [ '*' | [ 'distinct' ] expr { ',' expr } [ 'order' 'by' key { ',' key } ]
    /// [ 'limit' digits ] ] ')' [ 'filter' '(' 'where' expr ')' ]`.
    pub(super) fn aggregate(&mut self, name: &'static str) -> Outcome<ExpressionKind> {
        let mut call = self.bracketed(true, |parser| parser.aggregated(name))?;
        if self.lexer.peek_word() == "filter" && self.lexer.rest_after_word().starts_with('(') {
            self.lexer.take("filter".len());
            call.filter = Some(self.bracketed(false, |parser| {
                parser.require("(")?;
                parser.require_word("where")?;
                parser.want_column();
                let filter = parser.expression()?;
                parser.require(")")?;
                Ok(filter)
            })?);
        }
        if self.lexer.peek_word() == "over" && self.lexer.rest_after_word().starts_with('(') {
            let span = self.word_span();
            let message = "there are no windows: an aggregate gives one value for each group";
            let hint = "the first rows of each group are `array_agg(x order by y limit 3)`; a value of the \
                        group beside each row is a join with the grouped select";
            return self.error(codes::UNKNOWN_OPERATOR, span, message, hint);
        }
        Ok(ExpressionKind::Aggregate(Box::new(call)))
    }

    /// From the name to the closing parenthesis.
    fn aggregated(&mut self, name: &'static str) -> Outcome<AggregateCall> {
        let name_span = self.callee_of(name)?;
        let mut call = AggregateCall {
            name,
            name_span,
            is_distinct: false,
            arguments: Vec::new(),
            order: Vec::new(),
            limit: None,
            filter: None,
        };
        if self.lexer.rest().starts_with('*') {
            let star = self.lexer.take(1);
            if name != "count" {
                let message = format!("`{name}(*)` is no value: only `count` takes `*`");
                let hint = "write the column: `sum(x)`";
                return self.error(codes::MISPLACED_STAR, star, message, hint);
            }
            self.require(")")?;
            return Ok(call);
        }
        if self.accept(")").is_some() {
            return Ok(call);
        }
        call.is_distinct = self.takes_modifier("distinct");
        loop {
            self.want_column();
            call.arguments.push(self.expression()?);
            if self.accept(",").is_none() {
                break;
            }
        }
        call.order = self.inner_order()?;
        if self.lexer.peek_word() == "limit" && self.is_continuation() {
            self.lexer.take("limit".len());
            call.limit = Some(self.count()?);
        }
        self.require(")")?;
        Ok(call)
    }

    /// `[ 'order' 'by' key { ',' key } ]` inside of a call.
    fn inner_order(&mut self) -> Outcome<Vec<SortKey>> {
        if !self.is_pair("order", "by") {
            return Ok(Vec::new());
        }
        self.lexer.take("order".len());
        self.require_word("by")?;
        let mut keys = vec![self.sort_key(self.place)?];
        while self.accept(",").is_some() {
            keys.push(self.sort_key(self.place)?);
        }
        Ok(keys)
    }

    /// `{ 'union' [ 'all' ] core }`.
    pub(super) fn unions(&mut self) -> Outcome<Vec<Unioned>> {
        let mut unions = Vec::new();
        loop {
            let is_all = self.is_pair("union", "all");
            if !is_all && !self.is_pair("union", "select") {
                self.offer(&["union"]);
                return Ok(unions);
            }
            self.lexer.take("union".len());
            if is_all {
                self.lexer.take("all".len());
            }
            let select = self.core()?;
            unions.push(Unioned { is_all, select });
        }
    }
}
