//! Plans as clients over WebSocket are told of them (WSK-14): as data with places, or as a picture.

use qlio_data::{Object, Value, percent};
use qlio_engine::event::EventKind;
use qlio_plan::{Plan, explain};

use crate::http::packet::Packet;

/// What of a node tells how tables are declared.
const OF_TABLES: [&str; 3] = ["sources", "readings", "requires"];

/// The form of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drawing {
    /// JSON, with places for those who draw it.
    Plan,
    /// The address of a picture, which holds the picture itself.
    Picture,
}

/// What is said of a plan beside what it holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlanLimits {
    /// The most requests of one statement.
    pub(super) per_statement: u64,
    /// Whether the client may know how tables are declared.
    pub(super) tells_tables: bool,
}

impl Drawing {
    /// The packet of a plan.
    pub(super) fn draw(self, plan: &Plan, limits: PlanLimits) -> Packet {
        let explanation = explain::explain(plan);
        match self {
            Self::Plan => {
                let mut data = explain::to_layout(&explanation);
                if !limits.tells_tables {
                    hide_tables(&mut data);
                }
                let least = Value::from(explanation.requests_least() as u64);
                let requests = [("least", least), ("perStatement", limits.per_statement.into())];
                data.insert("requests", Value::object(requests.into_iter().collect()));
                data.insert("type", Value::from(EventKind::Plan.name()));
                Packet { name: EventKind::Plan.name().into(), data: Value::object(data) }
            }
            Self::Picture => {
                let picture = percent::encode(&explain::to_svg(&explanation, None));
                let address = Value::from(format!("data:image/svg+xml,{picture}"));
                Packet { name: EventKind::Visualization.name().into(), data: address }
            }
        }
    }
}

fn hide_tables(plan: &mut Object) {
    let nodes = plan.get("nodes").and_then(|nodes| Some(nodes.elements()?.into_owned()));
    let nodes = nodes.unwrap_or_default().into_iter().map(|node| match node {
        Value::Object(members) => {
            let mut members = Object::clone(&members);
            for name in OF_TABLES {
                members.remove(name);
            }
            Value::object(members)
        }
        node => node,
    });
    let nodes = nodes.collect();
    plan.insert("nodes", nodes);
}

#[cfg(test)]
mod tests {
    use qlio_data::codec::json;

    use super::*;

    #[test]
    fn what_tables_declare_is_left_out_of_a_plan() {
        let node = r#"{"id":"n1","sources":[{"table":"t"}],"readings":[],"requires":["{a}"]}"#;
        let plan = json::parse_str(&format!(r#"{{"version":1,"nodes":[{node}]}}"#)).expect("JSON");
        let Value::Object(members) = plan.into_tree() else { panic!("an object") };
        let mut members = Object::clone(&members);
        hide_tables(&mut members);
        let text = json::to_string(&Value::object(members));
        assert_eq!(text, r#"{"version":1,"nodes":[{"id":"n1"}]}"#);
    }
}
