//! What the machine and one process have used, as Linux tells it in `/proc`. Elsewhere nothing is
//! known, and reports say so.

use std::fs;

/// Processor time of the whole machine since it started, in ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MachineTicks {
    user: u64,
    system: u64,
    idle: u64,
}

/// How the processors spent a time, in percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuShares {
    /// Programs.
    pub user: f64,
    /// The kernel, interrupts included.
    pub system: f64,
    /// Nothing to do, or waiting for a disk.
    pub idle: f64,
}

impl MachineTicks {
    /// Now.
    pub fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let numbers: Vec<u64> =
            line.split_whitespace().take(8).map_while(|number| number.parse().ok()).collect();
        // user, nice, system, idle, iowait, irq, softirq, steal: the last counts as the system's.
        let at = |index: usize| numbers.get(index).copied().unwrap_or(0);
        (numbers.len() >= 4).then(|| Self {
            user: at(0) + at(1),
            system: at(2) + at(5) + at(6) + at(7),
            idle: at(3) + at(4),
        })
    }

    /// The shares from here to `later`; `None` if no time passed.
    pub fn until(self, later: Self) -> Option<CpuShares> {
        let user = later.user.saturating_sub(self.user);
        let system = later.system.saturating_sub(self.system);
        let idle = later.idle.saturating_sub(self.idle);
        let all = user + system + idle;
        #[expect(clippy::cast_precision_loss, reason = "ticks of one measurement")]
        let percent = |part: u64| 100.0 * part as f64 / all as f64;
        (all > 0).then(|| CpuShares {
            user: percent(user),
            system: percent(system),
            idle: percent(idle),
        })
    }
}

/// Seconds of processor time, user and system, that a process has used.
pub fn process_seconds(id: u32) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    #[expect(clippy::cast_precision_loss, reason = "ticks of one process")]
    let seconds = process_ticks(&text)? as f64 / rustix::param::clock_ticks_per_second() as f64;
    Some(seconds)
}

fn process_ticks(text: &str) -> Option<u64> {
    // The name of the program may hold blanks; it ends with the last parenthesis.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// The most bytes of memory that a process has had in use at once.
pub fn peak_memory_bytes(id: u32) -> Option<u64> {
    peak_memory(&fs::read_to_string(format!("/proc/{id}/status")).ok()?)
}

fn peak_memory(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_time_is_divided_into_shares() {
        let before = MachineTicks::parse("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 2 3 4\n").unwrap();
        let after = MachineTicks::parse("cpu  150 10 60 820 60 0 0 0 0 0\n").unwrap();
        let shares = before.until(after).unwrap();
        assert!((shares.user - 60.0).abs() < 1e-9);
        assert!((shares.system - 10.0).abs() < 1e-9);
        assert!((shares.idle - 30.0).abs() < 1e-9);
        assert_eq!(before.until(before), None);
        assert_eq!(MachineTicks::parse("intr 5"), None);
    }

    #[test]
    fn a_program_with_a_strange_name_is_read() {
        let text = "12 (a) b) S 1 1 1 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 1 0 100";
        assert_eq!(process_ticks(text), Some(300));
        assert_eq!(process_ticks("nonsense"), None);
    }

    #[test]
    fn peak_memory_is_in_bytes() {
        assert_eq!(peak_memory("Name:\tx\nVmHWM:\t    2048 kB\n"), Some(2_097_152));
        assert_eq!(peak_memory("Name:\tx\n"), None);
    }
}
