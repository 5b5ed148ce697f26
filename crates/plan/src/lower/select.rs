//! Selects from one source, and the parts that joins share: scan columns, row calls, output.

use std::{collections::HashMap, sync::OnceLock};

use qlio_data::{projection::Projection, template::Template};
use qlio_syntax::{
    ast::{self, VerbKind},
    diagnostic::{Diagnostic, codes},
};

use super::{
    Lowering,
    condition::{delays, strip_alias},
    mentions, path, path_text,
    program::{Compiler, Push, RowColumns, is_declared, is_grouped, output_names, pushes},
};
use crate::{
    catalog::{ColumnParameter, Verb},
    operator::{
        Bound, Column, ColumnPath, Condition, Delays, Output, OutputColumn, OutputValue, Program,
        RowArgument, RowCall, Scan, ScanColumns, Select, Side, Source, SourceKind, Stage, Steps,
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
        if !select.unions.is_empty() {
            return self.union(select);
        }
        // Older scripts knew no declared columns, which may be asked for all rows at once.
        let declares = |source: &ast::Source| self.declares_columns(&source.name.text);
        let is_declared_join = select.sources.len() > 1 && select.sources.iter().any(declares);
        if is_declared_join || !mentions::is_plain(select, &|name| self.has_table(name)) {
            return self.select_sources(select);
        }
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
        let plain = self.plain_output(select, |lowering, path| {
            (Side::Main, lowering.column(path, alias, &mut builder))
        });
        let is_star = matches!(select.columns, ast::Columns::Star(_));
        let visible = builder.columns.len();
        let mut conditions = Vec::new();
        let mut row_calls = Vec::new();
        let mut written = Vec::new();
        let mut tests = Vec::new();
        let declared = declared_columns(&lowered);
        let is_on_declared = |condition: &ast::Condition| is_declared(condition, declared, alias);
        let has_steps = needs_steps(select, alias) || select.conditions.iter().any(is_on_declared);
        for condition in &select.conditions {
            if let ast::Condition::Call(call) = condition {
                row_calls.push(self.row_call(call, |lowering, path| {
                    if is_star && !has_steps {
                        return RowArgument::Absent;
                    }
                    RowArgument::Column {
                        side: Side::Main,
                        column: lowering.column(path, alias, &mut builder),
                    }
                }));
            } else if is_test(condition, alias) || is_on_declared(condition) {
                tests.push(condition);
            } else {
                conditions.extend(self.condition(condition, source));
                written.push(condition);
            }
        }
        let pushes = pushes(&tests, declared, alias);
        let own = conditions.iter().map(|condition| &*condition.name);
        let own: Vec<&str> = own.chain(pushes.iter().flat_map(Push::names)).collect();
        self.warn_unused_parameters(written.into_iter(), source, VerbKind::Select);
        if lowered.table().is_some() {
            self.warn_tested_parameters(select, &[source]);
            self.warn_computed_parameter(&tests, source, declared);
        }
        self.warn_unfilled_tokens(&lowered, &source.name, VerbKind::Select, &own);
        // A column that only a row function needs changes the row's shape (UDF-15).
        let has_hidden = builder.columns.len() > visible;
        let mut output = Output {
            is_flat: plain.columns.len() == 1 && !plain.has_aliases && !has_hidden,
            ..plain
        };
        let steps = has_steps.then(|| {
            let rows = RowColumns::One { alias, builder: &mut builder };
            let steps = self.steps(select, (&tests, &pushes), rows, &mut output);
            // Rows without a column could not be counted.
            if builder.columns.is_empty() {
                builder.row();
            }
            steps
        });
        let columns = if is_star && steps.is_none() {
            ScanColumns::Star
        } else {
            ScanColumns::List(builder.columns)
        };
        let (limit, offset) = own_bounds(select, steps.as_ref(), &tests);
        Select {
            scan: scan(lowered, columns, conditions, delays(&select.delays)),
            join: None,
            joins: None,
            output,
            row_calls,
            steps: steps.map(Box::new),
            limit,
            offset,
            line: self.lines.line(select.span.start),
            assign: None,
        }
    }

    /// The columns that older scripts could write; expressions are put in their places later.
    pub(super) fn plain_output(
        &mut self,
        select: &ast::Select,
        mut column_of: impl FnMut(&mut Self, &ast::Path) -> (Side, usize),
    ) -> Output {
        let mut columns = Vec::new();
        let mut has_aliases = false;
        if let ast::Columns::List(list) = &select.columns {
            for column in list {
                has_aliases |= column.alias.is_some();
                let value = match &column.value {
                    ast::ColumnValue::Path(path) => {
                        let (side, column) = column_of(self, path);
                        OutputValue::Column { side, column }
                    }
                    ast::ColumnValue::Call(call) => {
                        OutputValue::Call(self.row_call(call, |lowering, path| {
                            let (side, column) = column_of(lowering, path);
                            RowArgument::Column { side, column }
                        }))
                    }
                    ast::ColumnValue::Expression(_) | ast::ColumnValue::Star(_) => {
                        OutputValue::Computed(Program {
                            operations: Vec::new(),
                            places: Vec::new(),
                        })
                    }
                };
                let alias = column.alias.as_ref().map(|alias| alias.text.as_str().into());
                columns.push(OutputColumn { alias, value });
            }
        }
        Output { columns, has_aliases, is_flat: false }
    }

    /// What is done with the rows of a select that has expressions, an order and the like; `output` gets the
    /// programs of its columns.
    pub(super) fn steps<'s>(
        &mut self,
        select: &'s ast::Select,
        (tests, pushes): (&[&ast::Condition], &[Push<'_>]),
        rows: RowColumns<'_, 's>,
        output: &mut Output,
    ) -> Steps {
        let is_cut = !matches!(rows, RowColumns::Scoped) && is_cut_by_source(select, tests);
        let (limit, offset) = if is_cut {
            (None, None)
        } else {
            (self.bound(select.limit.as_ref()), self.bound(select.offset.as_ref()))
        };
        // What is made of groups is made once for all rows.
        let stage = |stage: Stage| (!is_grouped(select)).then_some(stage);
        self.enter_stage(stage(Stage::Output));
        let mut compiler = Compiler::new(self, rows);
        compiler.outputs = output_names(&select.columns);
        compiler.begin_groups(select);
        let outputs = std::mem::take(&mut compiler.outputs);
        compiler.show(select, output);
        let groups = compiler.groups.take();
        compiler.lowering.enter_stage(Some(Stage::Filter));
        let filter = (!tests.is_empty()).then(|| compiler.all_of(tests));
        let pushed = compiler.pushed(pushes);
        let text = compiler.lowering.text;
        let tests = tests.iter().map(|test| text[test.span().range()].into()).collect();
        compiler.groups = groups;
        compiler.outputs = outputs;
        compiler.lowering.enter_stage(stage(Stage::Order));
        let having = select.having.as_ref().map(|having| compiler.program(having));
        let order = select.order.iter().map(|key| compiler.sort_key(key)).collect();
        let grouping = compiler.groups.take().map(|groups| Box::new(groups.finish(having)));
        let givens = compiler.givens;
        if select.is_distinct {
            self.refuse_distinct_functions(select);
        }
        let is_distinct = select.is_distinct;
        Steps { givens, pushed, tests, filter, grouping, order, is_distinct, limit, offset }
    }

    /// Functions of modules are called last, when rows are distinct already.
    fn refuse_distinct_functions(&mut self, select: &ast::Select) {
        let ast::Columns::List(columns) = &select.columns else { return };
        for column in columns {
            let ast::ColumnValue::Call(call) = &column.value else { continue };
            let message = "`distinct` looks at columns before functions of modules are called";
            let hint = "bind the select to a variable, and select `distinct` from that";
            self.problems
                .push(Diagnostic::error(codes::MISPLACED_FUNCTION, call.span, message).hint(hint));
        }
    }

    pub(super) fn bound(&mut self, bound: Option<&ast::Bound>) -> Option<Bound> {
        Some(match bound? {
            ast::Bound::Count(count) => Bound::Count(count.value),
            ast::Bound::Token { text, span } => Bound::Given {
                name: format!("{{{text}}}").into(),
                value: self.token_operand(text, *span),
            },
        })
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

/// The columns that a source declares, if it is one table and no other.
fn declared_columns(source: &Source) -> &[ColumnParameter] {
    let table = match &source.kind {
        SourceKind::Inline(table) | SourceKind::Loaded(Some(table)) => table,
        SourceKind::Slot(_)
        | SourceKind::Conditional { .. }
        | SourceKind::Loaded(None)
        | SourceKind::Union(_)
        | SourceKind::Select(_)
        | SourceKind::Elements => return &[],
    };
    table.verb(VerbKind::Select).map_or(&[], |verb| &verb.columns)
}

/// Whether a select does more than older scripts could say.
pub(super) fn needs_steps(select: &ast::Select, alias: Option<&str>) -> bool {
    let has_new_column = match &select.columns {
        ast::Columns::Star(_) => false,
        ast::Columns::List(columns) => columns.iter().any(|column| {
            matches!(column.value, ast::ColumnValue::Expression(_) | ast::ColumnValue::Star(_))
        }),
    };
    let is_token = |bound: &Option<ast::Bound>| matches!(bound, Some(ast::Bound::Token { .. }));
    has_new_column
        || select.is_distinct
        || select.is_value
        || !select.order.is_empty()
        || select.grouping.is_some()
        || is_token(&select.limit)
        || is_token(&select.offset)
        || select.conditions.iter().any(|condition| is_test(condition, alias))
}

/// Whether a condition tests the row rather than giving a parameter; so does one that compares with another
/// column of a lone source.
pub(super) fn is_test(condition: &ast::Condition, alias: Option<&str>) -> bool {
    match condition {
        ast::Condition::Test(_) => true,
        ast::Condition::Equals {
            operand: ast::Operand { kind: ast::OperandKind::Path(right), .. },
            ..
        } => alias.is_some_and(|alias| {
            path::without_alias(right, alias).is_some() || path_text(right) == alias
        }),
        _ => false,
    }
}

/// The bounds that are numbers and known to whoever reads the source.
pub(super) fn own_bounds(
    select: &ast::Select,
    steps: Option<&Steps>,
    tests: &[&ast::Condition],
) -> (Option<u64>, Option<u64>) {
    if steps.is_some() && !is_cut_by_source(select, tests) {
        return (None, None);
    }
    let count = |bound: &Option<ast::Bound>| bound.as_ref().and_then(ast::Bound::count);
    (count(&select.limit), count(&select.offset))
}

/// Whether `limit` and `offset` are numbers and nothing drops or moves rows, so that a table may be asked for
/// just as many as are wanted.
fn is_cut_by_source(select: &ast::Select, tests: &[&ast::Condition]) -> bool {
    let is_count = |bound: &Option<ast::Bound>| !matches!(bound, Some(ast::Bound::Token { .. }));
    tests.is_empty()
        && select.order.is_empty()
        && !is_grouped(select)
        && !select.is_distinct
        && is_count(&select.limit)
        && is_count(&select.offset)
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
    let shown = OnceLock::new();
    Scan { source, columns, conditions, delays, projection, answer, shown }
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
