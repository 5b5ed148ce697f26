//! The head of the PROXY protocol, with which a proxy says whose connection it passes on (versions 1 and 2).
//!
//! Exactly the bytes of the head are taken from the socket: what comes behind them may be TLS. The head is bounded
//! in bytes here, and in time by who asks for it.

use std::{io, net::SocketAddr};

use proxy_header::{ParseConfig, ProxyHeader};
use rustix::net::{RecvFlags, recv};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, Interest},
    net::{TcpStream, UnixStream},
};

/// The longest line of version 1, with its end.
const LINE_BYTES_MAX: usize = 107;
/// What version 2 begins with.
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// The part of version 2 that has a fixed length: signature, command, family, length of the rest.
const FIXED_BYTES: usize = 16;
/// Bytes of the rest in version 2: addresses, and what a proxy adds about TLS.
const REST_BYTES_MAX: usize = 4096;

/// A stream of bytes whose next ones can be looked at.
pub(super) trait Peek: AsyncRead + Unpin {
    /// Waits for bytes and copies them, without taking them; 0 at the end.
    async fn look(&self, buffer: &mut [u8]) -> io::Result<usize>;
}

impl Peek for TcpStream {
    async fn look(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.peek(buffer).await
    }
}

impl Peek for UnixStream {
    async fn look(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.async_io(Interest::READABLE, || Ok(recv(self, &mut *buffer, RecvFlags::PEEK)?.0)).await
    }
}

/// Reads the head: the client's end and the one it has connected to; nothing if the proxy speaks for itself.
///
/// # Errors
/// It is no such head, too long, or breaks off.
pub(super) async fn read(stream: &mut impl Peek) -> io::Result<Option<(SocketAddr, SocketAddr)>> {
    // No head of either version is shorter than what tells them apart.
    let mut head = vec![0; SIGNATURE.len()];
    stream.read_exact(&mut head).await?;
    if head == SIGNATURE {
        head.resize(FIXED_BYTES, 0);
        stream.read_exact(&mut head[SIGNATURE.len()..]).await?;
        let rest = usize::from(u16::from_be_bytes([head[14], head[15]]));
        if rest > REST_BYTES_MAX {
            return Err(bad(&format!("it is longer than {REST_BYTES_MAX} bytes")));
        }
        head.resize(FIXED_BYTES + rest, 0);
        stream.read_exact(&mut head[FIXED_BYTES..]).await?;
    } else if head.starts_with(b"PROXY ") {
        read_line(stream, &mut head).await?;
    } else {
        return Err(bad("the connection begins with something else"));
    }
    let config = ParseConfig { include_tlvs: false, allow_v1: true, allow_v2: true };
    match ProxyHeader::parse(&head, config) {
        Ok((parsed, length)) if length == head.len() => {
            Ok(parsed.proxied_address().map(|ends| (ends.source, ends.destination)))
        }
        Ok(_) => Err(bad("there is more in it than it says")),
        Err(error) => Err(bad(&error.to_string())),
    }
}

/// Takes the rest of the line.
async fn read_line(stream: &mut impl Peek, line: &mut Vec<u8>) -> io::Result<()> {
    let mut seen = [0; LINE_BYTES_MAX];
    while line.last() != Some(&b'\n') {
        let room = LINE_BYTES_MAX - line.len();
        if room == 0 {
            return Err(bad(&format!("its line is longer than {LINE_BYTES_MAX} bytes")));
        }
        let count = stream.look(&mut seen[..room]).await?;
        if count == 0 {
            return Err(bad("it breaks off"));
        }
        let end = seen[..count].iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(count, |at| at + 1);
        let begin = line.len();
        line.resize(begin + taken, 0);
        stream.read_exact(&mut line[begin..]).await?;
    }
    Ok(())
}

fn bad(reason: &str) -> io::Error {
    io::Error::other(format!("no head of the PROXY protocol: {reason}"))
}

#[cfg(test)]
mod tests {
    use std::{
        cell::Cell,
        pin::Pin,
        task::{Context, Poll},
    };

    use proptest::prelude::*;
    use tokio::io::ReadBuf;

    use super::*;

    /// Bytes that come in pieces of this length.
    struct Pieces {
        bytes: Vec<u8>,
        at: Cell<usize>,
        piece: usize,
    }

    impl Peek for Pieces {
        async fn look(&self, buffer: &mut [u8]) -> io::Result<usize> {
            let rest = &self.bytes[self.at.get()..];
            let count = rest.len().min(buffer.len()).min(self.piece);
            buffer[..count].copy_from_slice(&rest[..count]);
            Ok(count)
        }
    }

    impl AsyncRead for Pieces {
        fn poll_read(
            self: Pin<&mut Self>,
            _context: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let rest = &self.bytes[self.at.get()..];
            let count = rest.len().min(buffer.remaining()).min(self.piece);
            buffer.put_slice(&rest[..count]);
            self.at.set(self.at.get() + count);
            Poll::Ready(Ok(()))
        }
    }

    type Found = Result<Option<(SocketAddr, SocketAddr)>, String>;

    /// What is read, and what stands behind it.
    fn read_pieces(bytes: &[u8], piece: usize) -> (Found, Vec<u8>) {
        let mut pieces = Pieces { bytes: bytes.to_vec(), at: Cell::new(0), piece };
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let found = runtime.block_on(read(&mut pieces)).map_err(|error| error.to_string());
        (found, pieces.bytes.split_off(pieces.at.get()))
    }

    fn version_2(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let length = u16::try_from(rest.len()).expect("short").to_be_bytes();
        [&SIGNATURE[..], &[command, family], &length, rest].concat()
    }

    #[test]
    fn both_versions_are_read_and_nothing_behind_them() {
        let ends = |source: &str, destination: &str| {
            let end = |text: &str| text.parse::<SocketAddr>().expect("an address");
            Ok(Some((end(source), end(destination))))
        };
        let ipv4 = [&[192, 0, 2, 7, 10, 0, 0, 1][..], &[0x10, 0, 0x01, 0xbb]].concat();
        let with_more = [&ipv4[..], &[0x20, 0, 2, 1, 1]].concat();
        for (head, expected) in [
            (
                b"PROXY TCP4 192.0.2.7 10.0.0.1 4096 443\r\n".to_vec(),
                ends("192.0.2.7:4096", "10.0.0.1:443"),
            ),
            (b"PROXY TCP6 2001:db8::1 ::1 1 2\r\n".to_vec(), ends("[2001:db8::1]:1", "[::1]:2")),
            (b"PROXY UNKNOWN\r\n".to_vec(), Ok(None)),
            (b"PROXY UNKNOWN any thing\r\n".to_vec(), Ok(None)),
            (version_2(0x21, 0x11, &ipv4), ends("192.0.2.7:4096", "10.0.0.1:443")),
            (version_2(0x21, 0x11, &with_more), ends("192.0.2.7:4096", "10.0.0.1:443")),
            (version_2(0x20, 0, &[]), Ok(None)),
        ] {
            for piece in [1, 7, 1000] {
                let bytes = [&head[..], b"\x16\x03\n"].concat();
                let (found, rest) = read_pieces(&bytes, piece);
                assert_eq!((&found, &rest[..]), (&expected, &b"\x16\x03\n"[..]), "{head:?}");
            }
        }
    }

    #[test]
    fn what_is_no_head_is_refused() {
        let long = format!("PROXY TCP4 {}\r\n", "1".repeat(LINE_BYTES_MAX));
        for (bytes, reason) in [
            (&b"GET / HTTP/1.1\r\n\r\n"[..], "something else"),
            (b"PROXY TCP4 192.0.2.7 10.0.0.1 4096\r\n", "PROXY"),
            (b"PROXY TCP4 192.0.2.7 10.0.0.1 1 70000\r\n", "PROXY"),
            (b"PROXY TCP4 192.0.2.7", "breaks off"),
            (long.as_bytes(), "longer than"),
            (&version_2(0x21, 0x11, &[1, 2]), "PROXY"),
            (&version_2(0x21, 0x11, &vec![0; REST_BYTES_MAX + 1]), "longer than"),
            (&version_2(0x31, 0x11, &[0; 12]), "PROXY"),
            (b"PROXY", "eof"),
        ] {
            let (found, _) = read_pieces(bytes, 1000);
            let message = found.expect_err("it is none");
            assert!(message.contains(reason), "{message}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            begin in prop::sample::select(vec![&b""[..], b"PROXY ", b"PROXY TCP4 ", SIGNATURE]),
            more in prop::collection::vec(any::<u8>(), 0..200),
            piece in 1_usize..40,
        ) {
            let bytes = [begin, &more].concat();
            let (_, rest) = read_pieces(&bytes, piece);
            prop_assert!(bytes.ends_with(&rest));
        }
    }
}
