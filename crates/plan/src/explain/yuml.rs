//! Plans in the flat text of the original's picture: `[4]->[2],[2]->[1],` (`docs/reference/plan.md`).

use std::{
    collections::{HashMap, HashSet},
    fmt::Write,
};

use super::{Edge, EdgeKind, Explanation};

/// Colours of blocks, taken in turn.
const COLOURS: [&str; 6] = ["red", "yellow", "blue", "green", "purple", "brown"];

/// Prints each edge once, followed by a comma; an edge is followed by those of the node that it leads to.
/// Nodes are their lines, the second of a line is `3.2`; what stands for a missing `return` is `return`. A value that needs nothing stands alone.
pub fn to_yuml(explanation: &Explanation) -> String {
    let edges = explanation.edges_by_node();
    let names = names(explanation);
    let mut writer = Writer { explanation, names, blocks: HashMap::new(), written: HashSet::new() };
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
    if let ([.., value, _], true) = (writer.names.as_slice(), out.is_empty()) {
        // Writing to a string cannot fail.
        let _ = write!(out, "[{value}],");
    }
    out
}

/// Lines, told apart where several nodes stand on one.
fn names(explanation: &Explanation) -> Vec<String> {
    let mut counts: HashMap<u32, usize> = HashMap::new();
    let name = |node: &super::ExplainedNode| {
        if node.stands_in {
            return "return".to_owned();
        }
        let count = counts.entry(node.line).or_default();
        *count += 1;
        match *count {
            1 => node.line.to_string(),
            count => format!("{}.{count}", node.line),
        }
    };
    explanation.nodes.iter().map(name).collect()
}

struct Writer<'a> {
    explanation: &'a Explanation,
    names: Vec<String>,
    /// Numbers of the blocks met so far.
    blocks: HashMap<usize, usize>,
    /// A statement may need another one for more than one reason that looks alike.
    written: HashSet<String>,
}

impl Writer<'_> {
    fn edge(&mut self, edge: &Edge, out: &mut String) {
        if self.explanation.nodes[edge.from].kind == "return" {
            return;
        }
        let (from, to) = (&self.names[edge.from], &self.names[edge.to]);
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
