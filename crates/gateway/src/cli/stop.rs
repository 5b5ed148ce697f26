//! `qlio stop`, `qlio shutdown` and `qlio upgrade`: commands for servers that have left their numbers in a folder.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use clap::Args;
use rustix::process::Signal;

use super::{
    Exit,
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
    fn find(&self) -> Result<Vec<Process>, Exit> {
        let found = pid_files::find(&self.pids);
        let folder = self.pids.display();
        match found {
            Ok(found) if !found.is_empty() => Ok(found),
            Ok(_) => {
                report::error(&format!("no server of `{folder}` runs"));
                Err(Exit::Failed)
            }
            Err(error) => {
                report::error(&format!(
                    "cannot read `{folder}`: {error}; servers write it with `--pids`"
                ));
                Err(Exit::Failed)
            }
        }
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
pub(super) fn stop(args: &StopArgs) -> Exit {
    // Masters first: they would put others in the place of their workers.
    end(args, Signal::KILL, |_| true)
}

/// Has servers answer what they have been asked, and end.
pub(super) fn shutdown(args: &StopArgs) -> Exit {
    end(args, Signal::TERM, |process| process.kind == Kind::Master)
}

fn end(args: &StopArgs, signal: Signal, is_meant: fn(&Process) -> bool) -> Exit {
    let processes = match args.find() {
        Ok(processes) => processes,
        Err(exit) => return exit,
    };
    // Workers without a master are meant by everything.
    let has_master = processes.iter().any(|process| process.kind == Kind::Master);
    for process in processes.iter().filter(|process| !has_master || is_meant(process)) {
        if let Err(error) = process.signal(signal) {
            let id = process.id.as_raw_nonzero();
            report::error(&format!("cannot end process {id}: {error}"));
            return Exit::Failed;
        }
    }
    if args.has_come(|| processes.iter().all(|process| !process.lives())) {
        return Exit::Success;
    }
    report::error(&format!("not everything has ended within {} ms", args.wait));
    Exit::Failed
}

/// Has a server go on with the executable that is now where its own was.
pub(super) fn upgrade(args: &StopArgs) -> Exit {
    let processes = match args.find() {
        Ok(processes) => processes,
        Err(exit) => return exit,
    };
    let mut masters = processes.iter().filter(|process| process.kind == Kind::Master);
    let (Some(master), None) = (masters.next(), masters.next()) else {
        report::error("one server at a time can be upgraded; give each a folder of its own");
        return Exit::Failed;
    };
    if !processes.iter().any(|process| process.kind == Kind::Worker) {
        report::error("only a server with `--supervise` can be upgraded");
        return Exit::Failed;
    }
    let result = args.pids.join(UPGRADE_RESULT);
    let before = read(&result);
    if let Err(error) = master.signal(Signal::USR2) {
        report::error(&format!("cannot reach the server: {error}"));
        return Exit::Failed;
    }
    if !args.has_come(|| read(&result) != before || !master.lives()) {
        report::error(&format!("the upgrade is not done within {} ms", args.wait));
        return Exit::Failed;
    }
    let text = read(&result);
    let outcome = text.split_once(' ').map_or("", |(_, outcome)| outcome).trim();
    if outcome.starts_with("upgraded") {
        report::note(outcome);
        return Exit::Success;
    }
    report::error(if outcome.is_empty() { "the server has ended" } else { outcome });
    Exit::Failed
}

/// What a file says; nothing if there is none.
fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}
