//! Forward proxies: which one to use, and opening a tunnel through it (UPS-27, UPS-28).

use std::{collections::HashMap, io, sync::Arc};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::{
    error::{ErrorKind, Fault},
    settings::{ProxyLogin, ProxyTarget},
    target::Target,
};

/// The longest answer to CONNECT, in bytes.
const TUNNEL_HEAD_BYTES_MAX: usize = 8 * 1024;

/// The most headers in an answer to CONNECT.
const TUNNEL_HEADERS_MAX: usize = 64;

/// The proxy table of the settings.
#[derive(Debug, Default)]
pub(super) struct Proxies {
    by_key: HashMap<String, Option<Arc<ProxyTarget>>>,
}

impl Proxies {
    pub(super) fn new(settings: &[(String, Option<ProxyTarget>)]) -> Self {
        let entry = |(key, target): &(String, Option<ProxyTarget>)| {
            (key.to_ascii_lowercase(), target.clone().map(Arc::new))
        };
        Self { by_key: settings.iter().map(entry).collect() }
    }

    /// The proxy for a request, `None` for going direct.
    pub(super) fn select(&self, target: &Target, table: &str) -> Option<Arc<ProxyTarget>> {
        if self.by_key.is_empty() {
            return None;
        }
        [target.site.host_and_port(), target.site.host.as_str(), &table.to_ascii_lowercase(), "*"]
            .iter()
            .find_map(|key| self.by_key.get(*key))
            .cloned()
            .flatten()
    }
}

/// Asks a proxy for a tunnel to the target; afterwards `stream` speaks with the target itself.
pub(super) async fn open_tunnel<S>(
    stream: &mut S,
    target: &Target,
    login: Option<&ProxyLogin>,
) -> Result<(), Fault>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let authority = target.site.host_and_port();
    let mut request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n").into_bytes();
    if let Some(login) = login {
        request.extend_from_slice(b"Proxy-Authorization: ");
        request.extend_from_slice(login.authorization.as_bytes());
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"\r\n");
    stream.write_all(&request).await.map_err(|cause| Fault::from_io(&cause))?;
    let mut head = Vec::with_capacity(256);
    loop {
        // Byte by byte, because what follows the head belongs to the target, which may speak first.
        let byte = stream.read_u8().await.map_err(|cause| match cause.kind() {
            io::ErrorKind::UnexpectedEof => Fault::new(ErrorKind::ProxyFailed, "connection closed"),
            _ => Fault::from_io(&cause),
        })?;
        head.push(byte);
        if head.len() > TUNNEL_HEAD_BYTES_MAX {
            return Err(Fault::new(ErrorKind::ProxyFailed, "answer too long"));
        }
        if byte == b'\n'
            && let Some(status) = status_of(&head)?
        {
            return match status {
                200..300 => Ok(()),
                _ => Err(Fault::new(ErrorKind::ProxyFailed, format_args!("status {status}"))),
            };
        }
    }
}

/// The status in the head of an answer; `None` if the head goes on.
fn status_of(head: &[u8]) -> Result<Option<u16>, Fault> {
    let mut headers = [httparse::EMPTY_HEADER; TUNNEL_HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(head) {
        Ok(httparse::Status::Complete(_)) => Ok(Some(response.code.unwrap_or_default())),
        Ok(httparse::Status::Partial) => Ok(None),
        Err(cause) => Err(Fault::new(ErrorKind::ProxyFailed, cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(uri: &str, table: &str) -> Option<String> {
        let proxy = |host: &str| Some(ProxyTarget { host: host.into(), port: 1, login: None });
        let proxies = Proxies::new(&[
            ("a.test:81".into(), proxy("by-port")),
            ("a.test".into(), proxy("by-host")),
            ("direct.test".into(), None),
            ("T".into(), proxy("by-table")),
            ("*".into(), proxy("by-default")),
        ]);
        proxies.select(&Target::parse(uri).expect("valid"), table).map(|p| p.host.clone())
    }

    #[test]
    fn the_most_specific_entry_wins() {
        assert_eq!(chosen("http://a.test:81/", "t").as_deref(), Some("by-port"));
        assert_eq!(chosen("http://A.test:82/", "t").as_deref(), Some("by-host"));
        assert_eq!(chosen("http://b.test/", "t").as_deref(), Some("by-table"));
        assert_eq!(chosen("http://b.test/", "u").as_deref(), Some("by-default"));
        assert_eq!(chosen("http://direct.test/", "t"), None);
    }

    #[tokio::test]
    async fn a_refused_tunnel_is_a_proxy_failure() {
        let target = Target::parse("https://h.test/").expect("valid");
        let endless = format!("HTTP/1.1 200 OK\r\nA: {}", "a".repeat(TUNNEL_HEAD_BYTES_MAX));
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(TUNNEL_HEADERS_MAX + 1));
        for answer in ["HTTP/1.1 407 No\r\n\r\n", "nonsense\r\n\r\n", "", &endless, &many] {
            let (mut ours, mut theirs) = tokio::io::duplex(1 << 14);
            theirs.write_all(answer.as_bytes()).await.expect("written");
            theirs.shutdown().await.expect("closed");
            let fault = open_tunnel(&mut ours, &target, None).await.expect_err("refused");
            assert_eq!(fault.kind, ErrorKind::ProxyFailed, "{answer}");
        }
    }

    #[tokio::test]
    async fn a_target_that_speaks_first_is_heard() {
        let target = Target::parse("http://h.test/").expect("valid");
        let (mut ours, mut theirs) = tokio::io::duplex(4096);
        let answer = b"HTTP/1.1 200 OK\r\nVia: 1.1 p\r\n\r\nhello";
        theirs.write_all(answer).await.expect("written");
        assert!(open_tunnel(&mut ours, &target, None).await.is_ok());
        let mut heard = [0; 5];
        ours.read_exact(&mut heard).await.expect("there");
        assert_eq!(&heard, b"hello");
    }
}
