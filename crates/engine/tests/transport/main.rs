//! The transport against real sockets: a scripted upstream misbehaves in every way we know of.

#![expect(clippy::disallowed_methods, reason = "tests measure, and make files and threads")]

mod codings;
mod failures;
mod guard;
mod nginx;
mod pooling;
mod proxying;
mod redirects;
mod tinyproxy;
mod tls;
mod upstream;
mod watching;

use std::time::Duration;

use http::Method;
use qlio_engine::transport::{
    ErrorKind, Exchange, Reply, TlsSettings, Transport, TransportError, TransportSettings,
};
use qlio_testkit::program::Authority;

/// For exchanges that are meant to succeed; only a hanging test ever waits that long.
const PATIENT: Duration = Duration::from_secs(20);

/// For exchanges that are meant to time out.
const HASTY: Duration = Duration::from_millis(150);

fn transport() -> Transport {
    Transport::new(TransportSettings::default()).expect("default settings are valid")
}

fn with_tls(tls: TlsSettings) -> Transport {
    Transport::new(TransportSettings { tls, ..TransportSettings::default() }).expect("valid")
}

fn trust(authority: &Authority) -> TlsSettings {
    TlsSettings { ca_file: Some(authority.file()), ..TlsSettings::default() }
}

fn trusting(authority: &Authority) -> Transport {
    with_tls(trust(authority))
}

fn get(uri: &str) -> Exchange {
    Exchange { timeout: PATIENT, ..Exchange::new(Method::GET, uri) }
}

fn post(uri: &str, body: &'static [u8]) -> Exchange {
    Exchange { timeout: PATIENT, body: body.into(), ..Exchange::new(Method::POST, uri) }
}

async fn body_of(transport: &Transport, uri: &str) -> String {
    let reply = transport.send(get(uri)).await.expect("an answer");
    String::from_utf8(reply.body.to_vec()).expect("text")
}

async fn failure_of(transport: &Transport, exchange: Exchange) -> TransportError {
    transport.send(exchange).await.map(|reply: Reply| reply.status).expect_err("a failure")
}

fn reset() -> ErrorKind {
    ErrorKind::Connect { code: "ECONNRESET" }
}
