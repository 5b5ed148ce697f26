//! From arguments to the options of each measurement.

use std::{path::PathBuf, time::Duration};

use bytes::Bytes;
use clap::{Args, ValueEnum};
use qlio_bench::{
    BenchError,
    codec::Format,
    command::{
        SampleFiles, Subject, codecs, go, load, matrix,
        ops::{OpsOptions, Servers},
        workers,
    },
    data::{SEED, Shape, scenario::Scenario},
    limits::SAMPLE_BYTES_MAX,
    load::{LoadPlan, TargetOptions},
    process::{GatewayOptions, Path},
};

use super::{
    OutputArgs,
    arguments::{bounded, cores, count, executable, scenario, switch, time},
};

/// The ramp takes this long without `--ramp`, in long runs; in short ones a fiftieth.
const RAMP_DEFAULT: Duration = Duration::from_secs(10);
const DURATION_DEFAULT: Duration = Duration::from_hours(1);

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PathName {
    Xml,
    Protobuf,
    Json,
    Msgpack,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum StyleName {
    Jmeter,
    Ab,
    Siege,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Target")]
pub(super) struct LoadArgs {
    /// Send to this URL; plain HTTP, and this machine unless `--allow-remote`.
    #[arg(long, value_name = "URL", conflicts_with_all = ["path", "scenario"])]
    url: Option<String>,
    /// Send to an own gateway whose upstream answers in this format.
    #[arg(long, value_enum, conflicts_with = "scenario")]
    path: Option<PathName>,
    /// Send to an own gateway that runs this scenario; the default is A.
    #[arg(long, value_name = "A|B|C|D", value_parser = scenario)]
    scenario: Option<Scenario>,
    /// Send to another machine than this. Only with the consent of whoever runs it.
    #[arg(long, requires = "url")]
    allow_remote: bool,
    /// Method, with `--url`.
    #[arg(long, value_name = "METHOD", requires = "url")]
    method: Option<String>,
    /// Header `Name: value`, with `--url`; may be repeated.
    #[arg(long = "header", short = 'H', value_name = "LINE", requires = "url")]
    headers: Vec<String>,
    /// File that is the body, with `--url`.
    #[arg(long, value_name = "FILE", requires = "url")]
    body: Option<PathBuf>,
    /// With `--url`: an answer whose body is not that of the first one is an error.
    #[arg(long, requires = "url")]
    same_body: bool,
    /// Worker threads of the own gateway.
    #[arg(long, value_name = "N", value_parser = count, conflicts_with = "url")]
    workers: Option<usize>,
    /// Time that the own upstream waits before each answer.
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = time)]
    upstream_latency: Duration,
    #[command(flatten)]
    pace: PaceArgs,
    /// Whose words the text uses.
    #[arg(long, value_enum, default_value = "jmeter", help_heading = "Report")]
    format: StyleName,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// When requests are sent.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
struct PaceArgs {
    /// Users, each with a connection.
    #[arg(long, short = 'u', default_value = "200", value_parser = count)]
    users: usize,
    /// How long to send, after the ramp; default 1h, or until `--requests` are done.
    #[arg(long, short = 'd', value_name = "TIME", value_parser = time)]
    duration: Option<Duration>,
    /// Requests of all users together.
    #[arg(long, short = 'n', value_name = "N")]
    requests: Option<u64>,
    /// Time over which users start; default 10s, in short runs a fiftieth of the duration.
    #[arg(long, value_name = "TIME", value_parser = time)]
    ramp: Option<Duration>,
    /// Mean pause of a user between an answer and the next request.
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = time)]
    think: Duration,
    /// Deviation of the pause (Gaussian, never below zero).
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = time)]
    think_dev: Duration,
    /// Open loop: so many requests per second are due, however slow the answers are.
    #[arg(long, value_name = "PER SECOND", conflicts_with_all = ["think", "think_dev"])]
    rate: Option<f64>,
    /// Whether connections serve many requests.
    #[arg(long, value_name = "on|off", default_value = "on", value_parser = switch, action = clap::ArgAction::Set)]
    keepalive: bool,
    /// Time that one request may take.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time)]
    timeout: Duration,
    /// Time to send before counting begins.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time)]
    warm_up: Duration,
    /// After a load with pauses or a rate: time to send without, to find the capacity.
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = time)]
    capacity: Duration,
    /// Threads of the load generator; default half of the machine's.
    #[arg(long, value_name = "N", value_parser = count)]
    threads: Option<usize>,
    /// Seed of the pauses.
    #[arg(long, default_value_t = SEED)]
    seed: u64,
}

impl PaceArgs {
    fn plan(&self) -> LoadPlan {
        let duration = match (self.duration, self.requests) {
            (None, None) => Some(DURATION_DEFAULT),
            (duration, _) => duration,
        };
        let ramp = self.ramp.unwrap_or_else(|| {
            duration.map_or(Duration::ZERO, |duration| (duration / 50).min(RAMP_DEFAULT))
        });
        LoadPlan {
            users: self.users,
            duration,
            requests: self.requests,
            ramp,
            think: self.think,
            think_deviation: self.think_dev,
            keep_alive: self.keepalive,
            rate: self.rate,
            timeout: self.timeout,
            seed: self.seed,
            threads: self.threads.unwrap_or_else(|| (cores() / 2).max(1)),
        }
    }
}

impl LoadArgs {
    pub(super) fn options(&self) -> Result<load::LoadOptions, BenchError> {
        let subject = match (&self.url, self.path, self.scenario) {
            (Some(url), ..) => Subject::Url {
                target: TargetOptions {
                    url: url.clone(),
                    method: self.method.clone(),
                    headers: self.headers.clone(),
                    body: self.read_body()?,
                    allows_remote: self.allow_remote,
                },
                same_body: self.same_body,
            },
            (None, Some(path), _) => Subject::Path(match path {
                PathName::Xml => Path::Xml,
                PathName::Protobuf => Path::Protobuf,
                PathName::Json => Path::Json,
                PathName::Msgpack => Path::Msgpack,
            }),
            (None, None, scenario) => Subject::Scenario(scenario.unwrap_or(Scenario::A)),
        };
        Ok(load::LoadOptions {
            subject,
            plan: self.pace.plan(),
            warm_up: self.pace.warm_up,
            capacity: self.pace.capacity,
            gateway: GatewayOptions {
                executable: executable()?,
                workers: self.workers,
                upstream_latency: self.upstream_latency,
            },
            style: match self.format {
                StyleName::Jmeter => load::Style::Jmeter,
                StyleName::Ab => load::Style::Ab,
                StyleName::Siege => load::Style::Siege,
            },
        })
    }

    fn read_body(&self) -> Result<Bytes, BenchError> {
        let Some(file) = &self.body else { return Ok(Bytes::new()) };
        let name = file.display();
        let failed = |reason: String| BenchError::Usage(format!("cannot read `{name}`: {reason}"));
        let size = std::fs::metadata(file).map_err(|error| failed(error.to_string()))?.len();
        if size > SAMPLE_BYTES_MAX {
            return Err(failed(format!("it has more than {SAMPLE_BYTES_MAX} bytes")));
        }
        std::fs::read(file).map(Into::into).map_err(|error| failed(error.to_string()))
    }
}

/// How each of several runs is done.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
struct RunsArgs {
    /// Requests of each run; default 100,000, or as many as `--duration` allows.
    #[arg(long, short = 'n', value_name = "N")]
    requests: Option<u64>,
    /// How long each run sends.
    #[arg(long, short = 'd', value_name = "TIME", value_parser = time)]
    duration: Option<Duration>,
    /// Time to send before counting begins, in each run.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time)]
    warm_up: Duration,
    /// Time that the upstream waits before each answer.
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = time)]
    upstream_latency: Duration,
    /// Whether connections serve many requests.
    #[arg(long, value_name = "on|off", default_value = "on", value_parser = switch, action = clap::ArgAction::Set)]
    keepalive: bool,
    /// Threads of the load generator; default half of the machine's.
    #[arg(long, value_name = "N", value_parser = count)]
    threads: Option<usize>,
}

/// Requests of a run without a number and a time.
const REQUESTS_DEFAULT: u64 = 100_000;

impl RunsArgs {
    fn plan(&self, users: usize) -> LoadPlan {
        let requests = match (self.requests, self.duration) {
            (None, None) => Some(REQUESTS_DEFAULT),
            (requests, _) => requests,
        };
        LoadPlan {
            requests,
            duration: self.duration,
            keep_alive: self.keepalive,
            threads: self.threads.unwrap_or_else(|| (cores() / 2).max(1)),
            ..LoadPlan::closed(users)
        }
    }

    fn gateway(&self) -> Result<GatewayOptions, BenchError> {
        let executable = executable()?;
        Ok(GatewayOptions { executable, workers: None, upstream_latency: self.upstream_latency })
    }
}

#[derive(Debug, Args)]
pub(super) struct WorkersArgs {
    /// Numbers of worker threads; default 1, 2, 4… up to twice the machine's threads.
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', value_parser = count)]
    list: Vec<usize>,
    /// What is asked.
    #[arg(long, value_name = "A|B|C|D", default_value = "D", value_parser = scenario)]
    scenario: Scenario,
    /// Concurrent users.
    #[arg(long, short = 'c', default_value = "100", value_parser = count)]
    concurrency: usize,
    #[command(flatten)]
    runs: RunsArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

impl WorkersArgs {
    pub(super) fn options(&self) -> Result<workers::WorkersOptions, BenchError> {
        let mut list = bounded("--list", &self.list)?;
        if list.is_empty() {
            let doubled = std::iter::successors(Some(1_usize), |count| count.checked_mul(2));
            list = doubled.take_while(|count| *count <= cores() * 2).collect();
        }
        Ok(workers::WorkersOptions {
            list,
            scenario: self.scenario,
            plan: self.runs.plan(self.concurrency),
            warm_up: self.runs.warm_up,
            gateway: self.runs.gateway()?,
        })
    }
}

#[derive(Debug, Args)]
pub(super) struct MatrixArgs {
    /// Scenarios: the columns.
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', default_value = "A,B,C,D", value_parser = scenario)]
    scenarios: Vec<Scenario>,
    /// Concurrent users: the rows.
    #[arg(long, short = 'c', value_name = "N,N,…", value_delimiter = ',', default_value = "100,200,300,400,500", value_parser = count)]
    concurrency: Vec<usize>,
    /// Worker threads of the gateway, one table each; default one per thread of the machine.
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', value_parser = count)]
    workers: Vec<usize>,
    #[command(flatten)]
    runs: RunsArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

impl MatrixArgs {
    pub(super) fn options(&self) -> Result<matrix::MatrixOptions, BenchError> {
        let mut workers = bounded("--workers", &self.workers)?;
        if workers.is_empty() {
            workers.push(cores());
        }
        Ok(matrix::MatrixOptions {
            scenarios: bounded("--scenarios", &self.scenarios)?,
            concurrency: bounded("--concurrency", &self.concurrency)?,
            workers,
            plan: self.runs.plan(1),
            warm_up: self.runs.warm_up,
            gateway: self.runs.gateway()?,
        })
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ShapeName {
    Header,
    Hotel,
    Items,
}

#[derive(Debug, Args)]
pub(super) struct CodecsArgs {
    /// What one message is.
    #[arg(long, value_enum, default_value = "header", conflicts_with = "sample")]
    shape: ShapeName,
    /// A JSON file that is the message, instead of `--shape`.
    #[arg(long, value_name = "FILE")]
    sample: Option<PathBuf>,
    /// Schema of the sample: a `.proto` file or a descriptor set.
    #[arg(long, value_name = "FILE", requires = "sample")]
    proto: Option<PathBuf>,
    /// Message type of the sample; its package may be left out.
    #[arg(long, value_name = "NAME", requires = "sample")]
    message: Option<String>,
    /// Messages in one run; default 10,000, fewer if they are large.
    #[arg(long, short = 'n', value_name = "N")]
    messages: Option<usize>,
    /// Formats: json, xml, protobuf, http, struct, msgpack-array, msgpack-map (`msgpack` is both).
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    codecs: Vec<String>,
    /// Runs of each; the best one counts.
    #[arg(long, value_name = "N", default_value_t = 5)]
    repeat: usize,
    /// The HTTP text holds the same six fields as the other formats.
    #[arg(long)]
    same_fields: bool,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

impl CodecsArgs {
    pub(super) fn options(&self) -> Result<codecs::CodecsOptions, BenchError> {
        let message = match &self.sample {
            Some(sample) => codecs::Message::Sample(SampleFiles {
                sample: sample.clone(),
                schema: self.proto.clone(),
                message: self.message.clone(),
            }),
            None => codecs::Message::Shape(match self.shape {
                ShapeName::Header => Shape::Header,
                ShapeName::Hotel => Shape::Hotel,
                ShapeName::Items => Shape::Items,
            }),
        };
        let mut formats = Vec::new();
        for name in &bounded("--codecs", &self.codecs)? {
            let found = Format::from_name(name).ok_or_else(|| {
                let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
                BenchError::Usage(format!("`{name}` is no format; there are {}", names.join(", ")))
            })?;
            formats.extend(found);
        }
        Ok(codecs::CodecsOptions {
            message,
            messages: self.messages,
            formats: (!formats.is_empty()).then_some(formats),
            repeat: self.repeat,
            same_fields: self.same_fields,
        })
    }
}

/// Which tests, and against whom.
#[derive(Debug, Args)]
struct TestsArgs {
    /// Tests: `endpoint`, `deser`, `ser` or `e2e`, then `-json`, `-protobuf`, `-msgpack` or `-xml`;
    /// default all of them.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    tests: Vec<String>,
    /// A server beside the own one, with `/hotels.json` and so on; its tests end in `-second`.
    #[arg(long, value_name = "URL")]
    second: Option<String>,
    /// The second server may be another machine.
    #[arg(long, requires = "second")]
    allow_remote: bool,
}

impl TestsArgs {
    fn names(&self) -> Option<Vec<String>> {
        (!self.tests.is_empty()).then(|| self.tests.clone())
    }

    fn servers(&self) -> Result<Servers, BenchError> {
        Ok(Servers {
            executable: executable()?,
            second: self.second.clone(),
            allows_remote: self.allow_remote,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OpsStyle {
    Benchmarkjs,
    Go,
}

#[derive(Debug, Args)]
pub(super) struct OpsArgs {
    #[command(flatten)]
    tests: TestsArgs,
    /// How long one test may take samples (5 to 100 of at least 50 ms); with `--format go` how long
    /// its counted run takes at least.
    #[arg(long, value_name = "TIME", value_parser = time)]
    time: Option<Duration>,
    /// Whose words the text uses.
    #[arg(long, value_enum, default_value = "benchmarkjs")]
    format: OpsStyle,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

const SAMPLING_DEFAULT: Duration = Duration::from_secs(5);
const GO_DEFAULT: Duration = Duration::from_secs(1);

impl OpsArgs {
    pub(super) fn is_go(&self) -> bool {
        self.format == OpsStyle::Go
    }

    pub(super) fn options(&self) -> Result<OpsOptions, BenchError> {
        Ok(OpsOptions {
            tests: self.tests.names(),
            time_max: self.time.unwrap_or(SAMPLING_DEFAULT),
            servers: self.tests.servers()?,
        })
    }

    pub(super) fn go_options(&self) -> Result<go::GoOptions, BenchError> {
        Ok(go::GoOptions {
            tests: self.tests.names(),
            time_min: self.time.unwrap_or(GO_DEFAULT),
            servers: self.tests.servers()?,
        })
    }
}

#[derive(Debug, Args)]
pub(super) struct GoArgs {
    #[command(flatten)]
    tests: TestsArgs,
    /// How long the counted run of each test takes at least.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time)]
    time: Duration,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

impl GoArgs {
    pub(super) fn options(&self) -> Result<go::GoOptions, BenchError> {
        Ok(go::GoOptions {
            tests: self.tests.names(),
            time_min: self.time,
            servers: self.tests.servers()?,
        })
    }
}
