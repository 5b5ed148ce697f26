//! How many files and connections the process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::report;

/// The part of the open files that is not for connections of clients, and the least of it: connections to upstreams,
/// listening sockets, log files, what a thread waits on.
const KEPT_PART: u64 = 4;
const KEPT_MIN: u64 = 64;

/// Raises the limit as far as it may go without rights, and answers what it is then; `None` if there is none. Where
/// that fails, which is said, the limit stays.
pub(super) fn raise_limit() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return current;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        Ok(()) => maximum,
        Err(error) => {
            report::note(&format!("cannot raise the limit of open files: {error}"));
            current
        }
    }
}

/// How many connections of clients may be open if so many are wanted and so many files may be open; that there can
/// be fewer than wanted is said.
pub(super) fn connections_max(wanted: usize, files: Option<u64>) -> usize {
    let Some(files) = files else { return wanted };
    let left = files.saturating_sub(KEPT_MIN.max(files / KEPT_PART)).max(1);
    let left = usize::try_from(left).unwrap_or(usize::MAX);
    if left < wanted {
        report::note(&format!(
            "at most {left} connections of clients, because only {files} files may be open (`ulimit -n`); \
             `maxConnections` is {wanted}"
        ));
    }
    left.min(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_for_everything_else() {
        for (wanted, files, expected) in [
            (20_000, None, 20_000),
            (20_000, Some(1_048_576), 20_000),
            (20_000, Some(4096), 3072),
            (20_000, Some(128), 64),
            (20_000, Some(10), 1),
            (5, Some(128), 5),
        ] {
            assert_eq!(connections_max(wanted, files), expected, "{wanted} {files:?}");
        }
    }
}
