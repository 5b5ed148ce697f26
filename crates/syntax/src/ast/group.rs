//! Groups, what is computed of them, and selects that are put together.
//!
//! Source: GRP-1 to GRP-14, UNI-1 to UNI-6.

use super::{Count, Expression, Select, SortKey};
use crate::source::Span;

/// `group by …`.
#[derive(Debug, Clone, PartialEq)]
pub struct Grouping {
    /// What rows of one group have in common.
    pub keys: GroupKeys,
    /// From `group` to the last key.
    pub span: Span,
}

/// What stands behind `group by`.
#[derive(Debug, Clone, PartialEq)]
pub enum GroupKeys {
    /// `all`: everything that is selected and has no aggregate in it.
    All(Span),
    /// Expressions; never empty.
    List(Vec<Expression>),
}

/// `sum(x)`, `count(distinct x) filter (where y)`: a value of all rows of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct AggregateCall {
    /// Its name, one of [`crate::functions::AGGREGATE_NAMES`].
    pub name: &'static str,
    /// Where the name stands.
    pub name_span: Span,
    /// Each value counts once.
    pub is_distinct: bool,
    /// What it is given; `count(*)` has none.
    pub arguments: Vec<Expression>,
    /// `order by` inside of the parentheses; empty without.
    pub order: Vec<SortKey>,
    /// `limit` inside of the parentheses.
    pub limit: Option<Count>,
    /// `filter (where …)`: only rows for which it holds.
    pub filter: Option<Expression>,
}

impl AggregateCall {
    /// Calls `visit` with every expression directly inside.
    pub fn each_child<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        self.arguments.iter().for_each(&mut *visit);
        self.order.iter().for_each(|key| visit(&key.value));
        self.filter.iter().for_each(visit);
    }
}

/// `union [all] select …`: a further select, without order, bounds and delays, which are those of the whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Unioned {
    /// Rows that are there already are added as well.
    pub is_all: bool,
    /// What gives the rows.
    pub select: Select,
}
