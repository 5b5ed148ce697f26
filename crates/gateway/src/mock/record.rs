//! `qlio mock --record`: a proxy to one upstream that keeps every exchange.
//!
//! In goes an upstream and a folder; the folder gets one file per answer, `<n>.<status>.<type>.<subtype>`,
//! and `index.json`, which says what was asked. [`replay`](super::replay) serves both. Credentials are
//! not kept: neither headers that carry them nor values of such query parameters.
//!
//! An existing recording is continued. The index is a complete JSON document after every exchange, and
//! each one costs only its own bytes.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Seek as _, SeekFrom, Write},
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;
use hyper::{
    HeaderMap, Request, Response, StatusCode,
    body::Incoming,
    header::{CONTENT_TYPE, DATE},
};
use qlio_data::{Object, Value, codec::json};
use qlio_engine::transport::{is_credential_name, shown_uri};
use sha2::{Digest as _, Sha256};

use super::{
    Handler, Log, MockBody, MockError, MockServer, body,
    error::Unusable,
    upstream::{Answer, Upstream, bad_gateway, refuse},
};

/// The name of the index in a recording.
pub(super) const INDEX: &str = "index.json";
/// Beginning and end of the index.
const HEAD: &str = "{\"exchanges\":[";
const TAIL: &str = "\n]}\n";

/// How many exchanges one recording holds.
pub(super) const EXCHANGES_MAX: usize = 10_000;

/// The upstream to record, and the folder to keep it in.
pub(crate) struct RecordOptions {
    /// The folder, made if it is not there.
    pub folder: PathBuf,
    /// Where requests go: `http://host:port`, perhaps with a path that is put before theirs.
    pub upstream: String,
    /// The address to listen on.
    pub host: String,
    /// The port; 0 takes a free one.
    pub port: u16,
    /// Where a line for each exchange is written.
    pub log: Option<Box<dyn Write + Send>>,
}

struct Recorder {
    base: String,
    upstream: Upstream,
    store: Mutex<Store>,
    log: Log,
}

/// The folder of a recording.
struct Store {
    folder: PathBuf,
    index: File,
    /// Where the next exchange is written in the index.
    end: u64,
    count: usize,
}

/// Binds a recorder. Run it with [`MockServer::run`].
///
/// # Errors
/// The upstream is no URL, the folder can not be written, or the address is taken.
pub(crate) async fn serve(options: RecordOptions) -> Result<MockServer, MockError> {
    let base = options.upstream.trim_end_matches('/').to_owned();
    if !base.starts_with("http://") && !base.starts_with("https://") {
        return Err(Unusable::Upstream(base).into());
    }
    let store = Store::open(&options.folder)?;
    let upstream = Upstream::new().map_err(Unusable::from)?;
    let recorder = Arc::new(Recorder {
        base,
        upstream,
        store: Mutex::new(store),
        log: options.log.map(Mutex::new),
    });
    let handler: Handler = Arc::new(move |request, _: SocketAddr| {
        let recorder = Arc::clone(&recorder);
        Box::pin(async move { recorder.exchange(request).await })
    });
    MockServer::bind(&options.host, options.port, handler).await
}

impl Recorder {
    async fn exchange(&self, request: Request<Incoming>) -> Response<MockBody> {
        let (head, body) = request.into_parts();
        let Some(body) = body::collect(body).await else {
            return refuse(StatusCode::PAYLOAD_TOO_LARGE, "the request's body is too large");
        };
        let target = head.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
        let uri = format!("{}{target}", self.base);
        let asked = Asked {
            method: head.method.as_str().to_owned(),
            path: shown_uri(&target),
            hash: hash(&body),
            headers: kept_headers(&head.headers),
        };
        let begun = Instant::now();
        let answer = match self.upstream.call(head.method, uri, &head.headers, body).await {
            Ok(answer) => answer,
            Err(error) => {
                let line = format_args!("{} {target} 502 - {error}", asked.method);
                super::log(&self.log, line);
                return bad_gateway(error);
            }
        };
        let status = answer.status.as_u16();
        let line = format!("{} {target} {status}", asked.method);
        let stored = self.store.lock().unwrap_or_else(PoisonError::into_inner).add(
            &asked,
            &answer,
            begun.elapsed(),
        );
        match stored {
            Ok(file) => {
                super::log(&self.log, format_args!("{line} {file}"));
                answer.into_response()
            }
            Err(error) => {
                super::log(&self.log, format_args!("{line} - {error}"));
                refuse(StatusCode::INTERNAL_SERVER_ERROR, error)
            }
        }
    }
}

/// A client's request, as far as it is kept.
struct Asked {
    method: String,
    path: String,
    hash: String,
    headers: Value,
}

/// Why an exchange is not kept.
#[derive(Debug, thiserror::Error)]
enum RecordError {
    #[error("the recording holds {EXCHANGES_MAX} exchanges, more do not fit")]
    Full,
    #[error("the exchange can not be recorded: {0}")]
    Io(io::Error),
}

impl Store {
    fn open(folder: &Path) -> Result<Self, MockError> {
        let failed = |error| MockError::Folder(folder.to_owned(), error);
        fs::create_dir_all(folder).map_err(failed)?;
        let path = folder.join(INDEX);
        let known = if path.exists() { super::replay::read_index(folder)?.len() } else { 0 };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(known == 0);
        let mut index = options.open(&path).map_err(failed)?;
        let end = if known == 0 {
            index.write_all(HEAD.as_bytes()).map_err(failed)?;
            HEAD.len() as u64
        } else {
            // Only an index that ends as ours do can be gone on with.
            let text = fs::read_to_string(&path).map_err(failed)?;
            let end = text.strip_suffix(TAIL).map(str::len);
            end.ok_or(Unusable::Changed(path))? as u64
        };
        let mut store = Self { folder: folder.to_owned(), index, end, count: known };
        store.append("").map_err(failed)?;
        Ok(store)
    }

    /// Keeps one exchange; answers the name of its file.
    fn add(
        &mut self,
        asked: &Asked,
        answer: &Answer,
        latency: Duration,
    ) -> Result<String, RecordError> {
        if self.count >= EXCHANGES_MAX {
            return Err(RecordError::Full);
        }
        let number = self.count + 1;
        let file = format!("{number}.{}.{}", answer.status.as_u16(), type_in_name(&answer.headers));
        let mut exchange = Object::new();
        let text = |text: &str| Value::from(text);
        exchange.insert("file", text(&file));
        exchange.insert("method", text(&asked.method));
        exchange.insert("path", text(&asked.path));
        exchange.insert("requestHash", text(&asked.hash));
        exchange.insert("requestHeaders", asked.headers.clone());
        exchange.insert("status", Value::from(answer.status.as_u16()));
        exchange.insert("headers", kept_headers(&answer.headers));
        let milliseconds = i64::try_from(latency.as_millis()).unwrap_or(i64::MAX);
        exchange.insert("latency", Value::int(milliseconds));
        let line = json::to_string(&Value::object(exchange));
        let separator = if self.count == 0 { "\n" } else { ",\n" };
        fs::write(self.folder.join(&file), &answer.body)
            .and_then(|()| self.append(&format!("{separator}{line}")))
            .map_err(RecordError::Io)?;
        self.count = number;
        Ok(file)
    }

    /// Writes behind the last exchange, and the end of the document again.
    fn append(&mut self, text: &str) -> io::Result<()> {
        self.index.seek(SeekFrom::Start(self.end))?;
        self.index.write_all(format!("{text}{TAIL}").as_bytes())?;
        let whole = self.index.stream_position()?;
        self.index.set_len(whole)?;
        self.end += text.len() as u64;
        Ok(())
    }
}

/// Hashes a body, to recognise it.
pub(super) fn hash(body: &Bytes) -> String {
    use std::fmt::Write as _;

    Sha256::digest(body).iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to text can not fail.
        let _written = write!(text, "{byte:02x}");
        text
    })
}

/// Headers as texts, without credentials and without the date.
fn kept_headers(headers: &HeaderMap) -> Value {
    let mut kept = Object::new();
    for name in headers.keys() {
        if *name == DATE || is_credential_name(name.as_str()) {
            continue;
        }
        let values = headers.get_all(name).iter();
        let texts: Vec<_> =
            values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect();
        kept.insert(name.as_str(), Value::from(texts.join(", ")));
    }
    Value::object(kept)
}

/// The content type as `type.subtype`; what no file name should hold is an octet stream.
fn type_in_name(headers: &HeaderMap) -> String {
    const OTHER: &str = "application.octet-stream";
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_plain = |text: &str| {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte);
        !text.is_empty()
            && text.len() <= 64
            && !text.starts_with('.')
            && text.bytes().all(is_allowed)
    };
    match essence.split_once('/') {
        Some((kind, subtype)) if is_plain(kind) && is_plain(subtype) => format!("{kind}.{subtype}"),
        _ => OTHER.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn answer(content_type: &'static str, body: &'static str) -> Answer {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert("set-cookie", HeaderValue::from_static("id=1"));
        Answer { status: StatusCode::OK, headers, body: Bytes::from_static(body.as_bytes()) }
    }

    fn asked() -> Asked {
        let hash = hash(&Bytes::new());
        Asked {
            method: "GET".to_owned(),
            path: "/".to_owned(),
            hash,
            headers: Value::object(Object::new()),
        }
    }

    #[test]
    fn the_index_is_complete_after_each_exchange_and_a_recording_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let index =
            || json::parse_str(&fs::read_to_string(folder.path().join(INDEX)).unwrap()).unwrap();
        for round in 0..3 {
            let mut store = Store::open(folder.path()).unwrap();
            assert_eq!(index().member("exchanges").len(), round * 2);
            for _ in 0..2 {
                store.add(&asked(), &answer("text/plain", "x"), Duration::ZERO).unwrap();
            }
        }
        let last = index().member("exchanges").element(5);
        assert_eq!(last.member("file").as_str(), Some("6.200.text.plain"));
        assert!(last.member("headers").member("set-cookie").is_absent());
    }

    #[test]
    fn names_of_files_come_from_the_content_type() {
        let name = |content_type| type_in_name(&answer(content_type, "").headers);
        assert_eq!(name("application/json; charset=utf-8"), "application.json");
        assert_eq!(name("application/vnd.x+json"), "application.vnd.x+json");
        for odd in ["", "text", "a/../b", "../../x", "text/"] {
            assert_eq!(name(odd), "application.octet-stream", "{odd}");
        }
    }
}
