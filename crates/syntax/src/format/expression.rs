//! Expressions over rows.

use super::{
    Doc, Printer,
    value::{json_text, path, raw, steps},
};
use crate::ast::{
    Arithmetic, Direction, Expression, ExpressionKind, Nulls, ObjectMember, Path, Segment,
    SelectManner, SortKey, Star,
};

impl Printer<'_> {
    /// An expression, on one line if it fits.
    pub(super) fn expression(&mut self, docs: &mut Vec<Doc>, expression: &Expression) {
        match &expression.kind {
            ExpressionKind::Null
            | ExpressionKind::Bool(_)
            | ExpressionKind::Number(_)
            | ExpressionKind::Text { .. }
            | ExpressionKind::Token(_)
            | ExpressionKind::Path(_)
            | ExpressionKind::Word(_) => docs.push(Doc::text(leaf(&expression.kind))),
            ExpressionKind::Condition(condition) => self.condition(docs, condition),
            ExpressionKind::Not { inner, is_infix: true } => self.test(docs, inner, true),
            ExpressionKind::Not { inner, is_infix: false } => {
                docs.push(Doc::text("not"));
                self.separate(docs, Doc::Space, inner.span.start);
                self.expression(docs, inner);
            }
            ExpressionKind::All(items) => self.joined(docs, "and", items),
            ExpressionKind::Any(items) => self.joined(docs, "or", items),
            ExpressionKind::Negative(inner) => self.negative(docs, inner),
            ExpressionKind::Chain { first, rest } => self.chain(docs, first, rest),
            ExpressionKind::Compare { .. }
            | ExpressionKind::In { .. }
            | ExpressionKind::InSelect { .. }
            | ExpressionKind::Between { .. }
            | ExpressionKind::Like { .. }
            | ExpressionKind::Is { .. } => self.test(docs, expression, false),
            ExpressionKind::Case { subject, branches, otherwise } => {
                let mut parts = vec![Doc::text("case")];
                self.case(&mut parts, subject.as_deref(), branches, otherwise.as_deref());
                if let Some(Doc::Indent(rest)) = parts.last_mut() {
                    self.separate(rest, Doc::Line, expression.span.end);
                    rest.push(Doc::text("end"));
                }
                docs.push(Doc::group(parts));
            }
            ExpressionKind::Object(members) => {
                let start = |member: &ObjectMember| {
                    let start = member.start();
                    crate::source::Span::new(start, start)
                };
                let mut list = Vec::new();
                if let Some(first) = members.first() {
                    self.separate(&mut list, Doc::SoftLine, first.start());
                }
                self.list(&mut list, members, start, Self::object_member);
                self.enclose(docs, ("{", "}"), list, expression.span.end);
            }
            ExpressionKind::List(items) => {
                let mut list = Vec::new();
                if let Some(first) = items.first() {
                    self.separate(&mut list, Doc::SoftLine, first.span.start);
                }
                self.list(&mut list, items, |item| item.span, Self::expression);
                self.enclose(docs, ("[", "]"), list, expression.span.end);
            }
            ExpressionKind::Select { select, manner } => {
                self.sub_select(docs, brackets_of(*manner), select, expression.span.end);
            }
            ExpressionKind::Function { name, arguments, .. } => {
                docs.push(Doc::text(*name));
                let mut list = Vec::new();
                if let Some(first) = arguments.first() {
                    self.separate(&mut list, Doc::SoftLine, first.span.start);
                }
                self.list(&mut list, arguments, |argument| argument.span, Self::expression);
                self.enclose(docs, ("(", ")"), list, expression.span.end);
            }
            ExpressionKind::Aggregate(call) => self.aggregate(docs, call, expression.span.end),
            ExpressionKind::Group(inner) => {
                let mut list = Vec::new();
                self.separate(&mut list, Doc::SoftLine, inner.span.start);
                self.expression(&mut list, inner);
                self.enclose(docs, ("(", ")"), list, expression.span.end);
            }
        }
    }

    fn negative(&mut self, docs: &mut Vec<Doc>, inner: &Expression) {
        // Two signs side by side would be a comment, and a sign before a digit a number.
        let is_apart =
            matches!(inner.kind, ExpressionKind::Negative(_) | ExpressionKind::Number(_));
        docs.push(Doc::text("-"));
        let separator = if is_apart { Doc::Space } else { Doc::text("") };
        self.separate(docs, separator, inner.span.start);
        self.expression(docs, inner);
    }

    /// Operands with operators between them.
    fn chain(
        &mut self,
        docs: &mut Vec<Doc>,
        first: &Expression,
        rest: &[(Arithmetic, Expression)],
    ) {
        let mut list = Vec::new();
        self.expression(&mut list, first);
        let mut more = Vec::new();
        for (operator, operand) in rest {
            self.separate(&mut more, Doc::Line, operand.span.start);
            more.push(Doc::text(format!("{} ", operator.symbol())));
            self.expression(&mut more, operand);
        }
        list.push(Doc::Indent(more));
        docs.push(Doc::group(list));
    }

    /// What stands between `case` and `end`; the branches are the last part.
    fn case(
        &mut self,
        docs: &mut Vec<Doc>,
        subject: Option<&Expression>,
        branches: &[(Expression, Expression)],
        otherwise: Option<&Expression>,
    ) {
        if let Some(subject) = subject {
            self.separate(docs, Doc::Space, subject.span.start);
            self.expression(docs, subject);
        }
        let mut parts = Vec::new();
        for (when, then) in branches {
            self.separate(&mut parts, Doc::Line, when.span.start);
            parts.push(Doc::text("when "));
            self.expression(&mut parts, when);
            self.separate(&mut parts, Doc::Space, then.span.start);
            parts.push(Doc::text("then "));
            self.expression(&mut parts, then);
        }
        if let Some(otherwise) = otherwise {
            self.separate(&mut parts, Doc::Line, otherwise.span.start);
            parts.push(Doc::text("else "));
            self.expression(&mut parts, otherwise);
        }
        docs.push(Doc::Indent(parts));
    }

    /// Brackets around what was printed, each on a line of its own if that does not fit.
    pub(super) fn enclose(
        &mut self,
        docs: &mut Vec<Doc>,
        brackets: (&str, &str),
        mut list: Vec<Doc>,
        end: u32,
    ) {
        self.separate(&mut list, Doc::SoftLine, end);
        list.pop();
        docs.push(Doc::group(vec![
            Doc::text(brackets.0),
            Doc::Indent(list),
            Doc::SoftLine,
            Doc::text(brackets.1),
        ]));
    }

    /// Expressions with a word between them.
    fn joined(&mut self, docs: &mut Vec<Doc>, word: &str, items: &[Expression]) {
        let Some((first, rest)) = items.split_first() else { return };
        let mut list = Vec::new();
        self.expression(&mut list, first);
        let mut more = Vec::new();
        for item in rest {
            self.separate(&mut more, Doc::Line, item.span.start);
            more.push(Doc::text(format!("{word} ")));
            self.expression(&mut more, item);
        }
        list.push(Doc::Indent(more));
        docs.push(Doc::group(list));
    }

    /// A test, perhaps with `not` behind its left side.
    fn test(&mut self, docs: &mut Vec<Doc>, test: &Expression, is_negated: bool) {
        let not = if is_negated { "not " } else { "" };
        match &test.kind {
            ExpressionKind::Condition(condition) if is_negated => {
                self.condition_with(docs, condition, not);
            }
            ExpressionKind::Compare { left, comparison, right } => {
                self.expression(docs, left);
                docs.push(Doc::Space);
                docs.push(Doc::text(comparison.symbol()));
                self.separate(docs, Doc::Space, right.span.start);
                self.expression(docs, right);
            }
            ExpressionKind::In { value, items, is_bare } => {
                self.expression(docs, value);
                docs.push(Doc::text(format!(" {not}in")));
                if let [only] = items.as_slice()
                    && *is_bare
                {
                    self.separate(docs, Doc::Space, only.span.start);
                    return self.expression(docs, only);
                }
                docs.push(Doc::Space);
                let mut list = Vec::new();
                if let Some(first) = items.first() {
                    self.separate(&mut list, Doc::SoftLine, first.span.start);
                }
                self.list(&mut list, items, |item| item.span, Self::expression);
                self.enclose(docs, ("(", ")"), list, test.span.end);
            }
            ExpressionKind::InSelect { value, select } => {
                self.expression(docs, value);
                docs.push(Doc::text(format!(" {not}in ")));
                self.sub_select(docs, ("(", ")"), select, test.span.end);
            }
            ExpressionKind::Between { value, low, high } => {
                self.expression(docs, value);
                docs.push(Doc::text(format!(" {not}between")));
                self.separate(docs, Doc::Space, low.span.start);
                self.expression(docs, low);
                self.separate(docs, Doc::Space, high.span.start);
                docs.push(Doc::text("and "));
                self.expression(docs, high);
            }
            ExpressionKind::Like { value, manner, pattern } => {
                self.expression(docs, value);
                docs.push(Doc::text(format!(" {not}{}", manner.word())));
                self.separate(docs, Doc::Space, pattern.span.start);
                self.expression(docs, pattern);
            }
            ExpressionKind::Is { value, kind } => {
                self.expression(docs, value);
                docs.push(Doc::text(format!(" is {not}{}", kind.word())));
            }
            _ => self.expression(docs, test),
        }
    }

    fn object_member(&mut self, docs: &mut Vec<Doc>, member: &ObjectMember) {
        match member {
            ObjectMember::Named { key, is_quoted, value, .. } => {
                let key = if *is_quoted { json_text(key) } else { key.clone() };
                docs.push(Doc::text(format!("{key}:")));
                self.separate(docs, Doc::Space, value.span.start);
                self.expression(docs, value);
            }
            ObjectMember::Path(node) => docs.push(Doc::text(column_path(node))),
            ObjectMember::Star(star) => print_star(docs, star),
        }
    }

    /// `order by a, b desc`.
    pub(super) fn order(&mut self, docs: &mut Vec<Doc>, keys: &[SortKey]) {
        let Some(first) = keys.first() else { return };
        self.separate(docs, Doc::Line, first.span.start);
        docs.push(Doc::text("order by "));
        let mut list = Vec::new();
        self.list(
            &mut list,
            keys,
            |key| key.span,
            |printer, docs, key| {
                printer.expression(docs, &key.value);
                match key.direction {
                    Some(Direction::Ascending) => docs.push(Doc::text(" asc")),
                    Some(Direction::Descending) => docs.push(Doc::text(" desc")),
                    None => {}
                }
                match key.nulls {
                    Some(Nulls::First) => docs.push(Doc::text(" nulls first")),
                    Some(Nulls::Last) => docs.push(Doc::text(" nulls last")),
                    None => {}
                }
            },
        );
        docs.push(Doc::group(vec![Doc::Indent(list)]));
    }
}

/// `*` with what belongs to it.
pub(super) fn print_star(docs: &mut Vec<Doc>, star: &Star) {
    let mut text = match &star.alias {
        Some(alias) => format!("{}.*", alias.text),
        None => "*".to_owned(),
    };
    if !star.excluded.is_empty() {
        let names: Vec<_> = star.excluded.iter().map(|name| name.text.as_str()).collect();
        text.push_str(" exclude (");
        text.push_str(&names.join(", "));
        text.push(')');
    }
    docs.push(Doc::text(text));
}

/// What stands alone.
fn leaf(kind: &ExpressionKind) -> String {
    match kind {
        ExpressionKind::Bool(value) => value.to_string(),
        ExpressionKind::Number(number) => number.clone(),
        ExpressionKind::Text { text, is_json: true } => json_text(text),
        ExpressionKind::Text { text, is_json: false } => raw(text),
        ExpressionKind::Token(text) => format!("{{{text}}}"),
        ExpressionKind::Path(node) => column_path(node),
        ExpressionKind::Word(word) => word.text.clone(),
        _ => "null".to_owned(),
    }
}

fn brackets_of(manner: SelectManner) -> (&'static str, &'static str) {
    match manner {
        SelectManner::One => ("(", ")"),
        SelectManner::List => ("[", "]"),
        SelectManner::Exists => ("exists (", ")"),
    }
}

/// A path inside an expression, where a quoted text alone would be a text.
fn column_path(node: &Path) -> String {
    match node.segments.as_slice() {
        [Segment::Member { name, is_quoted: true }, rest @ ..] if !name.contains('`') => {
            steps(format!("`{name}`"), rest)
        }
        _ => path(node),
    }
}
