//! Scripts, blocks, control flow and `return`.

use super::{Doc, Printer, comment_doc, value::path};
use crate::{
    ast::{Comment, If, Item, Logic, Primary, Return, Script, Statement, Throw, Try},
    source::Span,
};

/// How tightly an operator binds.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Binding {
    Or,
    And,
    Not,
}

impl Printer<'_> {
    pub(super) fn script(&mut self, script: &Script) -> Vec<Doc> {
        let mut docs = Vec::new();
        self.items(&mut docs, &script.items, Place::Top);
        if let Some(result) = &script.result {
            self.lead(&mut docs, &result.docs, result.span, script.items.is_empty());
            self.result(&mut docs, result);
        }
        let is_empty = script.items.is_empty() && script.result.is_none();
        let trailing = if self.comments.has_text() { &[][..] } else { &script.trailing };
        for comment in trailing {
            docs.push(Doc::HardLine);
            docs.push(comment_doc(comment));
        }
        self.comment_lines(&mut docs, u32::MAX, is_empty);
        docs
    }

    fn items(&mut self, docs: &mut Vec<Doc>, items: &[Item], place: Place) {
        for (index, item) in items.iter().enumerate() {
            let is_first = index == 0;
            let (comments, span): (&[Comment], Span) = match item {
                Item::Statement(node) => (&node.docs, node.span),
                Item::If(node) => (&node.docs, node.span),
                Item::Try(node) => (&node.docs, node.span),
                Item::Throw(node) => (&node.docs, node.span),
            };
            // Comments inside blocks document nothing and would not be read back as documentation.
            let comments = if place == Place::Top { comments } else { &[] };
            self.lead(docs, comments, span, is_first);
            match item {
                Item::Statement(node) => self.statement(docs, node),
                Item::If(node) => self.if_statement(docs, node),
                Item::Try(node) => self.try_statement(docs, node),
                Item::Throw(node) => self.throw(docs, node),
            }
            if needs_semicolon(item, items.get(index + 1)) {
                docs.push(Doc::text(";"));
            }
        }
    }

    /// Starts the line of an item, behind the comments that stand before it.
    fn lead(&mut self, docs: &mut Vec<Doc>, comments: &[Comment], span: Span, is_first: bool) {
        if !self.comments.has_text() {
            for comment in comments {
                docs.push(Doc::HardLine);
                docs.push(comment_doc(comment));
            }
            docs.push(Doc::HardLine);
            return;
        }
        let is_first = self.comment_lines(docs, span.start, is_first);
        let has_gap = !is_first && self.comments.has_blank_line_above(span.start);
        docs.push(if has_gap { Doc::BlankLine } else { Doc::HardLine });
    }

    /// Puts comments between items; tells whether there still is nothing in the block.
    fn comment_lines(&mut self, docs: &mut Vec<Doc>, offset: u32, mut is_first: bool) -> bool {
        while let Some(comment) = self.comments.next_before(offset) {
            let start = comment.span.start;
            docs.push(if is_first || self.comments.starts_line(start) {
                let has_gap = !is_first && self.comments.has_blank_line_above(start);
                if has_gap { Doc::BlankLine } else { Doc::HardLine }
            } else {
                Doc::Space
            });
            docs.push(comment_doc(comment));
            is_first = false;
        }
        is_first
    }

    fn statement(&mut self, docs: &mut Vec<Doc>, node: &Statement) {
        let mut inner = Vec::new();
        if let Some(target) = &node.target {
            inner.push(Doc::text(&target.text));
            inner.push(Doc::Space);
            inner.push(Doc::text("="));
            let first = node.alternatives.first().map_or(0, |first| first.span().start);
            self.separate(&mut inner, Doc::Space, first);
        }
        self.alternatives(&mut inner, &node.alternatives);
        docs.push(Doc::group(inner));
    }

    fn alternatives(&mut self, docs: &mut Vec<Doc>, alternatives: &[Primary]) {
        let mut more = Vec::new();
        for (index, alternative) in alternatives.iter().enumerate() {
            if index == 0 {
                self.primary(docs, alternative);
                continue;
            }
            self.separate(&mut more, Doc::Line, alternative.span().start);
            more.push(Doc::text("|| "));
            self.primary(&mut more, alternative);
        }
        if !more.is_empty() {
            docs.push(Doc::Indent(more));
        }
    }

    fn result(&mut self, docs: &mut Vec<Doc>, node: &Return) {
        let mut inner = vec![Doc::text("return")];
        let first = node.alternatives.first().map_or(0, |first| first.span().start);
        self.separate(&mut inner, Doc::Space, first);
        self.alternatives(&mut inner, &node.alternatives);
        if node.route.is_some() || node.calls_max.is_some() {
            let mut clause = Vec::new();
            if let Some(route) = &node.route {
                self.route(&mut clause, route);
            }
            if let Some(most) = &node.calls_max {
                self.separate(&mut clause, Doc::Line, most.span.start);
                clause.push(Doc::text(format!("assert calls <= {}", most.value)));
            }
            self.tail(&mut clause, node.span.end);
            inner.push(Doc::Indent(clause));
        }
        docs.push(Doc::group(inner));
    }

    /// `{ … }`, each statement on a line of its own. `from` is an offset between the head of the
    /// block and its last brace; gives the offset behind that brace.
    fn block(&mut self, docs: &mut Vec<Doc>, items: &[Item], from: u32) -> u32 {
        docs.push(Doc::text("{"));
        let mut inner = Vec::new();
        self.items(&mut inner, items, Place::Block);
        let end = if self.comments.has_text() {
            let last = items.last().map_or(from, |item| item_span(item).end);
            self.comments.closing_brace(last)
        } else {
            0
        };
        self.comment_lines(&mut inner, end, items.is_empty());
        if !inner.is_empty() {
            docs.push(Doc::Indent(inner));
            docs.push(Doc::HardLine);
        }
        docs.push(Doc::text("}"));
        end + 1
    }

    fn if_statement(&mut self, docs: &mut Vec<Doc>, node: &If) {
        docs.push(Doc::text("if ("));
        self.logic(docs, &node.condition, Binding::Or);
        docs.push(Doc::text(") "));
        let then_end = self.block(docs, &node.then, logic_end(&node.condition));
        match node.otherwise.as_deref() {
            None => {}
            Some([Item::If(inner)]) => {
                docs.push(Doc::Space);
                docs.push(Doc::text("else"));
                self.separate(docs, Doc::Space, inner.span.start);
                self.if_statement(docs, inner);
            }
            Some(items) => {
                docs.push(Doc::text(" else "));
                self.block(docs, items, then_end);
            }
        }
    }

    fn try_statement(&mut self, docs: &mut Vec<Doc>, node: &Try) {
        docs.push(Doc::text("try "));
        let mut end = self.block(docs, &node.body, node.span.start);
        for catch in &node.catches {
            self.separate(docs, Doc::Space, catch.span.start);
            docs.push(Doc::text("catch ("));
            self.logic(docs, &catch.condition, Binding::Or);
            docs.push(Doc::text(") "));
            end = self.block(docs, &catch.body, logic_end(&catch.condition));
        }
        if let Some(items) = &node.finally {
            docs.push(Doc::text(" finally "));
            self.block(docs, items, end);
        }
    }

    fn throw(&mut self, docs: &mut Vec<Doc>, node: &Throw) {
        docs.push(Doc::text("throw ("));
        self.separate(docs, Doc::Space, node.name.span.start);
        docs.pop();
        docs.push(Doc::text(&node.name.text));
        docs.push(Doc::text(")"));
        self.tail(docs, node.span.end);
    }

    /// A condition, with parentheses where the operator around it binds tighter.
    fn logic(&mut self, docs: &mut Vec<Doc>, logic: &Logic, around: Binding) {
        let own = match logic {
            Logic::Or(..) => Binding::Or,
            Logic::And(..) => Binding::And,
            Logic::Not(_) | Logic::Name(_) => Binding::Not,
        };
        let has_parentheses = own < around;
        if has_parentheses {
            docs.push(Doc::text("("));
        }
        match logic {
            Logic::Or(left, right) => {
                self.logic(docs, left, Binding::Or);
                docs.push(Doc::text(" || "));
                // A group on the right stays a group: the operators are read from the left.
                self.logic(docs, right, Binding::And);
            }
            Logic::And(left, right) => {
                self.logic(docs, left, Binding::And);
                docs.push(Doc::text(" && "));
                self.logic(docs, right, Binding::Not);
            }
            Logic::Not(inner) => {
                docs.push(Doc::text("!"));
                self.logic(docs, inner, Binding::Not);
            }
            Logic::Name(node) => {
                let mut comments = Vec::new();
                self.separate(&mut comments, Doc::Space, node.span.start);
                if comments.len() > 1 {
                    docs.extend(comments);
                }
                docs.push(Doc::text(path(node)));
            }
        }
        if has_parentheses {
            docs.push(Doc::text(")"));
        }
    }
}

/// Where a list of items stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Top,
    Block,
}

/// The end of the last operand.
fn logic_end(logic: &Logic) -> u32 {
    match logic {
        Logic::Or(_, right) | Logic::And(_, right) => logic_end(right),
        Logic::Not(inner) => logic_end(inner),
        Logic::Name(path) => path.span.end,
    }
}

fn item_span(item: &Item) -> Span {
    match item {
        Item::Statement(node) => node.span,
        Item::If(node) => node.span,
        Item::Try(node) => node.span,
        Item::Throw(node) => node.span,
    }
}

/// Whether the next item would be read as a part of this one: a call of a function named like a
/// clause, or anything behind a variable named like a statement.
fn needs_semicolon(item: &Item, next: Option<&Item>) -> bool {
    let Item::Statement(statement) = item else { return false };
    let ends_open = matches!(
        statement.alternatives.last(),
        Some(Primary::Reference(name)) if KEYWORDS.contains(&name.text.as_str())
    );
    let Some(Item::Statement(next)) = next else { return ends_open };
    let is_call = next.target.is_none()
        && matches!(
            next.alternatives.first(),
            Some(Primary::Call(call)) if CLAUSES.iter().any(|clause| clause.eq_ignore_ascii_case(&call.callee.text))
        );
    ends_open || is_call
}

/// The words that start statements.
const KEYWORDS: &[&str] =
    &["select", "insert", "update", "delete", "create", "show", "describe", "desc"];

/// The words that start clauses behind which a parenthesis can be read.
const CLAUSES: &[&str] = &[
    "as",
    "where",
    "and",
    "or",
    "limit",
    "offset",
    "timeout",
    "minDelay",
    "maxDelay",
    "deadline",
    "values",
    "with",
    "using",
    "on",
    "via",
    "expect",
    "auth",
    "authenticate",
    "resultset",
    "expires",
    "paging",
    "no",
    "foreach",
];
