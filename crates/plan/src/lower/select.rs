//! Selects from one source, and the parts that joins share: scan columns, row calls, output.

use std::collections::HashMap;

use qlio_data::{projection::Projection, template::Template};
use qlio_syntax::ast::{self, VerbKind};

use super::{
    Lowering,
    condition::{delays, strip_alias},
    path, path_text,
};
use crate::{
    catalog::Verb,
    operator::{
        Column, ColumnPath, Condition, Delays, Output, OutputColumn, OutputValue, RowArgument,
        RowCall, Scan, ScanColumns, Select, Side, Source,
    },
};

/// Selects that read more paths than this keep whole answers: looking every member up among so many
/// names would cost more than it saves.
const PRUNED_PATHS_MAX: usize = 1_000;

/// The columns of one scan while they are collected; the same path is read once.
#[derive(Default)]
pub(super) struct ScanBuilder {
    pub(super) columns: Vec<Column>,
    positions: HashMap<String, usize>,
}

impl ScanBuilder {
    /// The position of the column with this path, added if it is new.
    pub(super) fn add(&mut self, text: String, path: ColumnPath, is_key: bool) -> usize {
        let next = self.columns.len();
        let position = *self.positions.entry(text).or_insert(next);
        if position == next {
            self.columns.push(Column { path, is_key });
        }
        position
    }
}

impl Lowering<'_> {
    pub(super) fn select(&mut self, select: &ast::Select) -> Select {
        match select.sources.as_slice() {
            [main, joined] => self.join(select, main, joined),
            [source, ..] => self.select_from(select, source),
            [] => unreachable!("the parser demands a source"),
        }
    }

    fn select_from(&mut self, select: &ast::Select, source: &ast::Source) -> Select {
        let lowered = self.source(source);
        let alias = source.alias.as_ref().map(|alias| alias.text.as_str());
        let mut builder = ScanBuilder::default();
        let mut output = Vec::new();
        let mut has_aliases = false;
        if let ast::Columns::List(columns) = &select.columns {
            for column in columns {
                has_aliases |= column.alias.is_some();
                let value = match &column.value {
                    ast::ColumnValue::Path(path) => {
                        let column = self.column(path, alias, &mut builder);
                        OutputValue::Column { side: Side::Main, column }
                    }
                    ast::ColumnValue::Call(call) => {
                        OutputValue::Call(self.row_call(call, |lowering, path| {
                            RowArgument::Column {
                                side: Side::Main,
                                column: lowering.column(path, alias, &mut builder),
                            }
                        }))
                    }
                };
                output.push(OutputColumn {
                    alias: column.alias.as_ref().map(|alias| alias.text.as_str().into()),
                    value,
                });
            }
        }
        let is_star = matches!(select.columns, ast::Columns::Star(_));
        let visible = builder.columns.len();
        let mut conditions = Vec::new();
        let mut row_calls = Vec::new();
        for condition in &select.conditions {
            if let ast::Condition::Call(call) = condition {
                row_calls.push(self.row_call(call, |lowering, path| {
                    if is_star {
                        return RowArgument::Absent;
                    }
                    RowArgument::Column {
                        side: Side::Main,
                        column: lowering.column(path, alias, &mut builder),
                    }
                }));
            } else {
                conditions.extend(self.condition(condition, source));
            }
        }
        let own: Vec<&str> = conditions.iter().map(|condition| &*condition.name).collect();
        self.warn_unused_parameters(select.conditions.iter(), source, VerbKind::Select);
        self.warn_unfilled_tokens(&lowered, &source.name, VerbKind::Select, &own);
        // A column that only a row function needs changes the row's shape (UDF-15).
        let has_hidden = builder.columns.len() > visible;
        let is_flat = output.len() == 1 && !has_aliases && !has_hidden;
        let columns = if is_star { ScanColumns::Star } else { ScanColumns::List(builder.columns) };
        Select {
            scan: scan(lowered, columns, conditions, delays(&select.delays)),
            join: None,
            output: Output { columns: output, has_aliases, is_flat },
            row_calls,
            limit: select.limit.map(|count| count.value),
            offset: select.offset.map(|count| count.value),
            line: self.lines.line(select.span.start),
            assign: None,
        }
    }

    /// Adds a column to a scan, its alias prefix cut off.
    pub(super) fn column(
        &mut self,
        path: &ast::Path,
        alias: Option<&str>,
        builder: &mut ScanBuilder,
    ) -> usize {
        let path = strip_alias(path, alias);
        let text = path_text(&path);
        let lowered = self.column_path(&path);
        // Quoted segments with dots print like nested ones, so the key tells them apart.
        let key = format!("{text}\u{0}{}", path.segments.len());
        builder.add(key, lowered, false)
    }

    /// Adds the key of a join, which is read apart from a column of the same path.
    pub(super) fn key_column(
        &mut self,
        path: &ast::Path,
        alias: Option<&str>,
        builder: &mut ScanBuilder,
    ) -> usize {
        let path = strip_alias(path, alias);
        let lowered = self.column_path(&path);
        builder.add(
            format!("key\u{0}{}\u{0}{}", path_text(&path), path.segments.len()),
            lowered,
            true,
        )
    }

    fn column_path(&mut self, path: &ast::Path) -> ColumnPath {
        let has_token = path.segments.iter().any(|segment| match segment {
            ast::Segment::Member { name, is_quoted: true } => !Template::parse(name).is_literal(),
            _ => false,
        });
        if has_token {
            let template = self.template(&path_text(path));
            self.note_missing_settings(&template, path.span);
            ColumnPath::Dynamic(template)
        } else {
            ColumnPath::Static(self.path(path))
        }
    }

    /// Lowers a function called per row; `argument` turns its path arguments into columns.
    pub(super) fn row_call(
        &mut self,
        call: &ast::Call,
        mut argument: impl FnMut(&mut Self, &ast::Path) -> RowArgument,
    ) -> RowCall {
        let callee = self.callee(&call.callee);
        let mut arguments = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            arguments.push(match arg {
                ast::Arg::Json(json) => RowArgument::Expression(self.expression(json)),
                ast::Arg::Path(path) => argument(self, path),
            });
        }
        RowCall { callee, arguments, line: self.lines.line(call.span.start) }
    }
}

/// Puts a scan together with what has to be kept for it.
pub(super) fn scan(
    source: Source,
    columns: ScanColumns,
    conditions: Vec<Condition>,
    delays: Delays,
) -> Scan {
    let rows = match &columns {
        ScanColumns::List(columns) if columns.len() + conditions.len() <= PRUNED_PATHS_MAX => {
            row_projection(columns)
        }
        ScanColumns::List(_) | ScanColumns::Star => Projection::All,
    };
    let answer = match source.table().and_then(|table| table.verb(VerbKind::Select)) {
        Some(verb) => answer_projection(verb, rows.clone()),
        None => Projection::All,
    };
    let mut projection = rows;
    for condition in &conditions {
        projection.add_path(&condition.path);
    }
    Scan { source, columns, conditions, delays, projection, answer }
}

/// The parts of a row that the columns read.
fn row_projection(columns: &[Column]) -> Projection {
    let mut projection = Projection::none();
    for column in columns {
        match &column.path {
            ColumnPath::Static(path) => projection.add_path(path),
            ColumnPath::Dynamic(_) => return Projection::All,
        }
    }
    projection
}

/// The rows' projection below the verb's resultset; everything when a hook may look at the answer.
fn answer_projection(verb: &Verb, rows: Projection) -> Projection {
    if verb.patch.is_some() || verb.transformer.is_some() {
        return Projection::All;
    }
    let mut steps = verb.resultset.as_slice();
    if let Some(root) = verb.format.as_ref().and_then(|format| format.root.as_ref()) {
        match steps.split_first() {
            Some((first, rest)) if first == root => steps = rest,
            _ => return Projection::All,
        }
    }
    steps.iter().rev().fold(rows, |inner, step| Projection::within(step, inner))
}

/// The alias that a path begins with, if it is one of the two sources of a join.
pub(super) fn side_of(path: &ast::Path, main: &str, joined: &str) -> Option<Side> {
    let begins_with = |alias| path::without_alias(path, alias).is_some();
    if begins_with(main) {
        return Some(Side::Main);
    }
    begins_with(joined).then_some(Side::Joined)
}
