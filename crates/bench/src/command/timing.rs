//! What `ops` and `go` time: one operation on the hotels, in one format, in one of four ways.

use std::{net::SocketAddr, path::Path, time::Duration};

use bytes::Bytes;
use tokio::runtime::Runtime;

use crate::{
    codec::{Codec, Format, Leniency, difference},
    data::{Shape, schema},
    error::{BenchError, failed, usage},
    load::{Keeper, Target, TargetOptions, fetch},
    process::{Child, start_upstream},
};

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// What part of the work is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The request and its answer, nothing of it read.
    Endpoint,
    /// Reading a body that was fetched before.
    Deserialize,
    /// Writing it.
    Serialize,
    /// Request and reading.
    EndToEnd,
}

/// One test: a part of the work, in a format, against one of the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Test {
    pub(super) part: Part,
    pub(super) format: Format,
    pub(super) is_second: bool,
}

const PARTS: [(&str, Part); 4] = [
    ("endpoint", Part::Endpoint),
    ("deser", Part::Deserialize),
    ("ser", Part::Serialize),
    ("e2e", Part::EndToEnd),
];

const FORMATS: [(&str, Format); 4] = [
    ("json", Format::Json),
    ("protobuf", Format::Protobuf),
    ("msgpack", Format::MsgpackMap),
    ("xml", Format::Xml),
];

impl Test {
    /// All tests against the first server.
    pub(super) fn all() -> Vec<Self> {
        let one = |part| move |format| Self { part, format, is_second: false };
        let of = |(_, part): (&str, Part)| FORMATS.map(|(_, format)| format).map(one(part));
        PARTS.into_iter().flat_map(of).collect()
    }

    /// A test by its name: `deser-json`, `endpoint-protobuf-second`.
    pub(super) fn from_name(name: &str) -> Result<Self, BenchError> {
        let (plain, is_second) =
            name.strip_suffix("-second").map_or((name, false), |plain| (plain, true));
        let found = Self::all().into_iter().find(|test| test.name() == plain);
        let Some(test) = found else {
            let names: Vec<String> = Self::all().into_iter().map(Self::name).collect();
            return Err(usage(format!("`{name}` is no test; there are {}", names.join(", "))));
        };
        Ok(Self { is_second, ..test })
    }

    /// `deser-json`.
    pub(super) fn name(self) -> String {
        let part = PARTS.iter().find(|(_, part)| *part == self.part).map_or("", |(name, _)| name);
        let second = if self.is_second { "-second" } else { "" };
        format!("{part}-{}{second}", self.ending())
    }

    fn ending(self) -> &'static str {
        FORMATS.iter().find(|(_, format)| *format == self.format).map_or("", |(name, _)| name)
    }

    /// The name of a Go benchmark, without `Benchmark`: `JsonEndToEnd`.
    pub(super) fn go_name(self) -> String {
        let format = match self.format {
            Format::Protobuf => "Protobuf",
            Format::MsgpackMap => "Msgpack",
            Format::Xml => "Xml",
            _ => "Json",
        };
        let part = match self.part {
            Part::Endpoint => "Endpoint",
            Part::Deserialize => "Processing",
            Part::Serialize => "Writing",
            Part::EndToEnd => "EndToEnd",
        };
        let second = if self.is_second { "Second" } else { "" };
        format!("{format}{part}{second}")
    }

    fn needs_server(self) -> bool {
        matches!(self.part, Part::Endpoint | Part::EndToEnd)
    }
}

/// Where tests find their servers.
#[derive(Debug, Clone)]
pub struct Servers {
    /// The executable of the own upstream.
    pub executable: std::path::PathBuf,
    /// A server beside our own, `http://host:port`, that serves `/hotels.json` and so on.
    pub second: Option<String>,
    /// Whether it may be another machine.
    pub allows_remote: bool,
}

/// Servers and bodies, ready.
pub(super) struct Bench {
    runtime: Runtime,
    own: Option<(Child, tempfile::TempDir)>,
    servers: Servers,
}

/// A test that can be run any number of times.
pub(super) struct Prepared {
    part: Part,
    codec: Codec,
    body: Bytes,
    value: qlio_data::Value,
    connection: Option<(Keeper, Target)>,
}

impl Bench {
    /// Starts the own upstream if a test needs it.
    pub(super) fn new(servers: &Servers, tests: &[Test]) -> Result<Self, BenchError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| usage(format!("cannot start: {error}")))?;
        let is_needed = tests.iter().any(|test| test.needs_server() && !test.is_second);
        let own = if is_needed {
            let folder = tempfile::Builder::new().prefix("qlio-bench-").tempdir();
            let folder = folder.map_err(|error| usage(format!("no temporary folder: {error}")))?;
            let executable: &Path = &servers.executable;
            Some((start_upstream(executable, Duration::ZERO, folder.path())?, folder))
        } else {
            None
        };
        Ok(Self { runtime, own, servers: servers.clone() })
    }

    /// Fetches the body of a test, and checks that it is right.
    pub(super) fn prepare(&self, test: Test) -> Result<Prepared, BenchError> {
        let shape = Shape::Hotel;
        let codec = Codec {
            format: test.format,
            message: Some(schema::message(shape)),
            root: shape.root().to_owned(),
        };
        let value = shape.value();
        let mut body = Vec::new();
        codec.encode(&value, &mut body)?;
        let mut body = Bytes::from(body);
        let mut connection = None;
        if test.needs_server() || test.is_second {
            let target = self.target(test)?;
            let (address, fetched) = self.fetch(&target)?;
            body = fetched;
            let keeper = Keeper::new(address, PATIENCE);
            connection = test.needs_server().then_some((keeper, target));
        }
        let decoded = codec
            .decode(body.clone())
            .map_err(|reason| failed(format!("{}: {reason}", test.name())))?;
        let leniency =
            if test.format == Format::MsgpackMap { Leniency::SCHEMA } else { codec.leniency() };
        if let (false, Some(place)) = (test.is_second, difference(&value, &decoded, leniency)) {
            return Err(failed(format!("{}: the body differs at `{place}`", test.name())));
        }
        Ok(Prepared { part: test.part, codec, body, value, connection })
    }

    fn target(&self, test: Test) -> Result<Target, BenchError> {
        let base = match (&self.own, test.is_second) {
            (_, true) => {
                let second = self.servers.second.as_deref();
                second
                    .ok_or_else(|| usage(format!("`{}` needs `--second URL`", test.name())))?
                    .to_owned()
            }
            (Some((upstream, _)), false) => format!("http://{}", upstream.address()),
            (None, false) => return Err(usage("the upstream was not started")),
        };
        Target::new(&TargetOptions {
            url: format!("{}/hotels.{}", base.trim_end_matches('/'), test.ending()),
            allows_remote: self.servers.allows_remote,
            ..TargetOptions::default()
        })
    }

    fn fetch(&self, target: &Target) -> Result<(SocketAddr, Bytes), BenchError> {
        let mut reason = String::new();
        for address in &target.addresses {
            match self.runtime.block_on(fetch(target, *address, PATIENCE)) {
                Ok((status, body)) if status.is_success() => return Ok((*address, body)),
                Ok((status, _)) => {
                    return Err(failed(format!("`{}` answers {status}", target.url)));
                }
                Err(failure) => reason = failure.to_string(),
            }
        }
        Err(usage(format!("cannot reach `{}`: {reason}", target.url)))
    }

    /// Does the operation so many times; answers how long that took.
    pub(super) fn time(&self, test: &mut Prepared, times: u64) -> Result<Duration, BenchError> {
        let began = std::time::Instant::now();
        match (test.part, &mut test.connection) {
            (Part::Endpoint | Part::EndToEnd, Some((keeper, target))) => {
                let (codec, reads) = (&test.codec, test.part == Part::EndToEnd);
                self.runtime.block_on(async {
                    for _ in 0..times {
                        let body = keeper
                            .get(target)
                            .await
                            .map_err(|failure| failed(format!("`{}`: {failure}", target.url)))?;
                        if reads {
                            std::hint::black_box(codec.decode(body)?);
                        }
                    }
                    Ok::<_, BenchError>(())
                })?;
            }
            (Part::Serialize, _) => {
                let mut out = Vec::with_capacity(test.body.len());
                for _ in 0..times {
                    out.clear();
                    test.codec.encode(std::hint::black_box(&test.value), &mut out)?;
                    std::hint::black_box(&out);
                }
            }
            _ => {
                for _ in 0..times {
                    let body = std::hint::black_box(&test.body).clone();
                    std::hint::black_box(test.codec.decode(body)?);
                }
            }
        }
        Ok(began.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_tests() {
        for test in Test::all() {
            assert_eq!(Test::from_name(&test.name()), Ok(test));
        }
        let second = Test::from_name("endpoint-json-second").unwrap();
        assert!(second.is_second && second.name() == "endpoint-json-second");
        assert_eq!(second.go_name(), "JsonEndpointSecond");
        assert!(Test::from_name("deser-yaml").unwrap_err().to_string().contains("deser-json"));
    }
}
