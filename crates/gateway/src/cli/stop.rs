//! `qlio stop`, `qlio shutdown` and `qlio upgrade`: commands for servers that have left their numbers in a folder.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, anyhow, bail, ensure};
use clap::Args;
use rustix::process::Signal;

use super::{
    Exit, Failure,
    pid_files::{self, Kind, Process},
    report,
    supervise::UPGRADE_RESULT,
};

/// The longest that a command may wait, in milliseconds: a day.
const WAIT_MS_MAX: u64 = 24 * 60 * 60 * 1000;

/// How often is looked whether something has happened.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Which servers.
#[derive(Debug, Args)]
pub(super) struct StopArgs {
    /// Folder in which `qlio serve --pids DIR` has left the numbers of its processes.
    #[arg(long, value_name = "DIR", default_value = "pids")]
    pids: PathBuf,
    /// How long to wait until it is done, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 120_000, value_parser = clap::value_parser!(u64).range(1..=WAIT_MS_MAX))]
    wait: u64,
}

impl StopArgs {
    /// The processes, of which there has to be one.
    fn find(&self) -> anyhow::Result<Vec<Process>> {
        let folder = self.pids.display();
        let found = pid_files::find(&self.pids).map_err(|error| {
            anyhow!("cannot read `{folder}`: {error}; servers write it with `--pids`")
        })?;
        ensure!(!found.is_empty(), "no server of `{folder}` runs");
        Ok(found)
    }

    fn has_come(&self, condition: impl Fn() -> bool) -> bool {
        let (began, most) = (Instant::now(), Duration::from_millis(self.wait));
        loop {
            if condition() {
                return true;
            }
            if began.elapsed() >= most {
                return false;
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}

/// Ends servers at once, whatever they do.
pub(super) fn stop(args: &StopArgs) -> Result<Exit, Failure> {
    // Masters first: they would put others in the place of their workers.
    end(args, Signal::KILL, |_| true).map_err(Failure::failed)
}

/// Has servers answer what they have been asked, and end.
pub(super) fn shutdown(args: &StopArgs) -> Result<Exit, Failure> {
    end(args, Signal::TERM, |process| process.kind == Kind::Master).map_err(Failure::failed)
}

fn end(args: &StopArgs, signal: Signal, is_meant: fn(&Process) -> bool) -> anyhow::Result<Exit> {
    let processes = args.find()?;
    // Workers without a master are meant by everything.
    let has_master = processes.iter().any(|process| process.kind == Kind::Master);
    for process in processes.iter().filter(|process| !has_master || is_meant(process)) {
        let id = process.id.as_raw_nonzero();
        process.signal(signal).with_context(|| format!("cannot end process {id}"))?;
    }
    let is_over = args.has_come(|| processes.iter().all(|process| !process.lives()));
    ensure!(is_over, "not everything has ended within {} ms", args.wait);
    Ok(Exit::Success)
}

/// Has a server go on with the executable that is now where its own was.
pub(super) fn upgrade(args: &StopArgs) -> Result<Exit, Failure> {
    order_upgrade(args).map_err(Failure::failed)
}

fn order_upgrade(args: &StopArgs) -> anyhow::Result<Exit> {
    let processes = args.find()?;
    let mut masters = processes.iter().filter(|process| process.kind == Kind::Master);
    let (Some(master), None) = (masters.next(), masters.next()) else {
        bail!("one server at a time can be upgraded; give each a folder of its own");
    };
    let is_supervised = processes.iter().any(|process| process.kind == Kind::Worker);
    ensure!(is_supervised, "only a server with `--supervise` can be upgraded");
    let result = args.pids.join(UPGRADE_RESULT);
    let before = read(&result);
    master.signal(Signal::USR2).context("cannot reach the server")?;
    let is_done = args.has_come(|| read(&result) != before || !master.lives());
    ensure!(is_done, "the upgrade is not done within {} ms", args.wait);
    let text = read(&result);
    let outcome = text.split_once(' ').map_or("", |(_, outcome)| outcome).trim();
    ensure!(!outcome.is_empty(), "the server has ended");
    ensure!(outcome.starts_with("upgraded"), "{outcome}");
    report::note(outcome);
    Ok(Exit::Success)
}

/// What a file says; nothing if there is none.
fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}
