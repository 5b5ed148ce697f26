//! Inserts, updates and deletes.

use qlio_data::Text;
use qlio_syntax::{
    ast::{self, VerbKind},
    diagnostic::{Diagnostic, codes},
};

use super::{Lowering, condition::delays, path_text};
use crate::operator::{Condition, Delete, Write, WriteKind, WriteValues};

impl Lowering<'_> {
    pub(super) fn insert(&mut self, insert: &ast::Insert) -> Write {
        let target = self.source(&insert.target);
        let values = match (&insert.object, &insert.columns, &insert.values) {
            (Some(object), ..) => WriteValues::Object(self.object_token(object)),
            (None, Some(ast::Columns::List(columns)), Some(values)) => {
                let names = columns.iter().map(column_name);
                let values: Vec<_> =
                    values.iter().map(|value| self.listed_operand(value)).collect();
                WriteValues::Pairs(names.zip(values).collect())
            }
            (None, _, Some(values)) => match values.first() {
                Some(value) => WriteValues::Opaque(self.listed_operand(value)),
                None => WriteValues::None,
            },
            (None, _, None) => WriteValues::None,
        };
        let parts = self.parts(&insert.parts);
        Write {
            kind: WriteKind::Insert,
            target,
            values,
            parts,
            delays: delays(&insert.delays),
            line: self.lines.line(insert.span.start),
            assign: None,
        }
    }

    pub(super) fn update(&mut self, update: &ast::Update) -> Write {
        let target = self.source(&update.target);
        let values = WriteValues::Object(self.object_token(&update.object));
        let parts = self.parts(&update.parts);
        Write {
            kind: WriteKind::Update,
            target,
            values,
            parts,
            delays: delays(&update.delays),
            line: self.lines.line(update.span.start),
            assign: None,
        }
    }

    pub(super) fn delete(&mut self, delete: &ast::Delete) -> Delete {
        let target = self.source(&delete.target);
        for condition in &delete.conditions {
            // Left out, they would leave a delete of everything.
            let message = match condition {
                ast::Condition::Call(_) => "a function cannot choose what `delete` removes",
                ast::Condition::Test(_) => "`delete` chooses by `=` and `in`, joined with `and`",
                _ => continue,
            };
            self.problems.push(
                Diagnostic::error(codes::MISPLACED_CLAUSE, condition.span(), message)
                    .hint("select what is to be deleted with it, then delete `where … in` that"),
            );
        }
        let conditions: Vec<Condition> = delete
            .conditions
            .iter()
            .filter_map(|condition| self.condition(condition, &delete.target))
            .collect();
        let own: Vec<&str> = conditions.iter().map(|condition| &*condition.name).collect();
        let (source, kind) = (&delete.target, VerbKind::Delete);
        self.warn_unused_parameters(delete.conditions.iter(), source, kind);
        self.warn_unfilled_tokens(&target, &source.name, kind, &own);
        Delete {
            target,
            conditions,
            delays: delays(&delete.delays),
            line: self.lines.line(delete.span.start),
            assign: None,
        }
    }

    fn object_token(&mut self, object: &ast::RawText) -> qlio_data::template::Template {
        let template = self.template(&object.text);
        self.note_missing_settings(&template, object.span);
        self.note_prerequisites(&template);
        template
    }

    fn parts(&mut self, parts: &[ast::RawText]) -> Vec<qlio_data::template::Template> {
        parts
            .iter()
            .map(|part| {
                let template = self.template(&part.text);
                self.note_missing_settings(&template, part.span);
                template
            })
            .collect()
    }
}

/// The flat key of a column of an insert.
fn column_name(column: &ast::Column) -> Text {
    match &column.value {
        ast::ColumnValue::Path(path) => path_text(path).into(),
        ast::ColumnValue::Call(call) => call.callee.text.as_str().into(),
        // Only columns of a select are more.
        ast::ColumnValue::Expression(_) | ast::ColumnValue::Star(_) => Text::default(),
    }
}
