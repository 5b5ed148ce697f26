//! The tables that generated scripts select from, twice: as a plain function for the reference
//! interpreter, and as an upstream on loopback that answers the same after random delays.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use qlio_data::{Value, codec::json};
use qlio_testkit::reference::{Answers, Tables};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// The declarations, with the upstream's address filled in.
pub(crate) fn declarations(address: &str) -> String {
    format!(
        "create table t0 on select get from 'http://{address}/t0'\n\
         create table t1 on select get from 'http://{address}/t1?k={{k}}'\n\
         create table t2 on select get from 'http://{address}/t2?k={{^k}}' resultset 'r.s'\n\
         create table t3 on select get from 'http://{address}/t3'\n"
    )
}

/// The body of an answer; `None` for status 500.
fn answer(table: &str, k: &str) -> Option<String> {
    let text = json::to_string(&Value::from(k));
    match (table, k) {
        ("t0", _) => Some(
            r#"[{"a":1,"b":"x","l":[1,"x"]},{"a":"1","b":2},{"a":null,"k":"y"},{"b":"x","l":[]}]"#
                .to_owned(),
        ),
        ("t1" | "t2", "x") | ("t3", _) => None,
        ("t1", "") => Some("[]".to_owned()),
        ("t1", "0") => Some("null".to_owned()),
        ("t1", "1") => Some(r#"{"a":1,"k":"1","b":0}"#.to_owned()),
        ("t1", "true") => Some(r#"{"a":[1,2],"b":"y"}"#.to_owned()),
        ("t2", "1") => Some(r#"{"r":[{"s":5},{"s":6}]}"#.to_owned()),
        ("t2", "true") => Some(r#"{"r":{}}"#.to_owned()),
        ("t2", _) => Some(format!(r#"{{"r":{{"s":[{{"a":{text},"k":{text}}},{{"b":7}}]}}}}"#)),
        (_, _) => Some(format!(r#"[{{"k":{text},"a":{}}},{{"b":{text},"l":[{text}]}}]"#, k.len())),
    }
}

/// The tables as the reference interpreter sees them.
pub(crate) struct Fixture;

impl Tables for Fixture {
    fn select(&self, table: &str, parameter: &dyn Fn(&str) -> Value) -> Result<Answers, String> {
        let is_required = match table {
            "t0" | "t3" => return Ok(Answers::Single(one(table, ""))),
            "t1" => false,
            "t2" => true,
            other => return Err(format!("No such table {other}")),
        };
        let value = parameter("k").into_tree();
        let texts: Vec<String> = match &value {
            Value::Array(elements) => elements.iter().map(text_of).collect::<Result<_, _>>()?,
            other => vec![text_of(other)?],
        };
        if is_required && texts.iter().any(String::is_empty) {
            return Err("Token k not specified".to_owned());
        }
        Ok(match (&value, &texts[..]) {
            (Value::Array(_), texts) => {
                Answers::Scatter(texts.iter().map(|text| one(table, text)).collect())
            }
            (_, texts) => Answers::Single(one(table, texts.first().map_or("", String::as_str))),
        })
    }
}

/// A parameter as text; a list inside a list is joined by commas.
fn text_of(value: &Value) -> Result<String, String> {
    match value {
        Value::Array(elements) => {
            Ok(elements.iter().map(text_of).collect::<Result<Vec<_>, _>>()?.join(","))
        }
        Value::Object(_) => Err("an object is no parameter".to_owned()),
        scalar => Ok(scalar.scalar_text().unwrap_or_default().to_string()),
    }
}

/// One answer after its resultset.
fn one(table: &str, k: &str) -> Result<Value, String> {
    let body = answer(table, k).ok_or("status 500")?;
    let body = json::parse_str(&body).map_err(|error| error.to_string())?;
    if table != "t2" {
        return Ok(body);
    }
    let outer = body.member("r");
    let outer = if outer.is_array() { outer.element(0) } else { outer };
    let rows = outer.member("s");
    Ok(if rows.is_absent() { Value::array(Vec::new()) } else { rows })
}

/// An upstream; its thread of work lives on the runtime it was started on.
pub(crate) struct Upstream {
    pub(crate) address: String,
    /// Decides the delays of all answers to come.
    pub(crate) seed: Arc<AtomicU64>,
}

impl Upstream {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a loopback port");
        let address = listener.local_addr().expect("a bound address").to_string();
        let seed = Arc::new(AtomicU64::new(0));
        let of_server = Arc::clone(&seed);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&of_server)));
            }
        });
        Self { address, seed }
    }
}

/// Answers request after request of one connection until it is closed.
async fn serve(mut stream: TcpStream, seed: Arc<AtomicU64>) {
    let mut received = Vec::new();
    let mut chunk = [0_u8; 4096];
    loop {
        while let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&received[..end]).into_owned();
            received.drain(..end + 4);
            let target = head.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
            let (table, k) = target.split_once("?k=").unwrap_or((target, ""));
            tokio::time::sleep(delay(&seed)).await;
            let (status, body) = match answer(table, &decoded(k)) {
                Some(body) => ("200 OK", body),
                None => ("500 Internal Server Error", "{}".to_owned()),
            };
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            if stream.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
        }
        match stream.read(&mut chunk).await {
            Ok(count) if count > 0 => received.extend_from_slice(&chunk[..count]),
            _ => return,
        }
    }
}

/// Percent-encoded text as it was meant.
fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        bytes.extend(u8::from_str_radix(digits, 16));
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// 0 to 5 ms; seed 0 means none.
fn delay(seed: &AtomicU64) -> Duration {
    let state = seed.load(Ordering::Relaxed);
    if state == 0 {
        return Duration::ZERO;
    }
    let next =
        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    seed.store(next.max(1), Ordering::Relaxed);
    Duration::from_millis((next >> 33) % 6)
}
