//! Groups of rows and what is computed of them.
//!
//! Programs of keys and arguments read columns of the rows. Those behind the groups, of `having`, of the
//! output and of the order, read the columns of groups: first the keys, then the aggregates.

use qlio_data::compute::aggregate::Aggregate;

use super::{Place, Program, SortKey};

/// How rows become groups.
#[derive(Debug)]
pub struct Grouping {
    /// Rows that are identical in all of them are one group. Without any, all rows are one, also none.
    pub keys: Vec<Program>,
    /// What is computed of the rows of each group.
    pub aggregates: Vec<AggregateCall>,
    /// Groups are kept if it is truthy.
    pub having: Option<Program>,
}

/// An aggregate and the values it is given.
#[derive(Debug)]
pub struct AggregateCall {
    /// What is computed.
    pub aggregate: Aggregate,
    /// Its arguments; `count(*)` has none.
    pub arguments: Vec<Program>,
    /// The same arguments count once.
    pub is_distinct: bool,
    /// The order in which it is given them.
    pub order: Vec<SortKey>,
    /// It is given so many at most.
    pub limit: Option<u64>,
    /// It is given only what comes from rows for which this is truthy.
    pub filter: Option<Program>,
    /// It stands inside of `try`: what cannot be computed is null.
    pub is_guarded: bool,
    /// What errors say of it.
    pub place: Place,
}

impl Grouping {
    /// About how much work a row is, in operations.
    pub fn units(&self) -> usize {
        let of =
            |programs: &[Program]| programs.iter().map(|it| it.operations.len()).sum::<usize>();
        let of_call = |call: &AggregateCall| {
            let order: usize = call.order.iter().map(|key| key.program.operations.len()).sum();
            let filter = call.filter.as_ref().map_or(0, |filter| filter.operations.len());
            1 + of(&call.arguments) + order + filter
        };
        of(&self.keys) + self.aggregates.iter().map(of_call).sum::<usize>()
    }
}
