//! Rules that finish a plan, one per file, applied in this order:
//!
//! 1. [`edges`]: what a node reads becomes an edge to the node that binds it, or that
//!    creates it if it is a table.
//! 2. [`orphans`]: statements nobody needs are demanded by the value. It comes before the next rule,
//!    because a write is not needed by the write that follows it.
//! 3. [`writers`]: writes to the same variable happen in text order.
//! 4. [`dependents`]: the reverse edges, so that a finished node finds who waits for it.
//!
//! A rule looks at the whole plan and changes only what its header says.

mod dependents;
mod edges;
mod orphans;
mod writers;

use crate::node::{NodeId, Plan, SlotId};

pub(crate) use edges::find_cycle;

/// The references that lowering notes while the nodes they lead to are not yet known.
pub(crate) struct Noted {
    /// The first nodes of the top-level statements in text order, without the value.
    pub(crate) top_level: Vec<NodeId>,
    /// The variables that each node reads, by the node's position.
    pub(crate) reads: Vec<Vec<SlotId>>,
    /// The variables that the catch conditions of a `try` read.
    pub(crate) condition_reads: Vec<(NodeId, Vec<SlotId>)>,
    /// Which node reads which inline table.
    pub(crate) table_reads: Vec<(NodeId, usize)>,
}

/// Applies all rules.
pub(crate) fn apply(plan: &mut Plan, noted: &Noted) {
    edges::to_bindings(plan, noted);
    edges::to_creates(plan, &noted.table_reads);
    orphans::apply(plan, &noted.top_level);
    writers::apply(plan);
    dependents::apply(plan);
}
