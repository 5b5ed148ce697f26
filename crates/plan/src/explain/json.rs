//! Plans as JSON, for tools.

use qlio_data::{Object, Value, codec::json};

use super::Explanation;

/// Prints `{"version":1,"nodes":[…],"edges":[…]}`.
pub fn to_json(explanation: &Explanation) -> String {
    let nodes = explanation.nodes.iter().map(|node| {
        let mut object = Object::new();
        object.insert("id", Value::from(node.id.as_str()));
        object.insert("line", Value::int(i64::from(node.line)));
        object.insert("kind", Value::from(node.kind));
        if let Some(assign) = &node.assign {
            object.insert("assign", Value::from(assign.as_str()));
        }
        if !node.tables.is_empty() {
            object.insert(
                "tables",
                node.tables.iter().map(|table| Value::from(table.as_str())).collect(),
            );
        }
        if let Some(primary) = &node.fallback_of {
            object.insert("fallbackOf", Value::from(primary.as_str()));
        }
        if let Some((block, branch)) = &node.scope {
            let scope: Object =
                [("block", Value::from(block.as_str())), ("branch", Value::from(branch.as_str()))]
                    .into_iter()
                    .collect();
            object.insert("scope", Value::object(scope));
        }
        if !node.requires.is_empty() {
            object.insert(
                "requires",
                node.requires.iter().map(|text| Value::from(text.as_str())).collect(),
            );
        }
        if let Some(timeout) = node.timeout_ms {
            object.insert("timeout", Value::int(i64::try_from(timeout).unwrap_or(i64::MAX)));
        }
        Value::object(object)
    });
    let edges = explanation.edges.iter().map(|edge| {
        let object: Object = [
            ("from", Value::from(explanation.nodes[edge.from].id.as_str())),
            ("to", Value::from(explanation.nodes[edge.to].id.as_str())),
            ("kind", Value::from(edge.kind.as_str())),
        ]
        .into_iter()
        .collect();
        Value::object(object)
    });
    let root: Object =
        [("version", Value::int(1)), ("nodes", nodes.collect()), ("edges", edges.collect())]
            .into_iter()
            .collect();
    json::to_string(&Value::object(root))
}
