//! Values: texts in their quotes, numbers, paths, operands, calls and JSON.

use std::fmt::Write as _;

use super::{Doc, Printer};
use crate::{
    ast::{
        Arg, Call, Json, JsonKind, NameValue, Operand, OperandKind, Path, RawText, Segment, Source,
    },
    source::Span,
};

/// Raw text in quotes: double ones around text with tokens, single ones around plain values, and
/// whatever the text itself leaves free.
pub(super) fn raw(text: &str) -> String {
    let prefers_double = text.contains('{');
    let is_double = if prefers_double { !text.contains('"') } else { text.contains('\'') };
    let quote = if is_double { '"' } else { '\'' };
    format!("{quote}{text}{quote}")
}

/// A URI: double quotes if possible.
pub(super) fn uri(text: &RawText) -> String {
    let quote = if text.text.contains('"') { '\'' } else { '"' };
    format!("{quote}{}{quote}", text.text)
}

/// JSON text in double quotes.
pub(super) fn json_text(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{C}' => quoted.push_str("\\f"),
            // The two separators would count as line ends.
            '\0'..'\u{20}' | '\u{2028}' | '\u{2029}' => push_escape(&mut quoted, c),
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn push_escape(quoted: &mut String, c: char) {
    write!(quoted, "\\u{:04x}", c as u32).expect("writing to a String cannot fail");
}

/// A path as it is written in clauses.
pub(super) fn path(path: &Path) -> String {
    let (first, rest) = match path.segments.as_slice() {
        [Segment::Member { name, is_quoted: true }, rest @ ..] => (raw(name), rest),
        [Segment::Member { name, is_quoted: false }, rest @ ..] => (name.clone(), rest),
        segments => (String::new(), segments),
    };
    steps(first, rest)
}

/// `text` and the steps of a path behind it.
pub(super) fn steps(mut text: String, segments: &[Segment]) -> String {
    for segment in segments {
        let part = match segment {
            Segment::Member { name, is_quoted: true } => format!("[{}]", raw(name)),
            Segment::Member { name, is_quoted: false } => format!(".{name}"),
            Segment::Descendant(name) => format!("..{name}"),
            Segment::Index(index) => format!("[{index}]"),
            Segment::Wildcard => "[*]".to_owned(),
            Segment::Slice { start, end, step } => slice(*start, *end, *step),
            Segment::Filter(expression) => format!("[?({})]", json_text(expression)),
            Segment::Computed(expression) => format!("[({})]", json_text(expression)),
        };
        text.push_str(&part);
    }
    text
}

fn slice(start: Option<i64>, end: Option<i64>, step: Option<i64>) -> String {
    let part = |number: Option<i64>| number.map_or(String::new(), |number| number.to_string());
    let step = step.map_or(String::new(), |step| format!(":{step}"));
    format!("[{}:{}{step}]", part(start), part(end))
}

/// A value of a clause.
pub(super) fn operand(operand: &Operand) -> String {
    match &operand.kind {
        OperandKind::Text(text) => raw(text),
        OperandKind::Number(number) => number.clone(),
        OperandKind::Bool(value) => value.to_string(),
        OperandKind::Null => "null".to_owned(),
        OperandKind::Path(node) => path(node),
        OperandKind::Token(text) => format!("{{{text}}}"),
    }
}

impl Printer<'_> {
    /// `items` with commas between them, each on a line of its own if they do not fit.
    pub(super) fn list<T>(
        &mut self,
        docs: &mut Vec<Doc>,
        items: &[T],
        span: impl Fn(&T) -> Span,
        mut print: impl FnMut(&mut Self, &mut Vec<Doc>, &T),
    ) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                docs.push(Doc::text(","));
                self.separate(docs, Doc::Line, span(item).start);
            }
            print(self, docs, item);
        }
    }

    /// `(a, b)`.
    pub(super) fn operands(&mut self, docs: &mut Vec<Doc>, items: &[Operand], end: u32) {
        let mut inner = vec![Doc::text("(")];
        let mut list = Vec::new();
        if let Some(first) = items.first() {
            self.separate(&mut list, Doc::SoftLine, first.span.start);
        }
        self.list(
            &mut list,
            items,
            |item| item.span,
            |_, docs, item| {
                docs.push(Doc::text(operand(item)));
            },
        );
        self.separate(&mut list, Doc::SoftLine, end);
        list.pop();
        inner.push(Doc::Indent(list));
        inner.push(Doc::SoftLine);
        inner.push(Doc::text(")"));
        docs.push(Doc::group(inner));
    }

    /// `name = value, …`.
    pub(super) fn name_values(&mut self, docs: &mut Vec<Doc>, pairs: &[NameValue]) {
        let mut list = Vec::new();
        self.list(
            &mut list,
            pairs,
            |pair| pair.name.span,
            |printer, docs, pair| {
                let name =
                    if pair.is_quoted { raw(&pair.name.text) } else { pair.name.text.clone() };
                docs.push(Doc::text(name));
                docs.push(Doc::Space);
                docs.push(Doc::text("="));
                printer.separate(docs, Doc::Space, pair.value.span.start);
                docs.push(Doc::text(operand(&pair.value)));
            },
        );
        docs.push(Doc::group(vec![Doc::Indent(list)]));
    }

    /// `'a', 'b'`.
    pub(super) fn raw_texts(&mut self, docs: &mut Vec<Doc>, texts: &[RawText]) {
        let mut list = Vec::new();
        self.list(
            &mut list,
            texts,
            |text| text.span,
            |_, docs, text| {
                docs.push(Doc::text(raw(&text.text)));
            },
        );
        docs.push(Doc::group(vec![Doc::Indent(list)]));
    }

    /// `name as alias`.
    pub(super) fn source(&mut self, docs: &mut Vec<Doc>, source: &Source) {
        docs.push(Doc::text(&source.name.text));
        if let Some(alias) = &source.alias {
            self.separate(docs, Doc::Space, alias.span.start);
            docs.push(Doc::text(format!("as {}", alias.text)));
        }
    }

    /// `name(arg, …)`.
    pub(super) fn call(&mut self, docs: &mut Vec<Doc>, call: &Call) {
        let arg_span = |arg: &Arg| match arg {
            Arg::Json(node) => node.span,
            Arg::Path(node) => node.span,
        };
        let mut inner = vec![Doc::text(format!("{}(", call.callee.text))];
        let mut list = Vec::new();
        if let Some(first) = call.args.first() {
            self.separate(&mut list, Doc::SoftLine, arg_span(first).start);
        }
        self.list(&mut list, &call.args, arg_span, |printer, docs, arg| match arg {
            Arg::Json(node) => printer.json(docs, node),
            Arg::Path(node) => docs.push(Doc::text(path(node))),
        });
        self.separate(&mut list, Doc::SoftLine, call.span.end);
        list.pop();
        inner.push(Doc::Indent(list));
        inner.push(Doc::SoftLine);
        inner.push(Doc::text(")"));
        docs.push(Doc::group(inner));
    }

    /// A JSON literal; structures that do not fit have one member per line.
    pub(super) fn json(&mut self, docs: &mut Vec<Doc>, json: &Json) {
        let mut list = Vec::new();
        let (open, close) = match &json.kind {
            JsonKind::Null => return docs.push(Doc::text("null")),
            JsonKind::Bool(value) => return docs.push(Doc::text(value.to_string())),
            JsonKind::Number(number) => return docs.push(Doc::text(number)),
            JsonKind::String(text) => return docs.push(Doc::text(json_text(text))),
            JsonKind::Array(items) => {
                if let Some(first) = items.first() {
                    self.separate(&mut list, Doc::SoftLine, first.span.start);
                }
                self.list(&mut list, items, |item| item.span, Self::json);
                ("[", "]")
            }
            JsonKind::Object(members) => {
                if let Some(first) = members.first() {
                    self.separate(&mut list, Doc::SoftLine, first.key_span.start);
                }
                self.list(
                    &mut list,
                    members,
                    |member| member.key_span,
                    |printer, docs, member| {
                        docs.push(Doc::text(format!("{}:", json_text(&member.key))));
                        printer.separate(docs, Doc::Space, member.value.span.start);
                        printer.json(docs, &member.value);
                    },
                );
                ("{", "}")
            }
        };
        self.separate(&mut list, Doc::SoftLine, json.span.end);
        list.pop();
        docs.push(Doc::group(vec![
            Doc::text(open),
            Doc::Indent(list),
            Doc::SoftLine,
            Doc::text(close),
        ]));
    }
}
