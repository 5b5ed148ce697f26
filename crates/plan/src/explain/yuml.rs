//! Plans in the flat text of the original's picture: `[4]->[2],[2]->[1],` (`server.md` 4.2).

use std::fmt::Write;

use super::{EdgeKind, Explanation};

/// Colours of blocks, taken in turn.
const COLOURS: [&str; 6] = ["red", "yellow", "blue", "green", "purple", "brown"];

/// Prints one edge per pair of lines, each followed by a comma.
pub fn to_yuml(explanation: &Explanation) -> String {
    let mut blocks: Vec<usize> = Vec::new();
    let mut out = String::new();
    for edge in &explanation.edges {
        let (from, to) = (&explanation.nodes[edge.from], &explanation.nodes[edge.to]);
        if from.kind == "return" {
            continue;
        }
        // Writing to a string cannot fail.
        let _ = match edge.kind {
            EdgeKind::Dependency | EdgeKind::Orphan => {
                write!(out, "[{}]->[{}],", from.line, to.line)
            }
            EdgeKind::Fallback => write!(out, "[{}]->[note:{}],", from.line, to.line),
            EdgeKind::Scope(_) => {
                let number =
                    blocks.iter().position(|block| *block == edge.to).unwrap_or_else(|| {
                        blocks.push(edge.to);
                        blocks.len() - 1
                    });
                let colour = COLOURS[number % COLOURS.len()];
                let branch = edge.kind.as_str().trim_start_matches("scope-");
                write!(out, "[{}{{bg:{colour}}}]-{branch}>[{}{{bg:{colour}}}],", to.line, from.line)
            }
        };
    }
    out
}
