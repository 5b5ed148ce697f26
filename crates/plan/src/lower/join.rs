//! Joins: one statement split into two scans and the equalities between them (JOI-6).

use qlio_syntax::ast::{self, VerbKind};

use super::{
    Lowering,
    condition::{delays, strip_alias},
    path_text,
    program::RowColumns,
    select::{ScanBuilder, needs_steps, own_bounds, scan, side_of},
};
use crate::operator::{Condition, Join, JoinKey, RowArgument, ScanColumns, Select, Side};

/// The two halves while their columns are collected.
pub(super) struct Halves<'a> {
    pub(super) main_alias: &'a str,
    pub(super) joined_alias: &'a str,
    pub(super) main: ScanBuilder,
    joined: ScanBuilder,
}

impl Halves<'_> {
    /// Adds a prefixed column to its half. The checks of `syntax` have refused unknown prefixes.
    pub(super) fn column(
        &mut self,
        lowering: &mut Lowering<'_>,
        path: &ast::Path,
    ) -> (Side, usize) {
        match side_of(path, self.main_alias, self.joined_alias) {
            Some(Side::Joined) => {
                (Side::Joined, lowering.column(path, Some(self.joined_alias), &mut self.joined))
            }
            _ => (Side::Main, lowering.column(path, Some(self.main_alias), &mut self.main)),
        }
    }

    /// Adds a prefixed column that holds all matches, as filters see them.
    pub(super) fn key(&mut self, lowering: &mut Lowering<'_>, path: &ast::Path) -> (Side, usize) {
        match side_of(path, self.main_alias, self.joined_alias) {
            Some(Side::Joined) => {
                let alias = Some(self.joined_alias);
                (Side::Joined, lowering.key_column(path, alias, &mut self.joined))
            }
            _ => (Side::Main, lowering.key_column(path, Some(self.main_alias), &mut self.main)),
        }
    }

    fn argument(&mut self, lowering: &mut Lowering<'_>, path: &ast::Path) -> RowArgument {
        let (side, column) = self.column(lowering, path);
        RowArgument::Column { side, column }
    }
}

impl Lowering<'_> {
    pub(super) fn join(
        &mut self,
        select: &ast::Select,
        main: &ast::Source,
        joined: &ast::Source,
    ) -> Select {
        let alias = |source: &ast::Source| {
            source.alias.as_ref().map(|alias| alias.text.clone()).unwrap_or_default()
        };
        let (main_alias, joined_alias) = (alias(main), alias(joined));
        let mut halves = Halves {
            main_alias: &main_alias,
            joined_alias: &joined_alias,
            main: ScanBuilder::default(),
            joined: ScanBuilder::default(),
        };
        let mut output = self.plain_output(select, |lowering, path| halves.column(lowering, path));
        let mut keys = Vec::new();
        let mut main_conditions: Vec<Condition> = Vec::new();
        let mut joined_conditions = Vec::new();
        let (mut main_written, mut joined_written) = (Vec::new(), Vec::new());
        let mut row_calls = Vec::new();
        let mut tests = Vec::new();
        for condition in &select.conditions {
            match condition {
                ast::Condition::Test(_) => tests.push(condition),
                ast::Condition::Call(call) => {
                    row_calls.push(
                        self.row_call(call, |lowering, path| halves.argument(lowering, path)),
                    );
                }
                ast::Condition::Equals {
                    path,
                    operand: ast::Operand { kind: ast::OperandKind::Path(right), .. },
                    ..
                } if side_of(right, &main_alias, &joined_alias).is_some() => {
                    keys.push(self.join_key(path, right, &mut halves));
                }
                _ => match condition_side(condition, &main_alias, &joined_alias) {
                    Side::Main | Side::Further(_) => {
                        main_conditions.extend(self.condition(condition, main));
                        main_written.push(condition);
                    }
                    Side::Joined => {
                        joined_conditions.extend(self.condition(condition, joined));
                        joined_written.push(condition);
                    }
                },
            }
        }
        let steps = needs_steps(select, None).then(|| {
            let rows = RowColumns::Two(&mut halves);
            self.steps(select, (&tests, &[]), rows, &mut output)
        });
        let (limit, offset) = own_bounds(select, steps.as_ref(), &tests);
        let delays = delays(&select.delays);
        let main_columns = ScanColumns::List(halves.main.columns);
        let joined_columns = ScanColumns::List(halves.joined.columns);
        let main_source = self.source(main);
        let joined_source = self.source(joined);
        self.warn_unused_parameters(main_written.into_iter(), main, VerbKind::Select);
        self.warn_unused_parameters(joined_written.into_iter(), joined, VerbKind::Select);
        let sides = [(main, &main_source), (joined, &joined_source)];
        let tables = sides.map(|(written, lowered)| lowered.table().map(|_| written));
        self.warn_tested_parameters(select, &tables.into_iter().flatten().collect::<Vec<_>>());
        let own: Vec<&str> = main_conditions.iter().map(|condition| &*condition.name).collect();
        self.warn_unfilled_tokens(&main_source, &main.name, VerbKind::Select, &own);
        let own = joined_conditions.iter().map(|condition: &Condition| &*condition.name);
        let own: Vec<&str> =
            own.chain(keys.iter().map(|key: &JoinKey| &*key.joined_name)).collect();
        self.warn_unfilled_tokens(&joined_source, &joined.name, VerbKind::Select, &own);
        Select {
            scan: scan(main_source, main_columns, main_conditions, delays),
            join: Some(Join {
                scan: scan(joined_source, joined_columns, joined_conditions, delays),
                keys,
            }),
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

    /// The two sides of `a.x = b.y`, in either order.
    fn join_key(
        &mut self,
        left: &ast::Path,
        right: &ast::Path,
        halves: &mut Halves<'_>,
    ) -> JoinKey {
        let (main, joined) = match side_of(left, halves.main_alias, halves.joined_alias) {
            Some(Side::Joined) => (right, left),
            _ => (left, right),
        };
        let (_, main_column) = halves.column(self, main);
        let joined_column = self.key_column(joined, Some(halves.joined_alias), &mut halves.joined);
        let joined_path = strip_alias(joined, Some(halves.joined_alias));
        JoinKey { main_column, joined_column, joined_name: path_text(&joined_path).into() }
    }
}

fn condition_side(condition: &ast::Condition, main: &str, joined: &str) -> Side {
    let Some(path) = condition.path() else { return Side::Main };
    side_of(path, main, joined).unwrap_or(Side::Main)
}
