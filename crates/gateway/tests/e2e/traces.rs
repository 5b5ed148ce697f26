//! Traces of servers: what is taken up and passed on, and what a collector gets (TEL-1 to TEL-8).

use std::collections::HashMap;

use qlio_testkit::{
    case::conversation,
    client::{Request, fetch},
    process::{Finished, ServerProcess, wait},
    upstream::{Expectation, Fault, Received, Respond, Upstream},
    websocket::connect,
};
use serde_json::json;

use super::{
    PATIENCE, SERVE,
    admin::{admin_of, sample},
    binary, folder, serve_folder,
};

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// A field of a message of Protocol Buffers, read by the numbers of the protocol and not by the types that wrote it.
#[derive(Debug, Clone)]
enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().expect("a whole number");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}

fn message(mut bytes: &[u8]) -> Vec<(u64, Field)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let length = match key & 7 {
            0 => {
                fields.push((key >> 3, Field::Number(varint(&mut bytes))));
                continue;
            }
            1 => 8,
            2 => usize::try_from(varint(&mut bytes)).unwrap(),
            5 => 4,
            other => panic!("wire type {other}"),
        };
        let (field, rest) = bytes.split_at(length);
        bytes = rest;
        let field = if key & 7 == 2 {
            Field::Bytes(field.to_vec())
        } else {
            let mut whole = [0; 8];
            whole[..length].copy_from_slice(field);
            Field::Number(u64::from_le_bytes(whole))
        };
        fields.push((key >> 3, field));
    }
    fields
}

fn parts(message: &[(u64, Field)], wanted: u64) -> Vec<Vec<u8>> {
    let part = |(number, field): &(u64, Field)| match field {
        Field::Bytes(bytes) if *number == wanted => Some(bytes.clone()),
        _ => None,
    };
    message.iter().filter_map(part).collect()
}

fn number(message: &[(u64, Field)], wanted: u64) -> u64 {
    let found = message.iter().find_map(|(number, field)| match field {
        Field::Number(value) if *number == wanted => Some(*value),
        _ => None,
    });
    found.unwrap_or_default()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// A span as the protocol numbers it.
#[derive(Debug, Clone)]
struct Span {
    trace: String,
    id: String,
    parent: String,
    name: String,
    kind: u64,
    is_error: bool,
    began_ns: u64,
    ended_ns: u64,
    attributes: HashMap<String, String>,
}

fn attributes(messages: Vec<Vec<u8>>) -> HashMap<String, String> {
    let pair = |bytes: Vec<u8>| {
        let pair = message(&bytes);
        let value = message(&parts(&pair, 2)[0]);
        let value = match parts(&value, 1).first() {
            Some(value) => text(value),
            None => number(&value, 3).to_string(),
        };
        (text(&parts(&pair, 1)[0]), value)
    };
    messages.into_iter().map(pair).collect()
}

/// All spans that a collector has got, and the attributes of who sent them.
fn spans(received: &[Received]) -> (Vec<Span>, HashMap<String, String>) {
    let mut spans = Vec::new();
    let mut resource = HashMap::new();
    for request in received {
        for of_resource in parts(&message(&request.body), 1) {
            let of_resource = message(&of_resource);
            let about = message(&parts(&of_resource, 1)[0]);
            resource.extend(attributes(parts(&about, 1)));
            for of_scope in parts(&of_resource, 2) {
                for span in parts(&message(&of_scope), 2) {
                    let span = message(&span);
                    let part = |number| parts(&span, number).first().cloned().unwrap_or_default();
                    let status = message(&part(15));
                    assert!(number(&span, 8) >= number(&span, 7), "it ends after it begins");
                    assert!(number(&span, 7) > 1_700_000_000_000_000_000, "nanoseconds");
                    spans.push(Span {
                        trace: hex(&part(1)),
                        id: hex(&part(2)),
                        parent: hex(&part(4)),
                        name: text(&part(5)),
                        kind: number(&span, 6),
                        is_error: number(&status, 3) == 2,
                        began_ns: number(&span, 7),
                        ended_ns: number(&span, 8),
                        attributes: attributes(parts(&span, 9)),
                    });
                }
            }
        }
    }
    (spans, resource)
}

/// A collector that answers the first requests with these statuses, and all others with 200.
fn collector(first: &[u16]) -> Upstream {
    let answer = |status| Respond::json(json!({})).status(status);
    let refused = first
        .iter()
        .map(|status| Expectation::new("POST", "/v1/traces").calls(1).respond(answer(*status)));
    let taken = Expectation::new("POST", "/v1/traces").any_calls().respond(answer(200));
    Upstream::with(refused.chain([taken])).unwrap()
}

fn app(upstream: &Upstream, settings: &serde_json::Value) -> tempfile::TempDir {
    let base = upstream.base();
    let table =
        |name: &str, path: &str| format!("create table {name} on select get from '{base}{path}'");
    folder(&[
        ("settings.json", &settings.to_string()),
        ("tables/t.ql", &table("t", "/t?key={key}&token={token}")),
        ("tables/broken.ql", &table("broken", "/broken")),
        ("tables/moved.ql", &table("moved", "/moved")),
        (
            "routes/t.ql",
            "return select * from t where key = 's3cret-k' and token = 't0ken-of-t'
               via route '/t/{id}' using method get",
        ),
        ("routes/broken.ql", "return select * from broken via route '/broken' using method get"),
        ("routes/moved.ql", "return select * from moved via route '/moved' using method get"),
        ("routes/one.ql", "return 1 via route '/one' using method get"),
    ])
}

fn upstream() -> Upstream {
    Upstream::with([
        Expectation { prefix: Some("/t".to_owned()), ..Expectation::default() }
            .any_calls()
            .respond(Respond::json(json!([{"a": 1}]))),
        Expectation::get("/broken").any_calls().respond(Respond::fault(Fault::Reset)),
        Expectation::get("/moved")
            .any_calls()
            .respond(Respond::json(json!({})).status(302).header("location", "/t?key=k")),
    ])
    .unwrap()
}

fn serve(app: &tempfile::TempDir) -> ServerProcess {
    serve_folder(app.path(), &["--config", "settings.json", "--enable-q", "--admin", "0"])
}

/// Status of the answer to a request that is part of a trace.
fn ask(server: &ServerProcess, path: &str) -> u16 {
    let request = Request::get(path).header("traceparent", PARENT).header("tracestate", "a=1,b=2");
    fetch(server.address(), &request, PATIENCE).unwrap().status
}

fn stop(server: ServerProcess) -> Finished {
    let finished = server.stop(PATIENCE);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    finished
}

/// Those of a name below a parent, in the order in which they began.
fn find(spans: &[Span], name: &str, parent: &str) -> Vec<Span> {
    let found = spans.iter().filter(|span| span.name == name && span.parent == parent);
    let mut found: Vec<Span> = found.cloned().collect();
    found.sort_by_key(|span| span.began_ns);
    found
}

fn only(spans: &[Span], name: &str, parent: &str) -> Span {
    match &find(spans, name, parent)[..] {
        [span] => span.clone(),
        other => panic!("{name} below {parent}: {other:?} of {spans:?}"),
    }
}

#[test]
fn a_recorded_request_is_a_tree_of_spans_that_goes_on_upstream() {
    let (upstream, collector) = (upstream(), collector(&[]));
    let app = app(
        &upstream,
        &json!({
            "trust": {"proxies": ["127.0.0.1"]},
            "secrets": ["k"], "k": "s3cret-k",
            "traces": {
                "endpoint": collector.base(), "service": "shop",
                "headers": "x-token=Bearer%20t0ken-of-mine", "resource": "region=north",
            },
        }),
    );
    let server = serve(&app);
    assert_eq!(ask(&server, "/t/7?a=1"), 200);
    assert_eq!(ask(&server, "/broken"), 502);
    assert_eq!(ask(&server, "/moved"), 200);
    assert_eq!(ask(&server, "/ecv"), 200);
    stop(server);

    let received = collector.requests();
    let headers = ["x-token", "content-type"].map(|name| received[0].header(name).unwrap());
    assert_eq!(headers, ["Bearer t0ken-of-mine", "application/x-protobuf"]);
    let (spans, resource) = spans(&received);
    assert_eq!(["service.name", "region"].map(|name| resource[name].as_str()), ["shop", "north"]);
    assert!(spans.iter().all(|span| span.trace == "0af7651916cd43dd8448eb211c80319c"), "{spans:?}");
    let text = format!("{spans:?}");
    assert!(!text.contains("s3cret-k") && !text.contains("t0ken-of-t"), "{text}");
    assert!(!text.contains("/ecv"), "nobody wants to know of health checks: {text}");
    let root = only(&spans, "GET /t/{id}", "b7ad6b7169203331");
    assert_eq!((root.kind, root.is_error), (2, false));
    for (name, expected) in [
        ("http.request.method", "GET"),
        ("http.route", "/t/{id}"),
        ("url.path", "/t/7"),
        ("url.scheme", "http"),
        ("http.response.status_code", "200"),
        ("network.protocol.version", "1.1"),
        ("client.address", "127.0.0.1"),
    ] {
        assert_eq!(root.attributes[name], expected, "{name}");
    }
    let statement = only(&spans, "select", &root.id);
    let call = only(&spans, "GET", &statement.id);
    assert_eq!((statement.kind, call.kind, call.is_error), (1, 3, false));
    assert!(root.began_ns <= statement.began_ns && statement.began_ns <= call.began_ns);
    assert!(call.ended_ns <= root.ended_ns, "{spans:?}");
    assert_eq!(call.attributes["qlio.table"], "t");
    assert_eq!(call.attributes["server.address"], "127.0.0.1");
    assert_eq!(call.attributes["server.port"], upstream.address().port().to_string());

    let failed = only(&spans, "GET /broken", "b7ad6b7169203331");
    assert!(failed.is_error && failed.attributes["error.type"] == "502");
    let attempts = find(&spans, "GET", &only(&spans, "select", &failed.id).id);
    let moved = only(&spans, "GET /moved", "b7ad6b7169203331");
    let hops = find(&spans, "GET", &only(&spans, "select", &moved.id).id);
    for requests in [&attempts, &hops] {
        let resends = requests
            .iter()
            .map(|span| span.attributes.get("http.request.resend_count").map(String::as_str));
        assert_eq!(resends.collect::<Vec<_>>(), [None, Some("1")], "{requests:?}");
    }
    assert!(attempts.iter().all(|attempt| attempt.is_error));
    let statuses = hops.iter().map(|hop| hop.attributes["http.response.status_code"].as_str());
    assert_eq!(statuses.collect::<Vec<_>>(), ["302", "200"]);

    // What the upstream was told is the request that it has got.
    let asked = upstream.requests();
    let told = asked.iter().map(|asked| asked.header("traceparent").unwrap());
    let expected = [&call].into_iter().chain(&attempts).chain(&hops);
    let expected =
        expected.map(|span| format!("00-0af7651916cd43dd8448eb211c80319c-{}-01", span.id));
    assert_eq!(told.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    let states = asked.iter().map(|asked| asked.header("tracestate").unwrap());
    assert!(states.clone().all(|state| state == "a=1,b=2"), "{:?}", states.collect::<Vec<_>>());
}

#[test]
fn a_script_over_websocket_is_recorded_in_the_trace_of_its_handshake() {
    let (upstream, collector) = (upstream(), collector(&[]));
    let traces = json!({"endpoint": collector.base()});
    let app = app(&upstream, &json!({"trust": {"proxies": ["127.0.0.1"]}, "traces": traces}));
    let server = serve(&app);
    let headers = [("traceparent", PARENT), ("tracestate", "a=1"), ("request-id", "r-1")];
    let mut socket =
        connect(server.address(), "/any", Some("ql.io-console"), &headers, PATIENCE).unwrap();
    for text in ["select * from t where key = 'k'", "select * from broken", "selec"] {
        socket.send_text(&json!({"type": "script", "data": text}).to_string()).unwrap();
        match socket.receive() {
            conversation::Received::Message(message) => {
                assert_eq!(message["type"], "script-result");
            }
            other => panic!("{other:?}"),
        }
    }
    drop(socket);
    stop(server);
    let (spans, _) = spans(&collector.requests());
    assert!(spans.iter().all(|span| span.trace == "0af7651916cd43dd8448eb211c80319c"), "{spans:?}");
    let [done, failed, refused] = &find(&spans, "script", "b7ad6b7169203331")[..] else {
        panic!("a root for each script: {spans:?}")
    };
    for (name, expected) in [
        ("url.scheme", "ws"),
        ("url.path", "/any"),
        ("network.protocol.name", "websocket"),
        ("client.address", "127.0.0.1"),
        ("qlio.request_id", "r-1"),
        ("qlio.status", "200"),
    ] {
        assert_eq!(done.attributes[name], expected, "{name}");
    }
    assert!(!done.attributes.contains_key("http.response.status_code"), "{done:?}");
    assert_eq!([done, failed, refused].map(|span| span.kind), [2; 3]);
    assert_eq!([done, failed, refused].map(|span| span.is_error), [false, true, false]);
    assert_eq!([failed, refused].map(|span| &*span.attributes["qlio.status"]), ["502", "400"]);
    let call = only(&spans, "GET", &only(&spans, "select", &done.id).id);
    let attempts = find(&spans, "GET", &only(&spans, "select", &failed.id).id);
    let told = upstream.requests();
    let told = told.iter().map(|asked| asked.header("traceparent").unwrap());
    let expected = [&call].into_iter().chain(&attempts);
    let expected =
        expected.map(|span| format!("00-0af7651916cd43dd8448eb211c80319c-{}-01", span.id));
    assert_eq!(told.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

#[test]
fn what_is_not_recorded_goes_on_as_it_came_and_hosts_of_clients_learn_nothing() {
    let (upstream, collector) = (upstream(), collector(&[]));
    let app = app(
        &upstream,
        &json!({
            "trust": {"proxies": ["127.0.0.1"]},
            "traces": {"endpoint": collector.base(), "sampler": "parentbased_always_off"},
        }),
    );
    let server = serve_folder(app.path(), &["--config", "settings.json", "--dev", "--no-watch"]);
    let off = format!("{}00", &PARENT[..53]);
    let request = Request::get("/t/7").header("traceparent", &off);
    assert_eq!(fetch(server.address(), &request, PATIENCE).unwrap().status, 200);
    // One that begins here: the upstream hears that nobody records it.
    assert_eq!(fetch(server.address(), &Request::get("/t/7"), PATIENCE).unwrap().status, 200);
    let script = format!(
        "create table mine on select get from '{}/t'; return select * from mine",
        upstream.base()
    );
    let request = Request::new("POST", "/q")
        .header("traceparent", PARENT)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(format!("s={}", script.replace(' ', "+").replace(';', "%3B")));
    let answer = fetch(server.address(), &request, PATIENCE).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    stop(server);
    let told: Vec<_> =
        upstream.requests().iter().map(|asked| asked.header("traceparent")).collect();
    assert_eq!(told[0].as_deref(), Some(&*off));
    assert!(told[1].as_ref().is_some_and(|told| told.ends_with("-00")), "{told:?}");
    assert_eq!(told[2..], [None], "{answer:?}");
    let (spans, _) = spans(&collector.requests());
    let mut names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["GET", "POST", "select"], "only the script was recorded");
}

#[test]
fn strangers_begin_traces_of_their_own_and_a_collector_that_is_away_hurts_nobody() {
    let upstream = upstream();
    // Nobody listens at this port of the system.
    let away = json!({"traces": {"endpoint": "http://127.0.0.1:1"}});
    let app = app(&upstream, &away);
    let server = serve(&app);
    assert_eq!(ask(&server, "/t/7"), 200);
    let told = upstream.requests()[0].header("traceparent").unwrap();
    assert!(!told.contains("0af7651916cd43dd8448eb211c80319c") && told.ends_with("-01"), "{told}");
    let finished = stop(server);
    assert_eq!(finished.stderr.matches("spans cannot be sent").count(), 1, "{finished:?}");
}

#[test]
fn what_a_collector_cannot_take_for_now_is_sent_again_and_counted() {
    let (upstream, collector) = (upstream(), collector(&[503, 429]));
    let app = app(&upstream, &json!({"traces": {"endpoint": collector.base(), "maxQueue": 1000}}));
    let server = serve(&app);
    let admin = admin_of(&server);
    assert_eq!(ask(&server, "/one"), 200);
    let sent = "qlio_spans_total{outcome=\"sent\"}";
    assert!(wait(PATIENCE, || sample(admin, sent) == "1"), "{}", server.stderr());
    assert_eq!(sample(admin, "qlio_spans_total{outcome=\"dropped\"}"), "0");
    let received = collector.requests();
    assert_eq!(received.len(), 3, "twice in vain");
    assert!(received.iter().all(|request| request.body == received[0].body));
    stop(server);
}

#[test]
fn what_is_refused_and_what_has_no_room_is_dropped_and_counted() {
    let (upstream, collector) = (upstream(), collector(&[400]));
    // A request with a statement has three spans.
    let settings = json!({"traces": {"endpoint": collector.base(), "maxQueue": 2}});
    let app = app(&upstream, &settings);
    let server = serve(&app);
    let admin = admin_of(&server);
    let dropped = "qlio_spans_total{outcome=\"dropped\"}";
    assert_eq!(ask(&server, "/t/7"), 200);
    assert!(wait(PATIENCE, || sample(admin, dropped) == "3"), "no room: {}", server.stderr());
    assert_eq!(ask(&server, "/one"), 200);
    assert!(wait(PATIENCE, || sample(admin, dropped) == "4"), "refused: {}", server.stderr());
    let finished = stop(server);
    assert!(finished.stderr.contains("it answers with status 400"), "{finished:?}");
    assert_eq!(collector.requests().len(), 1);
}

#[test]
fn the_names_of_opentelemetry_are_understood() {
    let (upstream, collector) = (upstream(), collector(&[]));
    let app = app(&upstream, &json!({"traces": {"service": "of the file"}}));
    let serve = |more: &[(&str, &str)]| {
        let usual = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.base()),
            ("OTEL_SERVICE_NAME", "named"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,region=north"),
            ("OTEL_TRACES_SAMPLER", "traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "1.0"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "20000"),
        ];
        let arguments = [&SERVE[..], &["--config", "settings.json"]].concat();
        ServerProcess::start(binary(), &arguments, app.path(), &[&usual, more].concat(), PATIENCE)
    };
    for off in [[("OTEL_SDK_DISABLED", "true")], [("OTEL_TRACES_SAMPLER_ARG", "0")]] {
        let server = serve(&off).unwrap();
        assert_eq!(ask(&server, "/one"), 200);
        stop(server);
        assert_eq!(collector.requests().len(), 0, "{off:?}");
    }
    let server = serve(&[]).unwrap();
    assert_eq!(ask(&server, "/one"), 200);
    stop(server);
    let (spans, resource) = spans(&collector.requests());
    assert_eq!(
        (resource["service.name"].as_str(), resource["region"].as_str()),
        ("named", "north")
    );
    assert_eq!((spans[0].name.as_str(), spans[0].parent.as_str()), ("GET /one", ""));
    let refused = serve(&[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]).unwrap_err();
    assert!(refused.stderr.contains("`http/protobuf`"), "{refused}");
}
