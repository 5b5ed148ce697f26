//! `union`: selects of their own, and one from all of their rows for the order and the bounds (UNI-1 to UNI-6).

use qlio_syntax::{ast, parser::last_name};

use super::{
    Lowering,
    condition::delays,
    program::{Compiler, OutputName, RowColumns},
    select::{ScanBuilder, scan},
};
use crate::operator::{
    Output, OutputColumn, OutputValue, ScanColumns, Select, Source, SourceKind, Steps, Unioned,
};

/// What the row itself is called in paths; no script can write it.
const ROW: &str = "\u{0}";

impl Lowering<'_> {
    pub(super) fn union(&mut self, select: &ast::Select) -> Select {
        let first = ast::Select {
            unions: Vec::new(),
            order: Vec::new(),
            limit: None,
            offset: None,
            ..select.clone()
        };
        let mut parts = vec![Unioned { is_all: true, select: self.select(&first) }];
        for union in &select.unions {
            // The bounds of time behind the last select are those of all.
            let part = ast::Select { delays: select.delays, ..union.select.clone() };
            parts.push(Unioned { is_all: union.is_all, select: self.select(&part) });
        }
        let is_token = |bound: &Option<ast::Bound>| matches!(bound, Some(ast::Bound::Token { .. }));
        let has_steps =
            !select.order.is_empty() || is_token(&select.limit) || is_token(&select.offset);
        let mut columns = ScanColumns::Star;
        let mut output = Output { columns: Vec::new(), has_aliases: false, is_flat: false };
        let mut steps = None;
        if has_steps {
            let mut builder = ScanBuilder::default();
            steps = Some(Box::new(self.union_steps(select, &mut builder, &mut output)));
            columns = ScanColumns::List(builder.columns);
        }
        let count = |bound: &Option<ast::Bound>| bound.as_ref().and_then(ast::Bound::count);
        let (limit, offset) = match &steps {
            Some(_) => (None, None),
            None => (count(&select.limit), count(&select.offset)),
        };
        let kind = SourceKind::Union(parts.into());
        let source = Source { name: "the union".into(), alias: None, kind };
        Select {
            scan: scan(source, columns, Vec::new(), delays(&select.delays)),
            join: None,
            joins: None,
            output,
            row_calls: Vec::new(),
            steps,
            limit,
            offset,
            line: self.lines.line(select.span.start),
            assign: None,
        }
    }

    /// The order and the bounds of the whole, whose rows are shown as they are.
    fn union_steps(
        &mut self,
        select: &ast::Select,
        builder: &mut ScanBuilder,
        output: &mut Output,
    ) -> Steps {
        let names = output_places(select);
        let (limit, offset) =
            (self.bound(select.limit.as_ref()), self.bound(select.offset.as_ref()));
        let mut compiler = Compiler::new(self, RowColumns::One { alias: Some(ROW), builder });
        let (side, column) = compiler.rows.row();
        output.columns =
            vec![OutputColumn { alias: None, value: OutputValue::Column { side, column } }];
        output.is_flat = true;
        compiler.outputs =
            names.iter().map(|(name, path)| (*name, OutputName::Path(path))).collect();
        let order = select.order.iter().map(|key| compiler.sort_key(key)).collect();
        let givens = compiler.givens;
        Steps {
            givens,
            pushed: Vec::new(),
            tests: Vec::new(),
            filter: None,
            grouping: None,
            order,
            is_distinct: false,
            limit,
            offset,
        }
    }
}

/// Where the names of the first select are in rows that are no objects.
fn output_places(select: &ast::Select) -> Vec<(&str, ast::Path)> {
    let ast::Columns::List(columns) = &select.columns else { return Vec::new() };
    let has_names = columns
        .iter()
        .any(|column| column.alias.is_some() || matches!(column.value, ast::ColumnValue::Star(_)));
    if has_names {
        return Vec::new();
    }
    let is_bare = select.is_value || columns.len() == 1 && select.sources.len() == 1;
    let place = |index: usize, column: &ast::Column| {
        let row = ast::Segment::Member { name: ROW.to_owned(), is_quoted: false };
        let mut segments = vec![row];
        if !is_bare {
            segments.push(ast::Segment::Index(index as u64));
        }
        ast::Path { segments, span: column.span }
    };
    let named = columns.iter().enumerate().filter_map(|(index, column)| match &column.value {
        ast::ColumnValue::Path(path) => Some((last_name(path)?, place(index, column))),
        _ => None,
    });
    named.collect()
}
