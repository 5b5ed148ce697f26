//! What scripts log, kept until the caller takes it.

use super::limits::SandboxLimits;

/// How serious a logged line is (HOK-7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// `log('error', …)`, `console.error`.
    Error,
    /// `log('warn', …)`, `console.warn`.
    Warn,
    /// Anything else.
    Info,
}

/// A line that a script logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// Its severity.
    pub severity: Severity,
    /// Its text, cut to the limit.
    pub message: String,
}

/// The lines logged since they were last taken, at most so many per call.
#[derive(Debug)]
pub(super) struct LogBuffer {
    lines: Vec<LogLine>,
    lines_max: usize,
    chars_max: usize,
    dropped: usize,
}

impl LogBuffer {
    pub(super) fn new(limits: &SandboxLimits) -> Self {
        Self {
            lines: Vec::new(),
            lines_max: limits.log_lines,
            chars_max: limits.log_line_chars,
            dropped: 0,
        }
    }

    pub(super) fn push(&mut self, severity: &str, mut message: String) {
        if self.lines.len() >= self.lines_max {
            self.dropped += 1;
            return;
        }
        if let Some((end, _)) = message.char_indices().nth(self.chars_max) {
            message.truncate(end);
            message.push('…');
        }
        let severity = match severity {
            "error" => Severity::Error,
            "warn" => Severity::Warn,
            _ => Severity::Info,
        };
        self.lines.push(LogLine { severity, message });
    }

    pub(super) fn take(&mut self) -> Vec<LogLine> {
        let mut lines = std::mem::take(&mut self.lines);
        if self.dropped > 0 {
            let message = format!("{} further lines were dropped", self.dropped);
            lines.push(LogLine { severity: Severity::Warn, message });
            self.dropped = 0;
        }
        lines
    }
}
