//! The few commands of memcached's text protocol that the cache needs, on one connection.
//!
//! Written here because the crates at hand trust what the server says: lengths are allocated before
//! they are checked, and a put is either not confirmed or leaves the connection in an unknown state.
//! Here every line and value has a bound, and after any failure the connection is thrown away.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The longest line of an answer.
const LINE_BYTES_MAX: usize = 4096;

/// Most lines of statistics.
const STATISTICS_MAX: usize = 1000;

/// One thing to ask for.
#[derive(Debug)]
pub(super) enum Command<'a> {
    /// The values of some names.
    Get(&'a [String]),
    /// Set a value under a name. The expiry is in seconds or, beyond 30 days, a date.
    Set { name: &'a str, expiry: u64, value: &'a [u8] },
    /// What the server counts.
    Statistics,
}

/// What a command gave.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// In the order of the names.
    Values(Vec<Option<Bytes>>),
    Stored,
    Statistics(Vec<(String, String)>),
}

/// Why a command gave nothing.
#[derive(Debug)]
pub(super) enum Failure {
    Connection(io::Error),
    Garbled(String),
    /// The server's words.
    Refused(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}

/// A line of an answer.
#[derive(Debug, PartialEq, Eq)]
enum Line<'a> {
    Value { name: &'a str, length: usize },
    Statistic { name: &'a str, value: &'a str },
    End,
    Stored,
    Refused(&'a str),
}

impl<'a> Line<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match (word, rest) {
            ("END", "") => Some(Self::End),
            ("STORED", "") => Some(Self::Stored),
            ("VALUE", rest) => {
                let mut parts = rest.split(' ');
                let name = parts.next()?;
                let _flags: u32 = parts.next()?.parse().ok()?;
                let length = parts.next()?.parse().ok()?;
                parts.next().is_none().then_some(Self::Value { name, length })
            }
            ("STAT", rest) => {
                let (name, value) = rest.split_once(' ').unwrap_or((rest, ""));
                Some(Self::Statistic { name, value })
            }
            ("ERROR" | "CLIENT_ERROR" | "SERVER_ERROR" | "NOT_STORED", _) => {
                Some(Self::Refused(line))
            }
            _ => None,
        }
    }
}

/// One connection. After a failure it must be dropped: what is still unread belongs to nobody.
#[derive(Debug)]
pub(super) struct Connection<S> {
    stream: S,
    buffer: BytesMut,
    /// The largest value that may be read.
    value_bytes_max: usize,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub(super) fn new(stream: S, value_bytes_max: usize) -> Self {
        Self { stream, buffer: BytesMut::new(), value_bytes_max }
    }

    pub(super) async fn run(&mut self, command: &Command<'_>) -> Result<Outcome, Failure> {
        if !self.buffer.is_empty() {
            return Err(Failure::Garbled("an answer that nobody asked for".to_owned()));
        }
        match command {
            Command::Get(names) => self.get(names).await.map(Outcome::Values),
            Command::Set { name, expiry, value } => {
                self.set(name, *expiry, value).await.map(|()| Outcome::Stored)
            }
            Command::Statistics => self.statistics().await.map(Outcome::Statistics),
        }
    }

    async fn get(&mut self, names: &[String]) -> Result<Vec<Option<Bytes>>, Failure> {
        let mut request = Vec::with_capacity(8 + names.iter().map(|n| n.len() + 1).sum::<usize>());
        request.extend_from_slice(b"get");
        for name in names {
            request.push(b' ');
            request.extend_from_slice(name.as_bytes());
        }
        request.extend_from_slice(b"\r\n");
        self.send(&request).await?;
        let mut values = vec![None; names.len()];
        loop {
            let line = self.line().await?;
            let (at, length) = match Line::parse(&line) {
                Some(Line::End) => return Ok(values),
                Some(Line::Value { name, length }) if length <= self.value_bytes_max => {
                    let at = names.iter().position(|asked| asked == name);
                    // Each name is answered once at most, which also bounds this loop.
                    let at = at.filter(|at| values[*at].is_none()).ok_or_else(|| garbled(&line))?;
                    (at, length)
                }
                other => return Err(unexpected(other.as_ref(), &line)),
            };
            values[at] = Some(self.block(length).await?);
        }
    }

    async fn set(&mut self, name: &str, expiry: u64, value: &[u8]) -> Result<(), Failure> {
        let head = format!("set {name} 0 {expiry} {}\r\n", value.len());
        self.stream.write_all(head.as_bytes()).await?;
        self.stream.write_all(value).await?;
        self.send(b"\r\n").await?;
        let line = self.line().await?;
        match Line::parse(&line) {
            Some(Line::Stored) => Ok(()),
            other => Err(unexpected(other.as_ref(), &line)),
        }
    }

    async fn statistics(&mut self) -> Result<Vec<(String, String)>, Failure> {
        self.send(b"stats\r\n").await?;
        let mut statistics = Vec::new();
        loop {
            let line = self.line().await?;
            match Line::parse(&line) {
                Some(Line::End) => return Ok(statistics),
                Some(Line::Statistic { name, value }) if statistics.len() < STATISTICS_MAX => {
                    statistics.push((name.to_owned(), value.to_owned()));
                }
                other => return Err(unexpected(other.as_ref(), &line)),
            }
        }
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await?;
        Ok(())
    }

    /// The next line without its end.
    async fn line(&mut self) -> Result<Bytes, Failure> {
        let mut searched = 0;
        loop {
            if let Some(at) = self.buffer[searched..].iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(searched + at + 1).freeze();
                return line
                    .strip_suffix(b"\r\n")
                    .map(|text| line.slice_ref(text))
                    .ok_or_else(|| garbled(&line));
            }
            searched = self.buffer.len();
            if searched > LINE_BYTES_MAX {
                return Err(garbled(&self.buffer));
            }
            self.more(LINE_BYTES_MAX).await?;
        }
    }

    /// A value of `length` bytes and the line end behind it.
    async fn block(&mut self, length: usize) -> Result<Bytes, Failure> {
        while self.buffer.len() < length + 2 {
            self.more(length + 2 - self.buffer.len()).await?;
        }
        let value = self.buffer.split_to(length).freeze();
        let end = self.buffer.split_to(2);
        if end[..] == *b"\r\n" { Ok(value) } else { Err(garbled(&end)) }
    }

    async fn more(&mut self, wanted: usize) -> Result<(), Failure> {
        self.buffer.reserve(wanted);
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            _ => Ok(()),
        }
    }
}

fn unexpected(line: Option<&Line<'_>>, bytes: &[u8]) -> Failure {
    match line {
        Some(Line::Refused(words)) => Failure::Refused((*words).to_owned()),
        _ => garbled(bytes),
    }
}

fn garbled(bytes: &[u8]) -> Failure {
    let shown = &bytes[..bytes.len().min(40)];
    Failure::Garbled(format!("not an answer of memcached: `{}`", shown.escape_ascii()))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use proptest::prelude::*;

    use super::*;

    /// What a command gives when the server says `answer` and closes.
    fn answered(answer: &[u8], command: &Command<'_>) -> Result<Outcome, Failure> {
        let stream = tokio::io::join(answer, tokio::io::sink());
        let mut connection = Connection::new(stream, 1000);
        connection.run(command).now_or_never().expect("nothing to wait for")
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn get(answer: &[u8], asked: &[&str]) -> Result<Outcome, Failure> {
        answered(answer, &Command::Get(&names(asked)))
    }

    fn values(values: &[Option<&'static str>]) -> Outcome {
        Outcome::Values(values.iter().map(|value| value.map(Bytes::from)).collect())
    }

    #[test]
    fn values_come_back_in_the_order_of_their_names() {
        let answer = b"VALUE c 0 2\r\ncc\r\nVALUE a 7 3\r\na\r\n\r\nEND\r\n";
        let outcome = get(answer, &["a", "b", "c"]).expect("an answer");
        assert_eq!(outcome, values(&[Some("a\r\n"), None, Some("cc")]));
        assert_eq!(get(b"END\r\n", &["a"]).expect("an answer"), values(&[None]));
    }

    #[test]
    fn anything_else_is_garbled() {
        for answer in [
            &b"VALUE b 0 1\r\nx\r\nEND\r\n"[..],
            b"VALUE a 0 1\r\nx\r\nVALUE a 0 1\r\nx\r\nEND\r\n",
            b"VALUE a 0 1001\r\n",
            b"VALUE a 0 18446744073709551615\r\n",
            b"VALUE a 0 99999999999999999999\r\n",
            b"VALUE a 0 -1\r\n",
            b"VALUE a 0 1 2 3\r\nx\r\nEND\r\n",
            b"VALUE a 0 1\r\nxEND\r\n",
            b"END\n",
            b"HTTP/1.1 400 Bad Request\r\n",
            b"\xff\xff\r\n",
        ] {
            let outcome = get(answer, &["a"]);
            assert!(
                matches!(outcome, Err(Failure::Garbled(_))),
                "{}: {outcome:?}",
                answer.escape_ascii()
            );
        }
        assert!(matches!(get(&vec![b'x'; 100_000], &["a"]), Err(Failure::Garbled(_))));
    }

    #[test]
    fn an_answer_that_ends_early_is_a_broken_connection() {
        let whole = b"VALUE a 0 3\r\nabc\r\nEND\r\n";
        for length in 0..whole.len() {
            let outcome = get(&whole[..length], &["a"]);
            assert!(matches!(outcome, Err(Failure::Connection(_))), "{length}: {outcome:?}");
        }
    }

    #[test]
    fn a_refused_put_says_why() {
        let put = Command::Set { name: "a", expiry: 1, value: b"x" };
        assert_eq!(answered(b"STORED\r\n", &put).expect("stored"), Outcome::Stored);
        match answered(b"SERVER_ERROR object too large for cache\r\n", &put) {
            Err(Failure::Refused(words)) => {
                assert_eq!(words, "SERVER_ERROR object too large for cache");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn statistics_are_pairs() {
        let outcome =
            answered(b"STAT pid 7\r\nSTAT version 1.6 x\r\nEND\r\n", &Command::Statistics);
        let pairs = [("pid", "7"), ("version", "1.6 x")];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        assert_eq!(outcome.expect("an answer"), Outcome::Statistics(pairs));
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic_or_hang(answer: Vec<u8>, length in 0..2000usize) {
            let _ = get(&answer, &["a", "b"]);
            let mut framed = format!("VALUE a 0 {length}\r\n").into_bytes();
            framed.extend(answer);
            let _ = get(&framed, &["a", "b"]);
        }

        #[test]
        fn every_value_is_read_back(value in proptest::collection::vec(any::<u8>(), 0..1000)) {
            let mut answer = format!("VALUE a 0 {}\r\n", value.len()).into_bytes();
            answer.extend(&value);
            answer.extend(b"\r\nEND\r\n");
            let outcome = get(&answer, &["a"]).expect("an answer");
            prop_assert_eq!(outcome, Outcome::Values(vec![Some(value.into())]));
        }
    }
}
