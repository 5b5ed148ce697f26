//! `qlio mock --replay`: the answers of a recording again.
//!
//! A recorded exchange fits a request of its method and path that has all pairs of its query. Of
//! several the one with the most pairs is taken, then one with the same body. Where the same was asked
//! more than once, the answers come in the order they were recorded, the last one from then on. What
//! fits nothing is answered 404.

use std::{
    collections::HashMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use hyper::{
    HeaderMap, Request, Response, StatusCode,
    body::Incoming,
    header::{HeaderName, HeaderValue},
};
use qlio_data::{
    Value,
    codec::{DecodeError, json},
};
use qlio_engine::transport::shown_uri;
use qlio_syntax::source::LineIndex;

use super::{
    Handler, Log, MockBody, MockError, MockServer, body,
    error::Unusable,
    find,
    folder::FileError,
    record::{EXCHANGES_MAX, INDEX, hash},
    upstream::{Answer, refuse},
};

/// The largest index, in bytes.
const INDEX_BYTES_MAX: u64 = 64 << 20;
/// The largest recorded body, in bytes.
const BODY_BYTES_MAX: u64 = 64 << 20;
/// How long an answer is held back at most, whatever was recorded.
const LATENCY_MAX: Duration = Duration::from_hours(1);

/// How long answers take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Latency {
    /// As long as the upstream took.
    Recorded,
    /// This long.
    Fixed(Duration),
}

/// The recording to replay, and the port.
pub(crate) struct ReplayOptions {
    /// The folder of the recording.
    pub folder: PathBuf,
    /// How long answers take.
    pub latency: Latency,
    /// The address to listen on.
    pub host: String,
    /// The port; 0 takes a free one.
    pub port: u16,
    /// Where a line for each exchange is written.
    pub log: Option<Box<dyn Write + Send>>,
}

/// One exchange of a recording.
#[derive(Debug)]
pub(super) struct Recorded {
    file: String,
    method: String,
    path: String,
    pairs: Vec<(String, String)>,
    hash: String,
    status: StatusCode,
    headers: HeaderMap,
    latency: Duration,
}

/// Why the index of a recording, or an exchange in it, can not be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IndexError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("it is not UTF-8")]
    NotUtf8,
    #[error("line {line}: invalid JSON: {error}")]
    NotJson { line: u32, error: DecodeError },
    #[error("there is no list `exchanges`")]
    NoList,
    #[error("more than {EXCHANGES_MAX} exchanges")]
    TooMany,
    #[error("exchange {0}: {1}")]
    Exchange(usize, Box<Self>),
    #[error("`{0}` is no {1}")]
    Kind(String, &'static str),
    #[error("`file` must be a name in the folder, not `{0}`")]
    Outside(String),
    #[error("`headers` holds what is no header")]
    Headers,
}

/// Exchanges that ask for exactly the same, and how many answers were given.
#[derive(Debug, Default)]
struct Repeated {
    exchanges: Vec<Recorded>,
    given: AtomicUsize,
}

struct Player {
    folder: PathBuf,
    latency: Latency,
    /// By method and path, one element for each query and body.
    known: HashMap<(String, String), Vec<Repeated>>,
    log: Log,
}

/// Binds a player. Run it with [`MockServer::run`].
///
/// # Errors
/// The recording can not be read, or the address is taken.
pub(crate) async fn serve(options: ReplayOptions) -> Result<MockServer, MockError> {
    let exchanges = read_index(&options.folder)?;
    let mut player = Player::new(&options, exchanges);
    player.log = options.log.map(Mutex::new);
    let player = Arc::new(player);
    let handler: Handler = Arc::new(move |request, _| {
        let player = Arc::clone(&player);
        Box::pin(async move { player.exchange(request).await })
    });
    MockServer::bind(&options.host, options.port, handler).await
}

impl Player {
    fn new(options: &ReplayOptions, exchanges: Vec<Recorded>) -> Self {
        let mut known: HashMap<_, Vec<Repeated>> = HashMap::new();
        // Where the first one that asked for exactly the same is kept.
        let mut places: HashMap<_, usize> = HashMap::new();
        for recorded in exchanges {
            let path = (recorded.method.clone(), recorded.path.clone());
            let asked = (path.clone(), recorded.pairs.clone(), recorded.hash.clone());
            let alternatives = known.entry(path).or_default();
            let at = *places.entry(asked).or_insert(alternatives.len());
            if let Some(same) = alternatives.get_mut(at) {
                same.exchanges.push(recorded);
            } else {
                alternatives.push(Repeated { exchanges: vec![recorded], ..Repeated::default() });
            }
        }
        let (folder, latency) = (options.folder.clone(), options.latency);
        Self { folder, latency, known, log: None }
    }

    fn find(&self, method: &str, target: &str, body: &Bytes) -> Option<&Recorded> {
        // Credentials were not recorded, so they can not be compared.
        let (path, pairs) = split(&shown_uri(target))?;
        let alternatives = self.known.get(&(method.to_owned(), path))?;
        let hash = hash(body);
        let fitting = alternatives.iter().enumerate().filter_map(|(at, repeated)| {
            let first = repeated.exchanges.first()?;
            let fits = first.pairs.iter().all(|pair| pairs.contains(pair));
            // Of equal ones the first that was recorded.
            fits.then_some(((first.pairs.len(), first.hash == hash, usize::MAX - at), repeated))
        });
        let (_, best) = fitting.max_by_key(|(rank, _)| *rank)?;
        let turn = best.given.fetch_add(1, Ordering::Relaxed);
        best.exchanges.get(turn).or(best.exchanges.last())
    }

    async fn exchange(&self, request: Request<Incoming>) -> Response<MockBody> {
        let (head, body) = request.into_parts();
        let Some(body) = body::collect(body).await else {
            return refuse(StatusCode::PAYLOAD_TOO_LARGE, "the request's body is too large");
        };
        let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
        let (method, target) = (head.method.as_str(), target);
        let Some(recorded) = self.find(method, target, &body) else {
            super::log(&self.log, format_args!("{method} {target} 404 -"));
            let reason = format_args!("nothing recorded for `{method} {target}`");
            return refuse(StatusCode::NOT_FOUND, reason);
        };
        let wait = match self.latency {
            Latency::Recorded => recorded.latency.min(LATENCY_MAX),
            Latency::Fixed(time) => time,
        };
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        let status = recorded.status.as_u16();
        super::log(&self.log, format_args!("{method} {target} {status} {}", recorded.file));
        match read_bounded(&self.folder.join(&recorded.file), BODY_BYTES_MAX) {
            Ok(body) => Answer {
                status: recorded.status,
                headers: recorded.headers.clone(),
                body: body.into(),
            }
            .into_response(),
            Err(error) => {
                let reason = format_args!("`{}`: {error}", recorded.file);
                refuse(StatusCode::INTERNAL_SERVER_ERROR, reason)
            }
        }
    }
}

/// Reads the index of a recording.
///
/// # Errors
/// Names the exchange that can not be used, and why.
pub(super) fn read_index(folder: &Path) -> Result<Vec<Recorded>, MockError> {
    let path = folder.join(INDEX);
    read_exchanges(&path).map_err(|error| Unusable::Index(path, error).into())
}

fn read_exchanges(index: &Path) -> Result<Vec<Recorded>, IndexError> {
    let bytes = read_bounded(index, INDEX_BYTES_MAX)?;
    let text = String::from_utf8(bytes).map_err(|_| IndexError::NotUtf8)?;
    let index = json::parse_str(&text).map_err(|error| {
        let line = LineIndex::new(&text).line(error.offset as u32);
        IndexError::NotJson { line, error }
    })?;
    let exchanges = index.member("exchanges");
    let exchanges = exchanges.elements().ok_or(IndexError::NoList)?;
    if exchanges.len() > EXCHANGES_MAX {
        return Err(IndexError::TooMany);
    }
    let read = (1..).zip(exchanges.iter()).map(|(number, exchange)| {
        Recorded::read(exchange).map_err(|error| IndexError::Exchange(number, Box::new(error)))
    });
    read.collect()
}

impl Recorded {
    fn read(exchange: &Value) -> Result<Self, IndexError> {
        let wrong = |name: &str, wanted| IndexError::Kind(name.to_owned(), wanted);
        let text = |name: &str| {
            let value = exchange.member(name);
            value.as_str().map(str::to_owned).ok_or_else(|| wrong(name, "text"))
        };
        let number = |name: &str| match exchange.member(name) {
            Value::Number(number) => number.as_i64().and_then(|number| u64::try_from(number).ok()),
            _ => None,
        };
        let file = text("file")?;
        if file.is_empty() || file.starts_with('.') || file.contains(['/', '\\', '\0']) {
            return Err(IndexError::Outside(file));
        }
        let target = text("path")?;
        let (path, pairs) = split(&target).ok_or_else(|| wrong(&target, "path"))?;
        let status = number("status").and_then(|status| u16::try_from(status).ok());
        let status = status.filter(|status| (200..600).contains(status));
        let status = status.and_then(|status| StatusCode::from_u16(status).ok());
        let mut headers = HeaderMap::new();
        if let Value::Object(members) = exchange.member("headers").into_tree() {
            for (name, value) in members.iter() {
                let value = value.as_str().and_then(|value| HeaderValue::try_from(value).ok());
                let name = HeaderName::try_from(name.as_str()).ok();
                let (Some(name), Some(value)) = (name, value) else {
                    return Err(IndexError::Headers);
                };
                headers.insert(name, value);
            }
        }
        Ok(Self {
            file,
            method: text("method")?,
            path,
            pairs,
            hash: text("requestHash").unwrap_or_default(),
            status: status.ok_or_else(|| wrong("status", "status from 200 to 599"))?,
            headers,
            latency: Duration::from_millis(number("latency").unwrap_or(0)),
        })
    }
}

/// The path and the decoded query, in order of names.
fn split(target: &str) -> Option<(String, Vec<(String, String)>)> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut pairs = find::pairs(query).ok()?;
    pairs.sort();
    Some((path.to_owned(), pairs))
}

fn read_bounded(path: &Path, bytes_max: u64) -> Result<Vec<u8>, FileError> {
    let bytes = fs::metadata(path)?.len();
    if bytes > bytes_max {
        return Err(FileError::TooLarge { bytes, bytes_max });
    }
    Ok(fs::read(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn player(exchanges: &str) -> Player {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(INDEX), format!("{{\"exchanges\": [{exchanges}]}}")).unwrap();
        let options = ReplayOptions {
            folder: folder.path().to_owned(),
            latency: Latency::Recorded,
            host: String::new(),
            port: 0,
            log: None,
        };
        Player::new(&options, read_index(folder.path()).unwrap())
    }

    fn exchange(file: &str, path: &str, body: &'static str) -> String {
        let hash = hash(&Bytes::from_static(body.as_bytes()));
        format!(
            r#"{{"file": "{file}", "method": "POST", "path": "{path}", "requestHash": "{hash}", "status": 200, "headers": {{}}}}"#
        )
    }

    #[test]
    fn the_most_exact_exchange_is_replayed_and_repeated_ones_in_order() {
        let player = player(
            &[
                exchange("plain", "/s", "a"),
                exchange("query", "/s?q=1&r=2", "a"),
                exchange("body", "/s?r=2&q=1", "b"),
                exchange("again", "/s?q=1&r=2", "a"),
                exchange("secret", "/s?api_key=[redacted]", "a"),
            ]
            .join(","),
        );
        let file = |target: &str, body: &'static str| {
            let body = Bytes::from_static(body.as_bytes());
            player.find("POST", target, &body).map(|recorded| recorded.file.clone())
        };
        assert_eq!(file("/s?x=1", "z").unwrap(), "plain");
        assert_eq!(file("/s?q=1&r=2&x", "b").unwrap(), "body");
        assert_eq!(file("/s?q=1&r=2", "a").unwrap(), "query");
        for _ in 0..2 {
            assert_eq!(file("/s?r=2&q=1", "a").unwrap(), "again");
        }
        assert_eq!(file("/s?api_key=abc", "a").unwrap(), "secret");
        assert!(file("/t", "a").is_none());
    }

    #[test]
    fn a_broken_index_is_named_with_its_place() {
        let message = |text: &str| {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(INDEX), text).unwrap();
            read_index(folder.path()).unwrap_err().to_string()
        };
        assert!(message("{\n\n]").contains("line 3: invalid JSON"));
        assert!(message("{}").ends_with("there is no list `exchanges`"));
        let outside = exchange("../x", "/s", "");
        let text = message(&format!("{{\"exchanges\": [{outside}]}}"));
        assert!(text.contains("exchange 1: `file` must be a name in the folder"), "{text}");
    }
}
