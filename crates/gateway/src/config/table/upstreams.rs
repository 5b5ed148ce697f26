//! Requests to upstreams.

use super::{HEADER_NAME, HOST_PATTERN, Setting, TextRule};

const HEADER_VALUE: TextRule =
    TextRule { accepts: is_header_value, wanted: "text that a header can carry" };

/// Whether a text can be the value of a header.
fn is_header_value(text: &str) -> bool {
    hyper::header::HeaderValue::from_str(text).is_ok()
}

pub(super) const SETTINGS: &[Setting] = &[
            Setting::new(
                "proxy",
                |draft| &mut draft.transport.proxies,
                "Forward proxies by `host:port`, host, table name or `*`, looked up in that order.",
            )
            .guarding(),
            Setting::new(
                "tls.caFile",
                |draft| &mut draft.transport.tls.ca_file,
                "PEM file with trusted roots beside the usual ones.",
            )
            .guarding(),
            Setting::new(
                "tls.clientCert",
                |draft| &mut draft.transport.tls.client_cert,
                "PEM file with our certificate chain, for upstreams that ask for one; needs `tls.clientKey`.",
            )
            .guarding(),
            Setting::new(
                "tls.clientKey",
                |draft| &mut draft.transport.tls.client_key,
                "PEM file with the private key of `tls.clientCert`.",
            )
            .guarding(),
            Setting::new(
                "tls.insecureHosts",
                |draft| &mut draft.transport.tls.insecure_hosts,
                "Host patterns whose certificates are not verified; for tests only.",
            )
            .guarding()
            .matching(HOST_PATTERN),
            Setting::new(
                "egress.allow",
                |draft| &mut draft.transport.egress.allow,
                "Hosts that inline tables of ad-hoc scripts may call beside those of loaded tables, even at private addresses, and that redirects may lead to: `*`, `host`, `*.domain`, each with an optional `:port`, or an address or network.",
            )
            .guarding()
            .matching(HOST_PATTERN),
            Setting::new(
                "egress.deny",
                |draft| &mut draft.transport.egress.deny,
                "Hosts that nobody may call; beats everything else.",
            )
            .guarding()
            .matching(HOST_PATTERN),
            Setting::new(
                "egress.viaProxy",
                |draft| &mut draft.transport.egress.via_proxy,
                "Who guards addresses behind a forward proxy. `resolve`: we do, so names whose address matters to the rules must resolve here before the proxy is asked. `trusted`: the proxy has rules of its own.",
            )
            .guarding(),
            Setting::new(
                "backoff.scope",
                |draft| &mut draft.transport.backoff.scope,
                "What is left alone for a while after failures: the URI, or all of its scheme, host and port.",
            ),
            Setting::new(
                "userAgent",
                |draft| &mut draft.settings.user_agent,
                "The header `user-agent` of upstream requests.",
            )
            .matching(HEADER_VALUE)
            .default_is("`qlio/` and the version"),
            Setting::new(
                "connection",
                |draft| &mut draft.settings.connection,
                "The header `connection` of upstream requests.",
            )
            .matching(HEADER_VALUE),
            Setting::new(
                "requestId.header",
                |draft| &mut draft.settings.request_id_header,
                "Name of the header that carries request ids, in answers and in upstream requests.",
            )
            .alias(&["requestId", "request-id"])
            .flags(&["--requestId"])
            .matching(HEADER_NAME),
            Setting::new(
                "requestId.trail",
                |draft| &mut draft.settings.request_id_trail,
                "Answer with the ids of all upstream requests behind our own, as the original did.",
            ),
            Setting::new(
                "xml.coerce",
                |draft| &mut draft.settings.xml_coerce,
                "Which texts of XML become numbers and booleans where a table does not say: those that print as the same text again, all that the original read so, or none.",
            ),
        ];
