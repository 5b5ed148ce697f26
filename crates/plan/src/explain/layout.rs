//! Plans with places, for clients that draw them while they run (`docs/reference/websocket.md`).
//!
//! Two pictures of one plan: rows, one for each statement in the order in which they can start, with the depth
//! before the run as the column; and boxes, as the SVG has them, for plans small enough. Both are linear in the
//! plan, so a client never computes a layout.

use qlio_data::{Object, Value};

use super::{EdgeKind, Explanation, json, svg, text};

impl Explanation {
    /// The fewest requests of a run in which every statement runs: one for each table that is asked.
    pub fn requests_least(&self) -> usize {
        let positions = self.rounds.iter().flatten();
        let tables = positions.flat_map(|position| &self.nodes[*position].tables);
        tables.filter(|table| !table.starts_with('{')).count()
    }

    /// The order of rows, with the depth of each: levels one after the other, alternatives below their first one,
    /// and `return` last.
    fn rows(&self) -> Vec<(usize, usize)> {
        let edges = self.edges_by_node();
        let mut rows = Vec::with_capacity(self.nodes.len());
        for (depth, level) in self.levels.iter().enumerate() {
            for first in level {
                let mut next = Some(*first);
                while let Some(position) = next {
                    rows.push((position, depth));
                    let fallback =
                        edges[position].iter().find(|edge| edge.kind == EdgeKind::Fallback);
                    next = fallback.map(|edge| edge.to);
                }
            }
        }
        rows.push((self.nodes.len() - 1, self.levels.len()));
        rows
    }
}

/// The plan as [`super::to_json`] has it, with labels and places, the levels and the rounds of requests, and in
/// words what the time of a run is made of.
pub fn to_layout(explanation: &Explanation) -> Object {
    let mut places = vec![(0, 0); explanation.nodes.len()];
    for (row, (position, depth)) in explanation.rows().into_iter().enumerate() {
        places[position] = (row, depth);
    }
    let picture = svg::place_nodes(explanation, None);
    let nodes = explanation.nodes.iter().enumerate().map(|(position, node)| {
        let mut object = json::node(explanation, None, position);
        let (row, depth) = places[position];
        object.insert("label", Value::from(node.label()));
        object.insert("row", Value::from(row as u64));
        object.insert("depth", Value::from(depth as u64));
        object.insert("box", Value::object(picture.rectangle(position)));
        if node.stands_in {
            object.insert("standsIn", Value::Bool(true));
        }
        Value::object(object)
    });
    let named = |positions: &Vec<usize>| -> Value {
        positions.iter().map(|at| Value::from(explanation.nodes[*at].id.as_str())).collect()
    };
    let [width, height] = picture.size.map(|side| Value::from(side as u64));
    let size: Object = [("width", width), ("height", height)].into_iter().collect();
    [
        ("version", Value::int(1)),
        ("nodes", nodes.collect()),
        ("edges", json::edges(explanation)),
        ("levels", explanation.levels.iter().map(named).collect()),
        ("rounds", explanation.rounds.iter().map(named).collect()),
        ("summary", Value::from(text::total(explanation))),
        ("size", Value::object(size)),
    ]
    .into_iter()
    .collect()
}
