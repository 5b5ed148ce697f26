//! `qlio mock`: upstream APIs that are none: files, a misbehaving proxy, a recording.

use std::{
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, anyhow, bail, ensure};
use clap::Args;
use qlio_bench::upstream::{Upstream, UpstreamOptions};
use qlio_data::{Value, codec::json};

use super::{Exit, Failure, report, signals::StopSignals};
use crate::mock::{
    self, MockError, MockOptions, MockServer,
    proxy::{self, PORT_DEFAULT, ProxyOptions, ProxyServer},
    record::{self, RecordOptions},
    replay::{self, Latency, ReplayOptions},
};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  qlio mock apis                                     answers with the files of a folder
  qlio mock --config slow.json                       a proxy; slow.json says how it misbehaves
  qlio mock --record calls --upstream http://host    a proxy that keeps every answer
  qlio mock --replay calls                           gives the kept answers
  qlio mock --bench-upstream                         the data sets of `qlio bench`")]
pub(super) struct MockArgs {
    /// Folder of answers, or the configuration of a proxy (a JSON file).
    #[arg(value_name = "PATH", required_unless_present_any = ["config", "record", "replay", "bench_upstream"])]
    path: Option<PathBuf>,
    /// Be a proxy with this configuration (JSON).
    #[arg(long, short = 'c', value_name = "FILE", conflicts_with_all = ["path", "record", "replay"])]
    config: Option<PathBuf>,
    /// Be a proxy to `--upstream` and keep every exchange in this folder.
    #[arg(long, value_name = "DIR", requires = "upstream", conflicts_with_all = ["path", "replay"])]
    record: Option<PathBuf>,
    /// The API to record, such as `https://api.example`.
    #[arg(long, value_name = "URL", requires = "record")]
    upstream: Option<String>,
    /// Answer with what was recorded in this folder.
    #[arg(long, value_name = "DIR", conflicts_with = "path")]
    replay: Option<PathBuf>,
    /// Be the upstream of `qlio bench`: its data sets, on port 6000 without `--port`.
    #[arg(long, conflicts_with_all = ["path", "config", "record", "replay", "log"])]
    bench_upstream: bool,
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// Port to listen on; 0 picks a free one. Default 0 for a folder of answers, else 3201.
    #[arg(long, short = 'p')]
    port: Option<u16>,
    /// Delay of every answer: milliseconds, `none`, or (replaying) `recorded`.
    #[arg(long, default_value = "none", value_name = "MS", value_parser = latency)]
    latency: Latency,
    /// Folder that changes of the proxy's configuration are saved in.
    #[arg(long, value_name = "DIR", default_value = "netmorphic-configs")]
    saves: PathBuf,
    /// Other machines may read and change the configuration of the proxy, too.
    #[arg(long)]
    remote_control: bool,
    /// Print every request on stderr.
    #[arg(long)]
    log: bool,
}

fn latency(text: &str) -> anyhow::Result<Latency> {
    Ok(match text {
        "none" => Latency::Fixed(Duration::ZERO),
        "recorded" => Latency::Recorded,
        number => {
            let milliseconds = number.parse().ok();
            let milliseconds = milliseconds.context("give milliseconds, `none` or `recorded`")?;
            Latency::Fixed(Duration::from_millis(milliseconds))
        }
    })
}

/// A bound mock of either kind.
enum Bound {
    Plain(MockServer),
    Proxy(Box<ProxyServer>),
}

pub(super) fn mock(args: &MockArgs) -> Result<Exit, Failure> {
    if args.bench_upstream {
        bench_upstream(args)?;
        return Ok(Exit::Success);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let bound = bind(args).await?;
        let mut signals = StopSignals::listen().context("cannot listen to signals")?;
        match bound {
            Bound::Plain(server) => {
                report::data(&server.url());
                server.run(signals.next()).await;
            }
            Bound::Proxy(server) => {
                report::data(&server.url());
                for (port, address) in server.tcp_addresses() {
                    report::data(&format!("tcp {port} {address}"));
                }
                for warning in server.warnings() {
                    report::note(&format!("warning: {warning}"));
                }
                server.run(signals.next()).await;
            }
        }
        Ok(Exit::Success)
    })
}

/// The port of the published measurements.
const BENCH_PORT_DEFAULT: u16 = 6000;

/// The data sets of `qlio bench` (`docs/reference/mock.md`, `docs/reference/bench.md`).
fn bench_upstream(args: &MockArgs) -> anyhow::Result<()> {
    let Latency::Fixed(latency) = args.latency else {
        bail!("nothing was recorded; give `--latency` milliseconds or `none`");
    };
    let options = UpstreamOptions {
        host: args.host.clone(),
        port: args.port.unwrap_or(BENCH_PORT_DEFAULT),
        latency,
        threads: std::thread::available_parallelism().map_or(1, Into::into),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let started = runtime.and_then(|runtime| {
        let signals = runtime.block_on(async { StopSignals::listen() })?;
        let upstream = Upstream::start(&options)?;
        Ok((runtime, signals, upstream))
    });
    let (runtime, mut signals, upstream) =
        started.with_context(|| format!("cannot serve on {}:{}", options.host, options.port))?;
    report::data(&format!("http://{}", upstream.address()));
    runtime.block_on(signals.next());
    Ok(())
}

async fn bind(args: &MockArgs) -> anyhow::Result<Bound> {
    let log = || args.log.then(|| Box::new(std::io::stderr()) as Box<dyn Write + Send>);
    let host = args.host.clone();
    let port = args.port.unwrap_or(PORT_DEFAULT);
    if let (Some(folder), Some(upstream)) = (&args.record, &args.upstream) {
        let (folder, upstream) = (folder.clone(), upstream.clone());
        let options = RecordOptions { folder, upstream, host, port, log: log() };
        return record::serve(options).await.map(Bound::Plain).map_err(anyhow::Error::msg);
    }
    if let Some(folder) = &args.replay {
        let (folder, latency) = (folder.clone(), args.latency);
        let options = ReplayOptions { folder, latency, host, port, log: log() };
        return replay::serve(options).await.map(Bound::Plain).map_err(anyhow::Error::msg);
    }
    let Latency::Fixed(latency) = args.latency else {
        bail!("`--latency recorded` goes with `--replay`");
    };
    let path = args.config.as_deref().or(args.path.as_deref()).unwrap_or(Path::new("."));
    if args.config.is_none() && !path.is_file() {
        let mut options = MockOptions::new(path);
        (options.host, options.port) = (host, args.port.unwrap_or(0));
        (options.latency, options.log) = (latency, log());
        return mock::serve(options).await.map(Bound::Plain).map_err(anyhow::Error::msg);
    }
    ensure!(
        latency.is_zero(),
        "a proxy takes its delays from the configuration, not from `--latency`"
    );
    let mut options = ProxyOptions::new(read_config(path)?);
    (options.host, options.port, options.log) = (host, port, log());
    options.saves.clone_from(&args.saves);
    options.has_remote_control = args.remote_control;
    let server = proxy::serve(options).await;
    server.map(|server| Bound::Proxy(Box::new(server))).map_err(|error| match error {
        MockError::Unusable(reason) => anyhow!("`{}`: {reason}", path.display()),
        other => anyhow::Error::msg(other),
    })
}

fn read_config(path: &Path) -> anyhow::Result<Value> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read `{shown}`"))?;
    json::parse_str(&text).map_err(|error| {
        let index = qlio_syntax::source::LineIndex::new(&text);
        let place = index.position(&text, error.offset as u32);
        anyhow!("`{shown}`:{place}: invalid JSON: {}", error.reason)
    })
}
