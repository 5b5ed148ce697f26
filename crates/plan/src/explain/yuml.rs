//! Plans in the flat text of the original's picture: `[4]->[2],[2]->[1],` (`server.md` 4.2).

use std::{
    collections::{HashMap, HashSet},
    fmt::Write,
};

use super::{Edge, EdgeKind, Explanation};

/// Colours of blocks, taken in turn.
const COLOURS: [&str; 6] = ["red", "yellow", "blue", "green", "purple", "brown"];

/// Prints each edge between two lines once, followed by a comma; an edge is followed by those of the
/// node that it leads to.
pub fn to_yuml(explanation: &Explanation) -> String {
    let edges = explanation.edges_by_node();
    let mut writer = Writer { explanation, blocks: HashMap::new(), written: HashSet::new() };
    let mut out = String::new();
    let mut is_open = vec![false; edges.len()];
    for start in (0..edges.len()).rev() {
        if std::mem::replace(&mut is_open[start], true) {
            continue;
        }
        let mut path = vec![edges[start].iter()];
        while let Some(rest) = path.last_mut() {
            let Some(edge) = rest.next() else {
                path.pop();
                continue;
            };
            writer.edge(edge, &mut out);
            if !std::mem::replace(&mut is_open[edge.to], true) {
                path.push(edges[edge.to].iter());
            }
        }
    }
    out
}

struct Writer<'a> {
    explanation: &'a Explanation,
    /// Numbers of the blocks met so far.
    blocks: HashMap<usize, usize>,
    /// Nodes are only lines here, so different edges may look alike.
    written: HashSet<String>,
}

impl Writer<'_> {
    fn edge(&mut self, edge: &Edge, out: &mut String) {
        let nodes = &self.explanation.nodes;
        let (from, to) = (&nodes[edge.from], &nodes[edge.to]);
        if from.kind == "return" {
            return;
        }
        let (from, to) = (from.line, to.line);
        let text = match edge.kind {
            EdgeKind::Dependency | EdgeKind::Orphan => format!("[{from}]->[{to}]"),
            EdgeKind::Fallback => format!("[{from}]->[note:{to}]"),
            EdgeKind::Scope(_) => {
                let next = self.blocks.len();
                let number = *self.blocks.entry(edge.to).or_insert(next);
                let colour = COLOURS[number % COLOURS.len()];
                let branch = edge.kind.as_str().trim_start_matches("scope-");
                format!("[{to}{{bg:{colour}}}]-{branch}>[{from}{{bg:{colour}}}]")
            }
        };
        if !self.written.contains(&text) {
            // Writing to a string cannot fail.
            let _ = write!(out, "{text},");
            self.written.insert(text);
        }
    }
}
