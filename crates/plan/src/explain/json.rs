//! Plans as JSON, for tools.

use std::time::Duration;

use qlio_data::{Number, Object, Value, codec::json};

use super::{ExplainedReading, ExplainedSource, Explanation, Latency};

/// Prints `{"version":1,"nodes":[…],"edges":[…]}`; with a measured run nodes have their times in
/// milliseconds, and there is a `latency` with `total` and `criticalPath`.
pub fn to_json(explanation: &Explanation, latency: Option<&Latency>) -> String {
    let nodes = (0..explanation.nodes.len())
        .map(|position| Value::object(node(explanation, latency, position)));
    let mut root: Object =
        [("version", Value::int(1)), ("nodes", nodes.collect()), ("edges", edges(explanation))]
            .into_iter()
            .collect();
    if let Some(latency) = latency {
        let path = latency.critical_path.iter();
        let path = path.map(|position| Value::from(explanation.nodes[*position].id.as_str()));
        let times: Object =
            [("total", milliseconds(latency.total)), ("criticalPath", path.collect())]
                .into_iter()
                .collect();
        root.insert("latency", Value::object(times));
    }
    json::to_string(&Value::object(root))
}

/// One node.
pub(super) fn node(
    explanation: &Explanation,
    latency: Option<&Latency>,
    position: usize,
) -> Object {
    let node = &explanation.nodes[position];
    let mut object = Object::new();
    object.insert("id", Value::from(node.id.as_str()));
    object.insert("line", Value::from(node.line));
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
    if !node.readings.is_empty() {
        object.insert("readings", node.readings.iter().map(reading).collect());
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
        object.insert("timeout", Value::from(timeout));
    }
    if !node.sources.is_empty() {
        object.insert("sources", node.sources.iter().map(source).collect());
    }
    if let Some(status) = &node.status {
        object.insert("status", Value::from(status.as_str()));
    }
    if let Some(latency) = latency {
        add_times(latency, position, &mut object);
    }
    object
}

/// All edges.
pub(super) fn edges(explanation: &Explanation) -> Value {
    explanation
        .edges
        .iter()
        .map(|edge| {
            let object: Object = [
                ("from", Value::from(explanation.nodes[edge.from].id.as_str())),
                ("to", Value::from(explanation.nodes[edge.to].id.as_str())),
                ("kind", Value::from(edge.kind.as_str())),
            ]
            .into_iter()
            .collect();
            Value::object(object)
        })
        .collect()
}

fn source(source: &ExplainedSource) -> Value {
    let texts = |list: &[String]| list.iter().map(|text| Value::from(text.as_str())).collect();
    let mut object = Object::new();
    object.insert("table", Value::from(source.table.as_str()));
    object.insert("asks", texts(&source.asks));
    object.insert("tests", texts(&source.tests));
    let bound = &source.requests;
    let most = bound.most.map_or_else(|| Value::from(bound.shown.as_str()), Value::from);
    object.insert("requestsMax", most);
    object.insert("because", Value::from(bound.because.as_str()));
    if let Some(limit) = &source.limit {
        object.insert("limit", Value::from(limit.as_str()));
    }
    Value::object(object)
}

fn reading(reading: &ExplainedReading) -> Value {
    let mut object: Object = [
        ("name", Value::from(reading.name.as_str())),
        ("depth", Value::from(reading.depth as u64)),
        ("reads", Value::from(reading.reads.as_str())),
    ]
    .into_iter()
    .collect();
    if !reading.asks.is_empty() {
        let asks = reading.asks.iter().map(|name| Value::from(name.as_str()));
        object.insert("asks", asks.collect());
    }
    if reading.tests {
        object.insert("tests", Value::Bool(true));
    }
    Value::object(object)
}

fn add_times(latency: &Latency, position: usize, object: &mut Object) {
    let Some(node) = latency.nodes.get(position).and_then(Option::as_ref) else { return };
    object.insert("elapsed", milliseconds(node.measured.elapsed));
    object.insert("start", milliseconds(node.start));
    object.insert("slack", milliseconds(node.slack));
    object.insert("share", Value::from(latency.share(position)));
    if node.measured.requests > 0 {
        object.insert("requests", Value::from(node.measured.requests));
    }
    if let Some(rows) = node.measured.rows {
        object.insert("rows", Value::from(rows));
    }
    if let Some((uri, elapsed)) = &node.measured.slowest {
        let slowest: Object =
            [("uri", Value::from(uri.as_str())), ("elapsed", milliseconds(*elapsed))]
                .into_iter()
                .collect();
        object.insert("slowest", Value::object(slowest));
    }
}

fn milliseconds(duration: Duration) -> Value {
    Value::Number(Number::Float((duration.as_secs_f64() * 1e6).round() / 1e3))
}
