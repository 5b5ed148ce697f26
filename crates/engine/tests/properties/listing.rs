//! An upstream on loopback with lists of rows: whole, in pages, by their keys, and two at a time.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use qlio_data::{Value, codec::json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Barrier,
};

/// The lists, by name.
type Lists = Arc<Mutex<HashMap<String, Value>>>;

/// An upstream; it lives as long as the runtime that it was started on.
pub(crate) struct Listing {
    pub(crate) address: String,
    lists: Lists,
}

impl Listing {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a loopback port");
        let address = listener.local_addr().expect("a bound address").to_string();
        let lists = Lists::default();
        let (of_server, both) = (Arc::clone(&lists), Arc::new(Barrier::new(2)));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&of_server), Arc::clone(&both)));
            }
        });
        Self { address, lists }
    }

    /// From now on this list has these rows.
    pub(crate) fn set(&self, name: &str, rows: &str) {
        let rows = json::parse_str(rows).expect("rows");
        self.lists.lock().expect("no panic").insert(name.to_owned(), rows);
    }
}

/// Answers request after request of one connection until it is closed.
async fn serve(mut stream: TcpStream, lists: Lists, both: Arc<Barrier>) {
    let mut received = Vec::new();
    let mut chunk = [0_u8; 4096];
    loop {
        while let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&received[..end]).into_owned();
            received.drain(..end + 4);
            let target = head.split(' ').nth(1).unwrap_or_default();
            if target.starts_with("/both/") {
                both.wait().await;
            }
            let body = answer(target, &lists.lock().expect("no panic"));
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
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

/// `/all/a` are the rows of `a`, `/page/a?page=2&n=7` some of them, `/of/a?k=1,2` those with one of these keys;
/// `/both/a?k=1` is the same, once another one has come as well.
fn answer(target: &str, lists: &HashMap<String, Value>) -> String {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut words = path.trim_start_matches('/').split('/');
    let (kind, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let rows = lists.get(name).and_then(Value::elements).unwrap_or_default().into_owned();
    let parameter = |name: &str| {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(key, _)| *key == name).map(|(_, value)| decoded(value)).next()
    };
    let number = |name: &str| parameter(name).and_then(|text| text.parse::<usize>().ok());
    let shown: Vec<Value> = match kind {
        "page" => {
            let (page, size) = (number("page").unwrap_or(1), number("n").unwrap_or(1));
            rows.into_iter().skip((page - 1) * size).take(size).collect()
        }
        "of" | "both" => {
            let keys = parameter("k").unwrap_or_default();
            let keys: Vec<&str> = keys.split(',').collect();
            let has_key = |row: &Value| {
                row.member("k").scalar_text().is_some_and(|key| keys.contains(&&*key))
            };
            rows.into_iter().filter(has_key).collect()
        }
        _ => rows,
    };
    json::to_string(&Value::array(shown))
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
