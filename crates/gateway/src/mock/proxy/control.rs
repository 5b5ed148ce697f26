//! The control endpoints: read and change the configuration, and the page that does it by hand.
//!
//! They are for this machine: the client must come from loopback, must have asked for a loopback name
//! (so that no foreign name can be pointed here), and no page of another site may be behind it. A flag
//! opens them to other machines.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, PoisonError},
};

use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::Incoming,
    header::{ALLOW, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderValue},
};

use super::{
    super::{
        MockBody, MockError,
        behaviour::{json_answer, text},
        error::Unusable,
        find,
    },
    Proxy,
    config::{GLOBAL, is_key},
    locked, tcp,
};

const EDITOR: &str = include_str!("editor.html");

/// The address that is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint {
    Get,
    Set,
    Editor,
}

impl Endpoint {
    pub(super) fn at(path: &str) -> Option<Self> {
        match path {
            get if get.eq_ignore_ascii_case("/getconfig") => Some(Self::Get),
            set if set.eq_ignore_ascii_case("/setconfig") => Some(Self::Set),
            "/config/index.html" | "/config/" | "/config" => Some(Self::Editor),
            _ => None,
        }
    }
}

pub(super) async fn answer(
    proxy: &Arc<Proxy>,
    endpoint: Endpoint,
    request: &Request<Incoming>,
    peer: SocketAddr,
) -> Response<MockBody> {
    if let Err(reason) = may_control(proxy, request.headers(), peer.ip()) {
        return text(StatusCode::FORBIDDEN, reason);
    }
    if request.method() != Method::GET {
        let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "GET only");
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
        return response;
    }
    let Ok(mut parameters) = find::pairs(request.uri().query().unwrap_or_default()) else {
        return text(StatusCode::BAD_REQUEST, "Bad Query");
    };
    let mut take = |wanted: &str| {
        let at = parameters.iter().position(|(name, _)| name == wanted)?;
        Some(parameters.remove(at).1)
    };
    let (key, tenant) = (take("srcUrl"), take("tenant").unwrap_or_else(|| GLOBAL.to_owned()));
    match (endpoint, key) {
        (Endpoint::Editor, _) => editor(),
        (Endpoint::Get, None) => json_answer(StatusCode::OK, &proxy.config().to_value()),
        (Endpoint::Get, Some(key)) => match proxy.config().entry(&tenant, &key) {
            Some(entry) => json_answer(StatusCode::OK, &entry.to_value()),
            None => text(StatusCode::NOT_FOUND, "Bad Url"),
        },
        (Endpoint::Set, Some(key)) if is_key(&key) => {
            match set(proxy, &tenant, &key, &parameters).await {
                Ok(response) => response,
                Err(error) => text(StatusCode::BAD_REQUEST, error.to_string()),
            }
        }
        (Endpoint::Set, _) => text(StatusCode::BAD_REQUEST, "Bad Url"),
    }
}

async fn set(
    proxy: &Arc<Proxy>,
    tenant: &str,
    key: &str,
    changes: &[(String, String)],
) -> Result<Response<MockBody>, MockError> {
    let changed = proxy.config().changed(tenant, key, changes).map_err(Unusable::from)?;
    if let Some(port) = changed.tcp_port() {
        tcp::listen(proxy, port).await?;
    }
    let (entry, whole) = {
        let mut config = proxy.config.write().unwrap_or_else(PoisonError::into_inner);
        // Made again: another change may have come meanwhile.
        let entry = Arc::new(config.changed(tenant, key, changes).map_err(Unusable::from)?);
        config.put(tenant, Arc::clone(&entry));
        (entry, config.to_value())
    };
    // The change holds whether or not it could be saved, but whoever made it is told.
    let saved = locked(&proxy.saver).save(&whole);
    match saved {
        Ok(()) => Ok(json_answer(StatusCode::OK, &entry.to_value())),
        Err(error) => Ok(text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())),
    }
}

fn may_control(proxy: &Proxy, headers: &HeaderMap, peer: IpAddr) -> Result<(), &'static str> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if header("sec-fetch-site").is_some_and(|site| site == "cross-site" || site == "same-site") {
        return Err("pages of other sites may not control this proxy");
    }
    if proxy.has_remote_control {
        return Ok(());
    }
    if !peer.to_canonical().is_loopback() {
        return Err("only this machine may control this proxy; `--remote-control` opens it");
    }
    let host = headers.get(HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !is_local_name(host) {
        return Err(
            "control this proxy by `localhost` or its address; `--remote-control` allows other names",
        );
    }
    Ok(())
}

fn is_local_name(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn editor() -> Response<MockBody> {
    let mut response = Response::new(MockBody::full(EDITOR));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'",
        ),
    );
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_names_are_local() {
        for host in
            ["localhost", "LOCALHOST:3201", "127.0.0.1", "127.0.0.1:80", "[::1]:3201", "[::1]"]
        {
            assert!(is_local_name(host), "{host}");
        }
        for host in
            ["", "evil.test", "evil.test:3201", "10.0.0.1", "localhost.evil.test", "[::1].test"]
        {
            assert!(!is_local_name(host), "{host}");
        }
    }
}
