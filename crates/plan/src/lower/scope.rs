//! The sources of a select while it is lowered, and those of the selects around it: what a path means.

use qlio_syntax::ast;

use super::{Lowering, mentions::begins_with, path_text, select::ScanBuilder};
use crate::operator::{Given, Nested, NestedManner, Operation, Select, Side, Stage};

/// The sources of one select.
#[derive(Default)]
pub(super) struct Scope {
    pub(super) parts: Vec<Part>,
    /// The columns of the rows around that are read.
    pub(super) around: Vec<(Side, usize)>,
    /// The sub-selects that depend on the row, and where each stands in the text.
    pub(super) nested: Vec<(Nested, u32)>,
    /// The values that are the same for all rows.
    pub(super) givens: Vec<Given>,
    /// The step whose expressions are being compiled.
    pub(super) stage: Option<Stage>,
}

/// One source.
pub(super) struct Part {
    pub(super) alias: Option<String>,
    pub(super) builder: ScanBuilder,
    /// A list in rows, whose elements need not be objects.
    pub(super) is_elements: bool,
}

impl Scope {
    /// The source that a path names by its alias.
    pub(super) fn place_of(&self, path: &ast::Path) -> Option<usize> {
        self.parts
            .iter()
            .position(|part| part.alias.as_ref().is_some_and(|alias| begins_with(path, alias)))
    }
}

/// What a column shows of a path with several matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Matches {
    /// One match is itself.
    Value,
    /// The list of all, as filters see them.
    Key,
}

impl Lowering<'_> {
    pub(super) fn scope(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("a select with sources is being lowered")
    }

    /// What is compiled from now on belongs to a step.
    pub(super) fn enter_stage(&mut self, stage: Option<Stage>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.stage = stage;
        }
    }

    /// Whether a path begins with the alias of a source of this select, or of one around it.
    pub(super) fn is_visible(&self, path: &ast::Path) -> bool {
        self.scopes.iter().any(|scope| scope.place_of(path).is_some())
    }

    /// Whether a path is a column of a select around the one that is being lowered.
    pub(super) fn is_around(&self, path: &ast::Path) -> bool {
        let Some((own, around)) = self.scopes.split_last() else { return false };
        own.place_of(path).is_none() && around.iter().any(|scope| scope.place_of(path).is_some())
    }

    /// The own source that a path belongs to.
    pub(super) fn source_of(&self, path: &ast::Path) -> Option<usize> {
        let own = self.scopes.last()?;
        match own.place_of(path) {
            Some(place) => Some(place),
            None if self.is_around(path) => None,
            // A bare word is a column of the only source.
            None => (own.parts.len() == 1).then_some(0),
        }
    }

    /// The column that a path means.
    pub(super) fn scoped_column(&mut self, path: &ast::Path, matches: Matches) -> (Side, usize) {
        let depth = self.scopes.len() - 1;
        self.column_at(depth, path, matches)
    }

    /// The column of a path that stands alone in the output: of one plain source, its alias is a member of
    /// its rows (JOI-19).
    pub(super) fn shown_column(&mut self, path: &ast::Path) -> (Side, usize) {
        let scope = self.scope();
        if let [part] = scope.parts.as_mut_slice()
            && !part.is_elements
            && part.alias.as_ref().is_some_and(|alias| path_text(path) == *alias)
        {
            let mut builder = std::mem::take(&mut part.builder);
            let column = self.column(path, None, &mut builder);
            self.scope().parts[0].builder = builder;
            return (Side::Main, column);
        }
        self.scoped_column(path, Matches::Value)
    }

    fn column_at(&mut self, depth: usize, path: &ast::Path, matches: Matches) -> (Side, usize) {
        let own = self.scopes[depth].place_of(path);
        let is_around = || (0..depth).any(|outer| self.scopes[outer].place_of(path).is_some());
        if own.is_none() && is_around() {
            let outer = self.column_at(depth - 1, path, matches);
            let scope = &mut self.scopes[depth];
            let side = Side::at(scope.parts.len());
            let known = scope.around.iter().position(|column| *column == outer);
            let column = known.unwrap_or_else(|| {
                scope.around.push(outer);
                scope.around.len() - 1
            });
            return (side, column);
        }
        // The checks of `syntax` have refused words without a source.
        let place = own.unwrap_or(0);
        let part = &mut self.scopes[depth].parts[place];
        let mut builder = std::mem::take(&mut part.builder);
        let alias = part.alias.clone();
        let alias = alias.as_deref();
        let is_row = alias.is_some_and(|alias| path_text(path) == alias);
        let column = match (is_row, matches) {
            (true, Matches::Value) => builder.row(),
            (true, Matches::Key) => builder.row_key(),
            (false, Matches::Value) => self.column(path, alias, &mut builder),
            (false, Matches::Key) => self.key_column(path, alias, &mut builder),
        };
        self.scopes[depth].parts[place].builder = builder;
        (Side::at(place), column)
    }

    /// The column that is a row as a whole.
    pub(super) fn row_column(&mut self, place: usize) -> (Side, usize) {
        let column = self.scope().parts[place].builder.row();
        (Side::at(place), column)
    }

    /// A select inside of an expression: a value that is the same for all rows, or a column that is made for
    /// them.
    pub(super) fn nested(&mut self, select: &ast::Select, manner: NestedManner) -> NestedValue {
        let aliases: Vec<String> = self.aliases();
        let aliases: Vec<&str> = aliases.iter().map(String::as_str).collect();
        if !super::mentions::names_one_of(select, &aliases) {
            let select = self.apart(select);
            return NestedValue::Given(Given::Select(Box::new(select), manner));
        }
        let Some(stage) = self.scope().stage.filter(|_| select.unions.is_empty()) else {
            return NestedValue::Refused;
        };
        let at = select.span.start;
        let known = self.scope().nested.iter().position(|(_, start)| *start == at);
        if let Some(place) = known {
            let nested = &mut self.scope().nested[place].0;
            nested.stage = nested.stage.min(stage);
            return NestedValue::Column(self.nested_operation(place));
        }
        let select = self.select_sources(select);
        self.scope().nested.push((Nested { select, manner, stage }, at));
        let place = self.scope().nested.len() - 1;
        NestedValue::Column(self.nested_operation(place))
    }

    /// A select that sees no rows around it.
    pub(super) fn apart(&mut self, select: &ast::Select) -> Select {
        let scopes = std::mem::take(&mut self.scopes);
        let select = self.select(select);
        self.scopes = scopes;
        select
    }

    /// The aliases of this select and of those around it.
    pub(super) fn aliases(&self) -> Vec<String> {
        let parts = self.scopes.iter().flat_map(|scope| &scope.parts);
        parts.filter_map(|part| part.alias.clone()).collect()
    }

    fn nested_operation(&mut self, place: usize) -> Operation {
        let sources = self.scope().parts.len();
        Operation::Column(Side::at(sources + 1 + place), 0)
    }
}

/// What a select inside of an expression has become.
pub(super) enum NestedValue {
    /// A value that is computed once.
    Given(Given),
    /// A column.
    Column(Operation),
    /// It stands where it cannot.
    Refused,
}
