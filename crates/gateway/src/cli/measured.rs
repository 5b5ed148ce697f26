//! Measurements of a script's nodes: by running it, or by an earlier run's packets
//! (`docs/reference/plan.md`).

use std::{cell::RefCell, collections::HashMap, time::Duration};

use anyhow::{Context, anyhow};
use qlio_data::{Value, codec::json};
use qlio_engine::event::Event;
use qlio_plan::explain::{ExplainedNode, Measured};

/// Collects what a run tells of its nodes.
#[derive(Default)]
pub(super) struct Collected {
    nodes: RefCell<HashMap<u32, Measured>>,
    /// Node and URI of each request without an answer.
    asked: RefCell<HashMap<String, (u32, String)>>,
}

impl Collected {
    /// Takes an event of the engine.
    pub(super) fn take(&self, event: &Event<'_>) {
        let mut nodes = self.nodes.borrow_mut();
        match event {
            // Which catch of a `try` is taken takes no time.
            Event::Ended { place, elapsed, .. } if place.catch.is_none() => {
                let measured = nodes.entry(place.statement).or_default();
                (measured.elapsed, measured.rows) = (*elapsed, event.rows());
            }
            Event::Request(request) => {
                if let Some(statement) = request.place.map(|place| place.statement) {
                    nodes.entry(statement).or_default().requests += 1;
                    let asked = (statement, request.uri.to_owned());
                    self.asked.borrow_mut().insert(request.id.to_owned(), asked);
                }
            }
            Event::Answer(answer) => {
                if let Some((statement, uri)) = self.asked.borrow_mut().remove(answer.id) {
                    note_slowest(nodes.entry(statement).or_default(), uri, answer.elapsed);
                }
            }
            _ => {}
        }
    }

    /// The measurements by position of the node.
    pub(super) fn into_nodes(self, count: usize) -> Vec<Option<Measured>> {
        let mut nodes = self.nodes.into_inner();
        (0..count).map(|position| nodes.remove(&u32::try_from(position).ok()?)).collect()
    }
}

fn note_slowest(measured: &mut Measured, uri: String, elapsed: Duration) {
    if measured.slowest.as_ref().is_none_or(|(_, known)| *known < elapsed) {
        measured.slowest = Some((uri, elapsed));
    }
}

/// Reads saved packets: a list of them, as the header `Link` holds it, or of whole WebSocket messages. Those that
/// know their line only go to the nodes of that line in their order.
///
/// # Errors
/// The text is no such list.
pub(super) fn of_packets(
    text: &str,
    nodes: &[ExplainedNode],
) -> anyhow::Result<Vec<Option<Measured>>> {
    let packets = json::parse_str(text)
        .map_err(|error| anyhow!("invalid JSON at byte {}: {}", error.offset, error.reason))?;
    let packets = packets.elements().context("a trace is a list of packets")?;
    let mut measured: Vec<Option<Measured>> = vec![None; nodes.len()];
    let mut by_line: HashMap<u32, Vec<usize>> = HashMap::new();
    for (position, node) in nodes.iter().enumerate().rev().filter(|(_, node)| node.kind != "return")
    {
        by_line.entry(node.line).or_default().push(position);
    }
    let mut exchanges = Collected::default();
    for packet in packets.iter() {
        let inner = packet.member("data");
        let packet = if inner.is_object() { &inner } else { packet };
        if packet.member("branch").as_str().is_some() {
            continue;
        }
        let named = packet.member("node");
        let named = named.as_str().and_then(|id| nodes.iter().position(|node| node.id == id));
        let line = number(packet, "line").and_then(|line| u32::try_from(line).ok());
        let line = named.map(|position| nodes[position].line).or(line);
        let Some(line) = line else { continue };
        let kind = packet.member("type");
        match kind.as_str().unwrap_or_default() {
            "statement-success" | "statement-error" => {
                let by_order = || by_line.get_mut(&line).and_then(Vec::pop);
                if let Some(position) = named.or_else(by_order) {
                    let elapsed = number(packet, "elapsed").unwrap_or_default();
                    let measured = measured[position].get_or_insert_default();
                    measured.elapsed = Duration::from_millis(elapsed);
                    measured.rows = number(packet, "rows");
                }
            }
            "statement-request" => exchanges.ask(line, packet),
            "statement-response" => exchanges.answer(packet),
            _ => {}
        }
    }
    let mut exchanges = std::mem::take(&mut exchanges.nodes).into_inner();
    for (position, node) in nodes.iter().enumerate() {
        if let Some(found) = measured[position].as_mut().filter(|_| node.is_remote())
            && let Some(exchange) = exchanges.remove(&node.line)
        {
            (found.requests, found.slowest) = (exchange.requests, exchange.slowest);
        }
    }
    Ok(measured)
}

impl Collected {
    fn ask(&self, line: u32, packet: &Value) {
        let (id, uri) = (packet.member("id"), packet.member("uri"));
        if let (Some(id), Some(uri)) = (id.as_str(), uri.as_str()) {
            self.nodes.borrow_mut().entry(line).or_default().requests += 1;
            self.asked.borrow_mut().insert(id.to_owned(), (line, uri.to_owned()));
        }
    }

    fn answer(&self, packet: &Value) {
        let id = packet.member("id");
        let Some((line, uri)) = id.as_str().and_then(|id| self.asked.borrow_mut().remove(id))
        else {
            return;
        };
        let elapsed = Duration::from_millis(number(packet, "time").unwrap_or_default());
        note_slowest(self.nodes.borrow_mut().entry(line).or_default(), uri, elapsed);
    }
}

/// A member that is a whole number.
fn number(packet: &Value, name: &str) -> Option<u64> {
    match packet.member(name) {
        Value::Number(number) => u64::try_from(number.as_i64()?).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(line: u32, kind: &'static str) -> ExplainedNode {
        ExplainedNode {
            id: format!("n{line}"),
            line,
            kind,
            assign: None,
            tables: vec!["t".to_owned()],
            fallback_of: None,
            scope: None,
            requires: Vec::new(),
            timeout_ms: None,
            readings: Vec::new(),
            sources: Vec::new(),
            stands_in: false,
            status: None,
        }
    }

    #[test]
    fn packets_find_their_nodes_by_line_and_order() {
        let nodes = [node(1, "define"), node(1, "select"), node(2, "define"), node(2, "return")];
        let text = r#"[{"type":"ack","data":"Got it"},
            {"line":1,"type":"statement-success","elapsed":2},
            {"line":1,"type":"statement-request","id":"a","uri":"http://h/1"},
            {"line":1,"type":"statement-request","id":"b","uri":"http://h/2"},
            {"line":1,"type":"statement-response","id":"a","time":9},
            {"line":1,"type":"statement-response","id":"b","time":7},
            {"type":"statement-error","data":{"line":1,"type":"statement-error","elapsed":11}},
            {"line":2,"type":"statement-success","elapsed":1,"rows":4}, 5, null]"#;
        let measured = of_packets(text, &nodes).expect("a list");
        let elapsed: Vec<_> = measured
            .iter()
            .map(|node| node.as_ref().map(|node| node.elapsed.as_millis()))
            .collect();
        assert_eq!(elapsed, [Some(2), Some(11), Some(1), None]);
        assert_eq!(measured[2].as_ref().and_then(|node| node.rows), Some(4));
        let select = measured[1].as_ref().expect("measured");
        assert_eq!(select.requests, 2);
        let slowest = Some(("http://h/1".to_owned(), Duration::from_millis(9)));
        assert_eq!(select.slowest, slowest);
        assert!(of_packets("{}", &nodes).is_err() && of_packets("[", &nodes).is_err());
    }
}
