//! Where a measurement was made: without it a figure says nothing.

use std::{fs, thread};

use qlio_data::Value;

use crate::data::{object, text};

/// Machine, system and program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// Model of the processor.
    pub cpu: String,
    /// Threads that the system gives this process.
    pub threads: usize,
    /// Bytes of memory; `None` if the system does not tell.
    pub memory_bytes: Option<u64>,
    /// Distribution and kernel.
    pub system: String,
    /// Version of qlio.
    pub version: &'static str,
    /// `release` or `debug`.
    pub profile: &'static str,
}

impl Environment {
    /// This machine and program.
    pub fn here() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Self {
            cpu: cpu(&read("/proc/cpuinfo")),
            threads: thread::available_parallelism().map_or(1, Into::into),
            memory_bytes: memory(&read("/proc/meminfo")),
            system: system(&read("/etc/os-release"), &read("/proc/sys/kernel/osrelease")),
            version: env!("CARGO_PKG_VERSION"),
            profile: if cfg!(debug_assertions) { "debug" } else { "release" },
        }
    }

    /// As names and values for people.
    pub fn lines(&self) -> Vec<(String, String)> {
        let memory = self.memory_bytes.map_or("unknown".to_owned(), |bytes| {
            #[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
            let gigabytes = bytes as f64 / f64::from(1_u32 << 30);
            format!("{gigabytes:.1} GB")
        });
        [
            ("CPU", self.cpu.clone()),
            ("threads", self.threads.to_string()),
            ("memory", memory),
            ("system", self.system.clone()),
            ("qlio", format!("{} ({} build)", self.version, self.profile)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// One line for the head of a text.
    pub fn summary(&self) -> String {
        let values: Vec<String> = self
            .lines()
            .into_iter()
            .map(|(name, value)| match name.as_str() {
                "threads" => format!("{value} threads"),
                "qlio" => format!("qlio {value}"),
                _ => value,
            })
            .collect();
        values.join(", ")
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        object([
            ("cpu", text(&self.cpu)),
            ("threads", Value::from(self.threads as u64)),
            ("memoryBytes", self.memory_bytes.map_or(Value::Null, Value::from)),
            ("system", text(&self.system)),
            ("version", text(self.version)),
            ("profile", text(self.profile)),
        ])
    }
}

fn cpu(text: &str) -> String {
    let model = text.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(':')).map(|(_, model)| model.trim());
    model.unwrap_or(std::env::consts::ARCH).to_owned()
}

fn memory(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

fn system(release: &str, kernel: &str) -> String {
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let name = name.map_or(std::env::consts::OS, |name| name.trim_matches('"'));
    if kernel.trim().is_empty() {
        name.to_owned()
    } else {
        format!("{name}, kernel {}", kernel.trim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_tells_is_read() {
        assert_eq!(cpu("processor\t: 0\nmodel name\t: Fast CPU @ 2\n"), "Fast CPU @ 2");
        assert_eq!(cpu(""), std::env::consts::ARCH);
        assert_eq!(memory("MemTotal:       2048 kB\n"), Some(2_097_152));
        assert_eq!(memory("nothing"), None);
        assert_eq!(system("ID=x\nPRETTY_NAME=\"Some 12\"\n", "6.1\n"), "Some 12, kernel 6.1");
    }
}
