//! `select`, `insert`, `update`, `delete`, `show` and `describe`.

use super::{
    Doc, Printer,
    expression::print_star,
    value::{path, raw},
};
use crate::{
    ast::{
        Bound, Column, ColumnValue, Columns, Condition, Count, Delays, Delete, Describe,
        DescribeRoute, Insert, Joint, Primary, RawText, Select, Show, Source, Update,
    },
    source::Span,
};

impl Printer<'_> {
    /// One alternative, on one line if it fits.
    pub(super) fn primary(&mut self, docs: &mut Vec<Doc>, primary: &Primary) {
        let mut inner = Vec::new();
        match primary {
            Primary::Select(node) => self.select(&mut inner, node),
            Primary::Insert(node) => self.insert(&mut inner, node),
            Primary::Update(node) => self.update(&mut inner, node),
            Primary::Delete(node) => self.delete(&mut inner, node),
            Primary::Create(node) => self.create(&mut inner, node),
            Primary::Show(node) => show(&mut inner, node),
            Primary::Describe(node) => self.describe(&mut inner, node),
            Primary::DescribeRoute(node) => self.describe_route(&mut inner, node),
            Primary::Json(node) => self.json(&mut inner, node),
            Primary::Call(node) => self.call(&mut inner, node),
            Primary::Reference(name) => inner.push(Doc::text(&name.text)),
        }
        self.tail(&mut inner, primary.span().end);
        docs.push(Doc::group(inner));
    }

    pub(super) fn select(&mut self, docs: &mut Vec<Doc>, node: &Select) {
        docs.push(Doc::text("select"));
        if node.is_distinct {
            docs.push(Doc::text(" distinct"));
        }
        if node.is_value {
            docs.push(Doc::text(" value"));
        }
        let first = match &node.columns {
            Columns::Star(span) => span.start,
            Columns::List(columns) => columns.first().map_or(0, |column| column.span.start),
        };
        self.separate(docs, Doc::Space, first);
        self.columns(docs, &node.columns);
        let mut clauses = Vec::new();
        let from = node.sources.first().map_or(0, |source| source.span.start);
        self.separate(&mut clauses, Doc::Line, from);
        clauses.push(Doc::text("from "));
        let mut sources = Vec::new();
        self.sources(&mut sources, &node.sources);
        clauses.push(Doc::group(vec![Doc::Indent(sources)]));
        self.conditions(&mut clauses, &node.conditions);
        self.grouping(&mut clauses, node.grouping.as_ref(), node.having.as_ref());
        self.unions(&mut clauses, &node.unions);
        self.order(&mut clauses, &node.order);
        self.print_bound(&mut clauses, "limit", node.limit.as_ref());
        self.print_bound(&mut clauses, "offset", node.offset.as_ref());
        self.delays(&mut clauses, node.delays);
        docs.push(Doc::Indent(clauses));
    }

    fn sources(&mut self, docs: &mut Vec<Doc>, sources: &[Source]) {
        for (index, source) in sources.iter().enumerate() {
            if index > 0 {
                let word = match source.joint {
                    Joint::Comma => {
                        docs.push(Doc::text(","));
                        ""
                    }
                    Joint::Inner => "join ",
                    Joint::Left => "left join ",
                };
                self.separate(docs, Doc::Line, source.span.start);
                docs.push(Doc::text(word));
            }
            match &source.select {
                None => self.source(docs, source),
                Some(select) => {
                    self.sub_select(docs, ("(", ")"), select, source.name.span.end);
                    if let Some(alias) = &source.alias {
                        self.separate(docs, Doc::Space, alias.span.start);
                        docs.push(Doc::text(format!("as {}", alias.text)));
                    }
                }
            }
            if let Some(on) = &source.on {
                self.separate(docs, Doc::Space, on.span.start);
                docs.push(Doc::text("on "));
                self.expression(docs, on);
            }
        }
    }

    /// A select in brackets, on a line of its own if it does not fit.
    pub(super) fn sub_select(
        &mut self,
        docs: &mut Vec<Doc>,
        brackets: (&str, &str),
        select: &Select,
        end: u32,
    ) {
        let mut inner = Vec::new();
        self.separate(&mut inner, Doc::SoftLine, select.span.start);
        let mut statement = Vec::new();
        self.select(&mut statement, select);
        inner.push(Doc::group(statement));
        self.enclose(docs, brackets, inner, end);
    }

    /// `keyword n` or `keyword {=n}`, if there is one.
    fn print_bound(&mut self, docs: &mut Vec<Doc>, keyword: &str, bound: Option<&Bound>) {
        match bound {
            None => {}
            Some(Bound::Count(count)) => self.print_count(docs, keyword, Some(*count)),
            Some(Bound::Token { text, span }) => {
                self.separate(docs, Doc::Line, span.start);
                docs.push(Doc::text(format!("{keyword} {{{text}}}")));
            }
        }
    }

    fn columns(&mut self, docs: &mut Vec<Doc>, columns: &Columns) {
        let Columns::List(columns) = columns else {
            docs.push(Doc::text("*"));
            return;
        };
        let mut list = Vec::new();
        self.list(&mut list, columns, |column| column.span, Self::column);
        docs.push(Doc::group(vec![Doc::Indent(list)]));
    }

    fn column(&mut self, docs: &mut Vec<Doc>, column: &Column) {
        match &column.value {
            ColumnValue::Path(node) => docs.push(Doc::text(path(node))),
            ColumnValue::Call(node) => self.call(docs, node),
            ColumnValue::Expression(node) => self.expression(docs, node),
            ColumnValue::Star(star) => print_star(docs, star),
        }
        if let Some(alias) = &column.alias {
            self.separate(docs, Doc::Space, alias.span.start);
            docs.push(Doc::text(format!("as {}", alias.text)));
        }
    }

    fn conditions(&mut self, docs: &mut Vec<Doc>, conditions: &[Condition]) {
        let Some(first) = conditions.first() else { return };
        self.separate(docs, Doc::Line, first.span().start);
        let mut list = vec![Doc::text("where ")];
        let mut more = Vec::new();
        for (index, condition) in conditions.iter().enumerate() {
            if index == 0 {
                self.condition(&mut list, condition);
                continue;
            }
            self.separate(&mut more, Doc::Line, condition.span().start);
            more.push(Doc::text("and "));
            self.condition(&mut more, condition);
        }
        list.push(Doc::Indent(more));
        docs.push(Doc::group(list));
    }

    pub(super) fn condition(&mut self, docs: &mut Vec<Doc>, condition: &Condition) {
        self.condition_with(docs, condition, "");
    }

    /// A condition with `not ` before its operator, or nothing.
    pub(super) fn condition_with(&mut self, docs: &mut Vec<Doc>, condition: &Condition, not: &str) {
        match condition {
            Condition::Equals { path: left, operand, is_in, .. } => {
                docs.push(Doc::text(path(left)));
                docs.push(Doc::Space);
                docs.push(Doc::text(if *is_in { format!("{not}in") } else { "=".to_owned() }));
                self.separate(docs, Doc::Space, operand.span.start);
                docs.push(Doc::text(super::value::operand(operand)));
            }
            Condition::InList { path: left, items, span } => {
                docs.push(Doc::text(format!("{} {not}in ", path(left))));
                self.operands(docs, items, span.end);
            }
            Condition::InSelect { path: left, select, span } => {
                docs.push(Doc::text(format!("{} {not}in ", path(left))));
                self.sub_select(docs, ("(", ")"), select, span.end);
            }
            Condition::Call(call) => self.call(docs, call),
            Condition::Test(test) => self.expression(docs, test),
        }
    }

    /// `keyword n`, if there is one.
    pub(super) fn print_count(&mut self, docs: &mut Vec<Doc>, keyword: &str, count: Option<Count>) {
        let Some(count) = count else { return };
        self.separate(docs, Doc::Line, count.span.start);
        docs.push(Doc::text(format!("{keyword} {}", count.value)));
    }

    fn delays(&mut self, docs: &mut Vec<Doc>, delays: Delays) {
        self.print_count(docs, "timeout", delays.timeout);
        self.print_count(docs, "minDelay", delays.min_delay);
        self.print_count(docs, "maxDelay", delays.max_delay);
        self.print_count(docs, "deadline", delays.deadline);
    }

    fn insert(&mut self, docs: &mut Vec<Doc>, node: &Insert) {
        docs.push(Doc::text("insert"));
        if let Some(object) = &node.object {
            self.separate(docs, Doc::Space, object.span.start);
            docs.push(Doc::text(raw(&object.text)));
        }
        self.separate(docs, Doc::Space, node.target.span.start);
        docs.push(Doc::text("into "));
        self.source(docs, &node.target);
        if let Some(columns) = &node.columns {
            let first = match columns {
                Columns::Star(span) => span.start,
                Columns::List(columns) => columns.first().map_or(0, |column| column.span.start),
            };
            self.separate(docs, Doc::Space, first);
            docs.push(Doc::text("("));
            self.columns(docs, columns);
            docs.push(Doc::text(")"));
        }
        let mut clauses = Vec::new();
        if let Some(values) = &node.values {
            let first = values.first().map_or(Span::default(), |value| value.span);
            self.separate(&mut clauses, Doc::Line, first.start);
            clauses.push(Doc::text("values "));
            let last = values.last().map_or(0, |value| value.span.end);
            self.operands(&mut clauses, values, last);
        }
        self.parts(&mut clauses, &node.parts);
        self.delays(&mut clauses, node.delays);
        if !clauses.is_empty() {
            docs.push(Doc::Indent(clauses));
        }
    }

    fn parts(&mut self, docs: &mut Vec<Doc>, parts: &[RawText]) {
        let Some(first) = parts.first() else { return };
        self.separate(docs, Doc::Line, first.span.start);
        docs.push(Doc::text("with parts "));
        self.raw_texts(docs, parts);
    }

    fn update(&mut self, docs: &mut Vec<Doc>, node: &Update) {
        docs.push(Doc::text("update"));
        self.separate(docs, Doc::Space, node.target.span.start);
        self.source(docs, &node.target);
        let mut clauses = Vec::new();
        self.separate(&mut clauses, Doc::Line, node.object.span.start);
        clauses.push(Doc::text(format!("with {}", raw(&node.object.text))));
        self.parts(&mut clauses, &node.parts);
        self.delays(&mut clauses, node.delays);
        docs.push(Doc::Indent(clauses));
    }

    fn delete(&mut self, docs: &mut Vec<Doc>, node: &Delete) {
        docs.push(Doc::text("delete"));
        self.separate(docs, Doc::Space, node.target.span.start);
        docs.push(Doc::text("from "));
        self.source(docs, &node.target);
        let mut clauses = Vec::new();
        self.conditions(&mut clauses, &node.conditions);
        self.delays(&mut clauses, node.delays);
        if !clauses.is_empty() {
            docs.push(Doc::Indent(clauses));
        }
    }

    fn describe(&mut self, docs: &mut Vec<Doc>, node: &Describe) {
        docs.push(Doc::text("describe"));
        self.separate(docs, Doc::Space, node.source.span.start);
        self.source(docs, &node.source);
    }

    fn describe_route(&mut self, docs: &mut Vec<Doc>, node: &DescribeRoute) {
        docs.push(Doc::text("describe route"));
        self.separate(docs, Doc::Space, node.path.span.start);
        docs.push(Doc::text(raw(&node.path.text)));
        self.separate(docs, Doc::Space, node.method.span.start);
        docs.push(Doc::text(format!("using method {}", node.method.text)));
    }
}

fn show(docs: &mut Vec<Doc>, node: &Show) {
    docs.push(Doc::text("show"));
    docs.push(Doc::Space);
    docs.push(Doc::text(if node.is_routes { "routes" } else { "tables" }));
}
