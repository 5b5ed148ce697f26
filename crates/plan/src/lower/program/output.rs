//! The columns of an output, as far as they are more than columns of a source.

use qlio_syntax::{ast, parser::last_name};

use super::Compiler;
use crate::operator::{Output, OutputColumn, OutputValue};

impl Compiler<'_, '_, '_, '_> {
    /// Puts the programs of computed columns in their places. With groups, all columns are theirs.
    pub(in crate::lower) fn show(&mut self, select: &ast::Select, output: &mut Output) {
        match &select.columns {
            ast::Columns::Star(span) if self.groups.is_some() => self.refuse_ungrouped(*span),
            ast::Columns::Star(span) if select.sources.len() > 1 => {
                let star = ast::Star { alias: None, excluded: Vec::new(), span: *span };
                let value = ast::ColumnValue::Star(star);
                let all = ast::Column { value, alias: None, span: *span };
                *output = whole_row(OutputValue::Computed(self.object_of(&[all])));
            }
            ast::Columns::Star(_) => {
                let (side, column) = self.rows.rows(self.lowering)[0];
                *output = whole_row(OutputValue::Column { side, column });
            }
            ast::Columns::List(list) => {
                let is_star =
                    |column: &ast::Column| matches!(column.value, ast::ColumnValue::Star(_));
                if list.iter().any(is_star) {
                    *output = whole_row(OutputValue::Computed(self.object_of(list)));
                } else {
                    self.show_columns(list, select.is_value, output);
                }
            }
        }
        if self.groups.is_some() {
            self.refuse_row_calls(&select.conditions);
        }
    }

    fn show_columns(&mut self, list: &[ast::Column], is_value: bool, output: &mut Output) {
        let is_grouped = self.groups.is_some();
        let is_alone = list.len() == 1 && !output.has_aliases;
        for (column, shown) in list.iter().zip(&mut output.columns) {
            match &column.value {
                ast::ColumnValue::Expression(expression) => {
                    output.is_flat |= is_alone && is_constructor(expression);
                    shown.value = OutputValue::Computed(self.program(expression));
                }
                ast::ColumnValue::Path(path) if is_grouped => {
                    shown.value = self.group_output(path);
                }
                ast::ColumnValue::Call(call) if is_grouped => self.refuse_function(call.span),
                ast::ColumnValue::Path(path) if is_value => {
                    // The alias alone is the row.
                    let (side, column) = self.rows.column(self.lowering, path);
                    shown.value = OutputValue::Column { side, column };
                }
                _ => {}
            }
            if output.has_aliases
                && shown.alias.is_none()
                && let ast::ColumnValue::Path(path) = &column.value
            {
                shown.alias = last_name(path).map(Into::into);
            }
        }
        output.is_flat |= is_value;
    }

    /// Functions of modules are called for rows, and there are groups.
    fn refuse_row_calls(&mut self, conditions: &[ast::Condition]) {
        for condition in conditions {
            if let ast::Condition::Call(call) = condition {
                self.refuse_function(call.span);
            }
        }
    }
}

/// An output of one value, which is the row.
fn whole_row(value: OutputValue) -> Output {
    let columns = vec![OutputColumn { alias: None, value }];
    Output { columns, has_aliases: false, is_flat: true }
}

/// Whether an expression makes the row itself (EXP-8).
fn is_constructor(expression: &ast::Expression) -> bool {
    matches!(expression.kind, ast::ExpressionKind::Object(_) | ast::ExpressionKind::List(_))
}
