//! The mock of one port of one test: answers given in code or by files (`docs/guide/testing.md`).
//!
//! In go answers, some for one method and path, and a [`Behaviour`] for all of them. Of several that
//! fit a request the one with the most query pairs is taken, then one with a path before one without.
//! A request that fits nothing is answered 404 with the reason.

use std::{net::SocketAddr, sync::Arc};

use bytes::Bytes;
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{CONTENT_TYPE, HeaderValue},
};

use qlio_data::percent;
use tokio::net::TcpListener;

use super::{
    Behaviour, Handler, MockBody, MockError, MockServer, body,
    find::{self, Refused},
    listen,
    upstream::refuse,
};

/// The requests that an answer is for: a method, a path and pairs of the query that they must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    method: Method,
    /// The path without its first slash, with `_` for each further one, so that a file name can hold it.
    path: String,
    pairs: Vec<(String, String)>,
}

/// Why the part of a file name that says which requests are meant does not say it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlaceError {
    #[error("`@{0}` must begin with a method, such as `@GET_books`")]
    Method(String),
    #[error(transparent)]
    Target(#[from] Refused),
}

impl Place {
    /// Reads `<METHOD>_<path>`, where `_` stands for `/` (and for itself) and `?` begins a query.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, PlaceError> {
        let (method, target) = text.split_once('_').unwrap_or((text, ""));
        let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
        let method = Method::from_bytes(method.as_bytes()).ok().filter(|_| is_method);
        let method = method.ok_or_else(|| PlaceError::Method(text.to_owned()))?;
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pairs = find::pairs(query)?;
        let path = percent::decode(path).map_err(Refused::from)?;
        Ok(Self { method, path: flat(&path), pairs })
    }

    fn fits(&self, method: &Method, path: &str, pairs: &[(String, String)]) -> bool {
        self.method == *method
            && self.path == path
            && self.pairs.iter().all(|pair| pairs.contains(pair))
    }
}

/// A path as names of files write it.
fn flat(path: &str) -> String {
    path.strip_prefix(['/', '_']).unwrap_or(path).replace('/', "_")
}

/// One answer.
#[derive(Debug, Clone)]
pub(crate) struct CannedAnswer {
    /// The requests it is for; `None` for every request.
    pub place: Option<Place>,
    /// The status.
    pub status: StatusCode,
    /// The content type.
    pub content_type: HeaderValue,
    /// The body.
    pub body: Bytes,
}

/// A socket for a mock whose answers are not known yet, because they name its port.
#[derive(Debug)]
pub(crate) struct Socket {
    listener: TcpListener,
    address: SocketAddr,
}

/// Binds a socket on loopback; port 0 takes a free one.
///
/// # Errors
/// The port is taken.
pub(crate) async fn bind(port: u16) -> Result<Socket, MockError> {
    let (listener, address) = listen::bind("127.0.0.1", port).await?;
    Ok(Socket { listener, address })
}

impl Socket {
    /// The bound port.
    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// The mock with its answers. Run it with [`MockServer::run`].
    pub(crate) fn serve(self, answers: Vec<CannedAnswer>, behaviour: Behaviour) -> MockServer {
        let shared = Arc::new((answers, behaviour));
        let handler: Handler = Arc::new(move |request, _| {
            let shared = Arc::clone(&shared);
            Box::pin(async move {
                let (answers, behaviour) = &*shared;
                behaviour.answer("mock", answer(answers, request)).await
            })
        });
        MockServer::on(self.listener, self.address, handler)
    }
}

async fn answer(answers: &[CannedAnswer], request: Request<Incoming>) -> Response<MockBody> {
    let (head, body) = request.into_parts();
    if body::collect(body).await.is_none() {
        return refuse(StatusCode::PAYLOAD_TOO_LARGE, "the request's body is too large");
    }
    match find(answers, &head.method, head.uri.path(), head.uri.query().unwrap_or_default()) {
        Ok(Some(found)) => {
            let mut response = Response::new(MockBody::full(found.body.clone()));
            *response.status_mut() = found.status;
            response.headers_mut().insert(CONTENT_TYPE, found.content_type.clone());
            response
        }
        Ok(None) => {
            let reason = format_args!("no mock answers `{} {}`", head.method, head.uri);
            refuse(StatusCode::NOT_FOUND, reason)
        }
        Err(refused) => refuse(StatusCode::BAD_REQUEST, refused),
    }
}

fn find<'a>(
    answers: &'a [CannedAnswer],
    method: &Method,
    path: &str,
    query: &str,
) -> Result<Option<&'a CannedAnswer>, Refused> {
    let pairs = find::pairs(query)?;
    let path = flat(&percent::decode(path)?);
    let fitting = answers.iter().filter(|answer| {
        answer.place.as_ref().is_none_or(|place| place.fits(method, &path, &pairs))
    });
    // The last of equals would win; names of files make them differ.
    Ok(fitting.max_by_key(|answer| answer.place.as_ref().map(|place| place.pairs.len())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canned(place: Option<&str>, body: &'static str) -> CannedAnswer {
        CannedAnswer {
            place: place.map(|place| Place::parse(place).unwrap()),
            status: StatusCode::OK,
            content_type: HeaderValue::from_static("text/plain"),
            body: Bytes::from_static(body.as_bytes()),
        }
    }

    #[test]
    fn the_most_exact_answer_is_taken() {
        let answers = [
            canned(None, "any"),
            canned(Some("GET_books_1"), "one"),
            canned(Some("GET_find_items?q=a%20b"), "query"),
            canned(Some("GET__find_items"), "path"),
            canned(Some("POST_"), "root"),
        ];
        let found = |method: Method, path, query| {
            find(&answers, &method, path, query).unwrap().map(|found| found.body.clone()).unwrap()
        };
        assert_eq!(found(Method::GET, "/books/1", "x=1"), "one");
        assert_eq!(found(Method::POST, "/books/1", ""), "any");
        assert_eq!(found(Method::GET, "/find_items", "q=a+b&z"), "query");
        assert_eq!(found(Method::GET, "/find/items", "q=c"), "path");
        assert_eq!(found(Method::POST, "/", ""), "root");
        assert!(find(&answers[1..2], &Method::GET, "/other", "").unwrap().is_none());
    }

    #[test]
    fn a_place_begins_with_a_method() {
        for text in ["", "books", "get_books", "_books"] {
            assert!(Place::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_name_is_read_or_refused(text in ".{0,40}", path in "/.{0,20}") {
            let place = Place::parse(&format!("GET_{text}")).ok();
            let answers = [CannedAnswer { place, ..canned(None, "") }];
            let _answered = find(&answers, &Method::GET, &path, &text);
        }
    }
}
