//! `group by`, `having`, aggregates, `union`.

use super::{Doc, Printer};
use crate::ast::{AggregateCall, Expression, GroupKeys, Grouping, Unioned};

impl Printer<'_> {
    /// `group by a, b having c`.
    pub(super) fn grouping(
        &mut self,
        docs: &mut Vec<Doc>,
        grouping: Option<&Grouping>,
        having: Option<&Expression>,
    ) {
        let Some(grouping) = grouping else { return };
        match &grouping.keys {
            GroupKeys::All(span) => {
                self.separate(docs, Doc::Line, span.start);
                docs.push(Doc::text("group by all"));
            }
            GroupKeys::List(keys) => {
                self.separate(docs, Doc::Line, keys.first().map_or(0, |key| key.span.start));
                docs.push(Doc::text("group by "));
                let mut list = Vec::new();
                self.list(&mut list, keys, |key| key.span, Self::expression);
                docs.push(Doc::group(vec![Doc::Indent(list)]));
            }
        }
        if let Some(having) = having {
            self.separate(docs, Doc::Line, having.span.start);
            let mut test = vec![Doc::text("having ")];
            self.expression(&mut test, having);
            docs.push(Doc::group(test));
        }
    }

    /// `union all select …`, one below the other.
    pub(super) fn unions(&mut self, docs: &mut Vec<Doc>, unions: &[Unioned]) {
        for union in unions {
            self.separate(docs, Doc::Line, union.select.span.start);
            docs.push(Doc::text(if union.is_all { "union all " } else { "union " }));
            self.select(docs, &union.select);
        }
    }

    /// `count(distinct x) filter (where y)`; `end` is where it ends.
    pub(super) fn aggregate(&mut self, docs: &mut Vec<Doc>, call: &AggregateCall, end: u32) {
        docs.push(Doc::text(call.name));
        let mut list = Vec::new();
        match call.arguments.first() {
            Some(first) => self.separate(&mut list, Doc::SoftLine, first.span.start),
            None if call.name == "count" => list.push(Doc::text("*")),
            // The planner says that an argument is missing.
            None => {}
        }
        if call.is_distinct {
            list.push(Doc::text("distinct "));
        }
        self.list(&mut list, &call.arguments, |argument| argument.span, Self::expression);
        self.order(&mut list, &call.order);
        self.print_count(&mut list, "limit", call.limit);
        let filter_start = call.filter.as_ref().map(|filter| filter.span.start);
        self.enclose(docs, ("(", ")"), list, filter_start.unwrap_or(end));
        if let Some(filter) = &call.filter {
            docs.push(Doc::text(" filter "));
            let mut list = Vec::new();
            self.separate(&mut list, Doc::SoftLine, filter.span.start);
            list.push(Doc::text("where "));
            self.expression(&mut list, filter);
            self.enclose(docs, ("(", ")"), list, end);
        }
    }
}
