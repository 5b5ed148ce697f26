//! Settings of where clients are listened to, of TLS, and of HTTP/2.

use super::{HEADER_NAME, Setting, TIME_MAX, TextRule};
use crate::http::{forwarded::is_network, server::is_listen_text};

/// Most handshakes at the same time that may be allowed.
const HANDSHAKES_MAX: u64 = 100_000;

/// Most streams of a connection that may be allowed.
const STREAMS_MAX: u64 = 10_000;

const PLACE: TextRule = TextRule {
    accepts: is_listen_text,
    wanted: "an address such as `0.0.0.0:3000` or `unix:/run/qlio/http.sock`, and behind it any of `tls`, `proxy` and `mode=660`",
};

const NETWORK: TextRule =
    TextRule { accepts: is_network, wanted: "an address or a network such as `10.0.0.0/8`" };

pub(super) const SETTINGS: &[Setting] = &[
    Setting::new(
        "listen",
        |draft| &mut draft.front.listen.places,
        "Where clients are listened to, instead of `--host` and `--port`: each a `host:port`, a port of `127.0.0.1`, or `unix:` and a path. Behind it may stand `tls` (the certificates below), `proxy` (every connection begins with the PROXY protocol, of a proxy that `trust.proxies` names) and for a path `mode=660` (who may connect). See [Listening](../operating/listen.md).",
    )
    .fixed()
    .flags(&["--listen"])
    .matching(PLACE)
    .default_is("what `--host` and `--port` say")
    .guarding(),
    Setting::new(
        "trust.proxies",
        |draft| &mut draft.front.trust.proxies,
        "Networks of the proxies in front of this server. What they say of the client behind them is believed: in the header below, and in the PROXY protocol where `listen` asks for it.",
    )
    .matching(NETWORK)
    .default_is("none")
    .guarding(),
    Setting::new(
        "trust.forwardedHeader",
        |draft| &mut draft.front.trust.forwarded,
        "The header in which these proxies say whose request they pass on. The other one is not looked at: they pass it on as clients send it.",
    )
    .guarding(),
    Setting::new(
        "tls.certificate",
        |draft| &mut draft.front.tls.certificates,
        "Files in PEM, each with a certificate and those that vouch for it. Of several, a client gets the one for the name that it asks for, else the first. With it, `--host` and `--port` speak TLS.",
    )
    .fixed()
    .default_is("none")
    .guarding(),
    Setting::new(
        "tls.key",
        |draft| &mut draft.front.tls.keys,
        "Files in PEM with the private keys of these certificates, in the same order.",
    )
    .fixed()
    .default_is("none")
    .guarding(),
    Setting::new(
        "tls.minVersion",
        |draft| &mut draft.front.tls.oldest,
        "The oldest version of TLS that clients may speak.",
    )
    .fixed()
    .guarding(),
    Setting::new(
        "tls.clientAuthorities",
        |draft| &mut draft.front.tls.client_authorities,
        "A file in PEM with the authorities that vouch for clients. With it, clients have to show a certificate of theirs.",
    )
    .fixed()
    .default_is("none; no client is asked for a certificate")
    .guarding(),
    Setting::new(
        "tls.clientCertificate",
        |draft| &mut draft.front.tls.client,
        "Whether a client without a certificate is turned away, or let in without an identity, where `tls.clientAuthorities` is set. A certificate that nobody vouches for never lets in.",
    )
    .fixed()
    .guarding(),
    Setting::new(
        "tls.identityHeader",
        |draft| &mut draft.front.tls.identity_header,
        "The header in which scripts find who a client with a certificate is: its first URI, else its first DNS name, else its common name. What clients send under this name is dropped.",
    )
    .matching(HEADER_NAME)
    .default_is("none")
    .guarding(),
    Setting::new(
        "tls.handshakeMs",
        |draft| &mut draft.front.tls.handshake_timeout,
        "How long a client may take for the TLS handshake, its waiting for others included.",
    )
    .fixed()
    .limit("a connection", "closed")
    .within(1, TIME_MAX),
    Setting::new(
        "tls.maxHandshakes",
        |draft| &mut draft.front.tls.handshakes_max,
        "Most TLS handshakes at the same time; further ones wait.",
    )
    .fixed()
    .limit("the server", "further ones wait, at most `tls.handshakeMs`")
    .within(1, HANDSHAKES_MAX),
    Setting::new(
        "http2.maxStreams",
        |draft| &mut draft.front.listen.streams_max,
        "Most requests in flight of one connection of HTTP/2. Clients are told and keep further ones; who sends them all the same has them refused.",
    )
    .fixed()
    .limit("a connection of HTTP/2", "the stream is refused")
    .within(1, STREAMS_MAX),
    Setting::new(
        "http2.plain",
        |draft| &mut draft.front.listen.plain_http2,
        "HTTP/2 is spoken without TLS, too, with clients that begin with it.",
    )
    .fixed(),
];
