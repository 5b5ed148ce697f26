//! Parsing of request bodies by media type, and reading them under limits.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use http_body_util::Full;
use hyper::body::Frame;
use proptest::prelude::*;

use super::*;

fn parsed(content_type: &str, body: &str) -> ParsedBody {
    parse(Some(content_type), Bytes::copy_from_slice(body.as_bytes()), &XmlOptions::default())
        .unwrap_or_else(|error| panic!("{content_type} {body}: {error}"))
}

fn check(content_type: &str, body: &str, expected: &str) {
    let parsed = parsed(content_type, body);
    assert_eq!(json::to_string(&parsed.value), expected, "{content_type} {body}");
    assert_eq!(parsed.raw, body);
    assert_eq!(parsed.content_type.as_deref(), Some(content_type));
}

#[test]
fn the_media_type_decides_how_a_body_is_read() {
    check("application/json", r#"{"a":[1]}"#, r#"{"a":[1]}"#);
    check("Application/JSON; charset=utf-8", "[1]", "[1]");
    check("application/vnd.x+json", "7", "7");
    check("application/json", "", "{}");
    check(
        "application/x-www-form-urlencoded",
        "title=T&author[name]=N",
        r#"{"title":"T","author":{"name":"N"}}"#,
    );
    check("application/xml", "<title>T1</title>", r#"{"title":"T1"}"#);
    check("text/xml", "<title>T1</title>", r#"{"title":"T1"}"#);
    check("application/atom+xml", "<n>5</n>", r#"{"n":5}"#);
    check("opaque", "<hello/>", "{}");
    check("text/plain", "{\"a\":1}", "{}");
    check("application/octet-stream", "x", "{}");
}

#[test]
fn no_type_means_no_names() {
    for content_type in [None, Some("  ")] {
        let parsed = parse(content_type, Bytes::from_static(b"{\"a\":1}"), &XmlOptions::default());
        let parsed = parsed.expect("nothing is parsed");
        assert_eq!(json::to_string(&parsed.value), "{}");
        assert_eq!(parsed.raw, "{\"a\":1}");
    }
}

#[test]
fn other_charsets_are_read() {
    let latin = Bytes::from_static(b"{\"a\":\"caf\xe9\"}");
    let parsed = parse(Some("application/json;charset=iso-8859-1"), latin, &XmlOptions::default());
    assert_eq!(json::to_string(&parsed.expect("latin").value), r#"{"a":"café"}"#);
}

#[test]
fn malformed_bodies_say_why() {
    for (content_type, body, code) in [
        ("application/json", &b"{bad"[..], codes::BAD_JSON),
        ("application/json", b"  ", codes::BAD_JSON),
        ("application/json", b"\"\xff\"", codes::BAD_JSON),
        ("application/json;charset=klingon", b"1", codes::UNKNOWN_CHARSET),
        ("application/json;charset=utf-16", b"123", codes::BAD_TEXT),
        ("application/xml", b"<a><b></a>", codes::BAD_XML),
        ("application/x-www-form-urlencoded", b"a=%G1", codes::BAD_FORM),
        ("application/x-www-form-urlencoded", b"a=\xff", codes::BAD_TEXT),
        ("multipart/form-data", b"--x\r\n", codes::BAD_MULTIPART),
        ("multipart/form-data; boundary=x", b"nothing", codes::BAD_MULTIPART),
        ("multipart/mixed; boundary=x", b"--x--", codes::BAD_MULTIPART),
    ] {
        let body = Bytes::from_static(body);
        let error = parse(Some(content_type), body, &XmlOptions::default());
        let error = error.expect_err(content_type);
        assert!(!error.reason.is_empty());
        assert_eq!(error.code, code, "{content_type}");
        assert_eq!(Failure::from(error).status(), 400);
    }
}

#[test]
fn the_first_part_is_the_body_and_the_others_are_attachments() {
    let body = "--b\r\nContent-Type: application/xml\r\n\r\n<a/>\r\n--b\r\n\
                Content-Disposition: form-data; name=\"pic\"; filename=\"p.png\"\r\n\
                Content-Type: image/png\r\n\r\nPNG\r\n--b--\r\n";
    let parsed = parsed("multipart/related; boundary=\"b\"", body);
    assert_eq!(parsed.raw, "<a/>");
    assert_eq!(parsed.content_type.as_deref(), Some("application/xml"));
    assert_eq!(json::to_string(&parsed.value), "{}");
    assert_eq!(parsed.parts.len(), 1);
    assert_eq!(parsed.parts[0].name, "pic");
    assert_eq!(parsed.parts[0].data, "PNG");
}

/// Room for any body.
static ROOM: Quota = Quota::new(usize::MAX);

/// Reads a body that has room.
async fn read<B>(body: B, coding: Option<&str>, limits: &BodyLimits) -> Result<Bytes, Failure>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: fmt::Display,
{
    super::read(body, coding, limits, &ROOM, &Heavy::default()).await.map(|(body, _)| body)
}

fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime")
        .block_on(future)
}

/// A body that comes in pieces of three bytes and has no declared length.
struct Pieces<'b>(std::slice::Chunks<'b, u8>);

impl Body for Pieces<'_> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.0.next();
        Poll::Ready(next.map(|piece| Ok(Frame::data(Bytes::copy_from_slice(piece)))))
    }
}

#[test]
fn the_size_limit_holds_on_both_sides_however_the_body_comes() {
    let limits = BodyLimits { request_bytes_max: 10, ..BodyLimits::default() };
    for body in [&b"0123456789"[..], b"01234567890"] {
        let is_allowed = body.len() <= 10;
        let whole = run(read(Full::new(Bytes::copy_from_slice(body)), None, &limits));
        let pieces = run(read(Pieces(body.chunks(3)), None, &limits));
        for read in [whole, pieces] {
            match read {
                Ok(bytes) => assert!(is_allowed && bytes == body),
                Err(failure) => assert!(!is_allowed && failure.status() == 413),
            }
        }
    }
}

#[test]
fn a_coded_body_is_decoded_and_stays_within_the_limit() {
    let limits = BodyLimits { request_bytes_max: 1000, ..BodyLimits::default() };
    let coded = |size: usize| {
        compress::compress(&vec![b'x'; size], super::super::negotiate::Coding::Gzip)
            .expect("memory takes everything")
    };
    assert_eq!(run(read(Full::new(coded(1000)), Some("gzip"), &limits)).expect("fits").len(), 1000);
    let failure = run(read(Full::new(coded(1001)), Some("gzip"), &limits)).expect_err("too large");
    assert_eq!(failure.status(), 413);
    let failure = run(read(Full::new(coded(10)), Some("br"), &limits)).expect_err("unknown");
    assert_eq!(failure.status(), 415);
}

#[test]
fn what_is_too_large_for_the_worker_is_understood_all_the_same() {
    let gzip = |body: &Bytes| {
        compress::compress(body, super::super::negotiate::Coding::Gzip).expect("memory takes it")
    };
    for bytes in [AT_ONCE_BYTES_MAX, AT_ONCE_BYTES_MAX + 1, 10 * AT_ONCE_BYTES_MAX] {
        let plain = Bytes::from(format!("\"{}\"", "x".repeat(bytes - 2)));
        for (body, coding) in [(plain.clone(), None), (gzip(&plain), Some("gzip"))] {
            let read = |request_bytes_max| {
                let limits = BodyLimits { request_bytes_max, ..BodyLimits::default() };
                run(read(Full::new(body.clone()), coding, &limits))
            };
            let raw = read(bytes).expect("fits");
            assert_eq!(raw, plain);
            assert_eq!(read(bytes - 1).expect_err("too large").status(), 413);
            let (xml, heavy) = (XmlOptions::default(), Heavy::default());
            let parsed = run(understand(Some("application/json"), raw, &xml, &heavy));
            let value = parsed.expect("valid").value;
            assert_eq!(value.as_str().map(str::len), Some(bytes - 2));
        }
    }
}

#[test]
fn all_bodies_together_have_a_limit_and_give_their_room_back() {
    let room = Quota::new(100);
    let limits = BodyLimits { request_bytes_max: 100, ..BodyLimits::default() };
    let body = |bytes: usize| Full::new(Bytes::from(vec![b'x'; bytes]));
    let heavy = Heavy::default();
    let read = |body, coding| super::read(body, coding, &limits, &room, &heavy);
    let (first, share) = run(read(body(60), None)).expect("there is room");
    let failure = run(read(body(41), None)).expect_err("there is none");
    assert_eq!((failure.status().as_u16(), failure.retry_after()), (503, Some(1)));
    assert!(json::to_string(&failure.body()).contains("`maxBodiesMemory` (100 bytes)"));
    assert!(failure.closes_connection());
    let (_, second) = run(read(body(40), None)).expect("exactly");
    drop((first, share));
    // It takes room as it comes, twice of what has come at most.
    let pieces =
        |bytes: &'static [u8]| super::read(Pieces(bytes.chunks(3)), None, &limits, &room, &heavy);
    let (whole, third) = run(pieces(&[b'x'; 30])).expect("there is room");
    assert_eq!(whole.len(), 30);
    assert!(room.take(31).is_none(), "40 and 30 bytes are kept");
    assert_eq!(run(pieces(&[b'x'; 31])).expect_err("there is none").status(), 503);
    drop((whole, second, third));
    assert!(room.take(100).is_some(), "all of it is free again");
    // What unfolds takes room, too.
    let coded = compress::compress(&[b'x'; 90], super::super::negotiate::Coding::Gzip);
    let coded = coded.expect("memory takes everything");
    let failure = run(read(Full::new(coded), Some("gzip"))).expect_err("90 and the coded bytes");
    assert_eq!(failure.status(), 503);
}

struct Never;

impl Body for Never {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
}

#[test]
fn a_body_that_stops_coming_times_out() {
    let pace = Pace { pause_max: Duration::from_millis(1), rate_min: 1 };
    let limits = BodyLimits { pace, ..BodyLimits::default() };
    assert_eq!(run(read(Never, None, &limits)).expect_err("never comes").status(), 408);
}

/// One byte per millisecond.
struct Drip {
    left: usize,
    pause: std::pin::Pin<Box<tokio::time::Sleep>>,
}

impl Body for Drip {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, Self::Error>>> {
        std::task::ready!(self.pause.as_mut().poll(context));
        if self.left == 0 {
            return std::task::Poll::Ready(None);
        }
        self.left -= 1;
        let next = tokio::time::Instant::now() + Duration::from_millis(1);
        self.pause.as_mut().reset(next);
        std::task::Poll::Ready(Some(Ok(hyper::body::Frame::data(Bytes::from_static(b"x")))))
    }
}

#[test]
fn a_body_that_only_drips_times_out_although_it_never_pauses() {
    let drip = |left, rate_min| {
        let pace = Pace { pause_max: Duration::from_secs(1), rate_min };
        let limits = BodyLimits { pace, ..BodyLimits::default() };
        run(async move {
            let pause = Box::pin(tokio::time::sleep(Duration::ZERO));
            read(Drip { left, pause }, None, &limits).await
        })
    };
    assert_eq!(drip(50, 1).expect("slow, but soon over").len(), 50);
    assert_eq!(drip(1_000_000, 10_000).expect_err("would take a quarter of an hour").status(), 408);
}

proptest! {
    #[test]
    fn any_body_is_parsed_or_refused_without_panic(
        body in proptest::collection::vec(any::<u8>(), 0..100),
        content_type in "(application/json|text/xml|application/x-www-form-urlencoded|multipart/mixed;boundary=a|.{0,20})",
    ) {
        let _ = parse(Some(&content_type), body.into(), &XmlOptions::default());
    }
}
