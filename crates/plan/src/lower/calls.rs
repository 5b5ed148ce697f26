//! `assert calls <= n` against what is known before anything runs (RET-15).

use qlio_syntax::{
    ast,
    diagnostic::{Diagnostic, codes},
};

use super::Lowering;
use crate::{explain, node::Plan};

impl Lowering<'_> {
    /// Reports that the requests which are known to be possible are more than the script says.
    pub(super) fn refuse_known_calls(&mut self, plan: &Plan, most: ast::Count) {
        let known: Vec<(u32, u64)> = plan
            .nodes
            .iter()
            .filter(|node| node.block.is_none() && node.fallback_of.is_none())
            .map(|node| (node.line, explain::known_requests(node)))
            .filter(|(_, count)| *count > 0)
            .collect();
        let total = known.iter().fold(0_u64, |total, (_, count)| total.saturating_add(*count));
        if total <= most.value {
            return;
        }
        let message = format!(
            "the script may make {total} requests, and says that there are {} at most",
            most.value
        );
        let shown = known.iter().take(LINES_SHOWN_MAX);
        let lines: Vec<_> = shown.map(|(line, count)| format!("line {line}: {count}")).collect();
        let more = if known.len() > LINES_SHOWN_MAX { ", …" } else { "" };
        let problem = Diagnostic::error(codes::TOO_MANY_CALLS, most.span, message)
            .note(format!("{}{more}", lines.join(", ")));
        self.problems.push(problem);
    }
}

/// Lines that one message lists.
const LINES_SHOWN_MAX: usize = 8;
