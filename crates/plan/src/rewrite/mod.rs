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

use crate::node::{NodeId, Plan};

pub(crate) use edges::find_cycle;

/// Applies all rules. `top_level` are the first nodes of the top-level statements in text order,
/// without the value.
/// `table_reads` says which node reads which inline table.
pub(crate) fn apply(plan: &mut Plan, top_level: &[NodeId], table_reads: &[(NodeId, usize)]) {
    edges::apply(plan);
    edges::to_creates(plan, table_reads);
    orphans::apply(plan, top_level);
    writers::apply(plan);
    dependents::apply(plan);
}
