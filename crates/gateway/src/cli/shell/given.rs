//! Inputs from a pipe or a file: scripts, with commands between them.
//!
//! A script goes on to the next line that begins with a dot, unless the grammar misses something before it, or to the
//! end. Without such lines all of stdin is one script, as for `qlio run -`.

use std::io::{self, BufRead};

use anyhow::{Context, ensure};
use qlio_syntax::limits::Limits;

use super::input;

/// Reads inputs from lines.
pub(super) struct Given<R> {
    lines: R,
    /// A line that belongs to the next input.
    ahead: Option<String>,
    /// Lines that have been read.
    count: usize,
}

impl<R: BufRead> Given<R> {
    pub(super) fn new(lines: R) -> Self {
        Self { lines, ahead: None, count: 0 }
    }

    /// The next input with the name of its place; nothing at the end.
    ///
    /// # Errors
    /// Lines that cannot be read, are no UTF-8, or are more than the parser takes.
    pub(super) fn next(&mut self) -> anyhow::Result<Option<(String, String)>> {
        let mut text = String::new();
        let mut first = self.count;
        while let Some(line) = self.line(text.len())? {
            if text.trim().is_empty() {
                text.clear();
                first = self.count;
            } else if input::is_command(&line) && !input::is_unfinished(&text) {
                self.ahead = Some(line);
                self.count -= 1;
                break;
            }
            text.push_str(&line);
            if input::is_command(&text) && !input::is_unfinished(&text) {
                break;
            }
        }
        if text.trim().is_empty() {
            return Ok(None);
        }
        let place =
            if first <= 1 { "stdin".to_owned() } else { format!("stdin from line {first}") };
        Ok(Some((text, place)))
    }

    /// The next line with its end; nothing at the end.
    fn line(&mut self, length: usize) -> anyhow::Result<Option<String>> {
        if let Some(line) = self.ahead.take() {
            self.count += 1;
            return Ok(Some(line));
        }
        let bytes_max = Limits::default().text_bytes_max;
        let room = (bytes_max - length.min(bytes_max)) as u64 + 1;
        let mut line = Vec::new();
        let read = io::Read::take(&mut self.lines, room).read_until(b'\n', &mut line);
        read.context("cannot read standard input")?;
        if line.is_empty() {
            return Ok(None);
        }
        self.count += 1;
        let number = self.count;
        ensure!(
            length + line.len() <= bytes_max,
            "line {number} of stdin: a script of more than {bytes_max} bytes"
        );
        let line = String::from_utf8(line).ok();
        line.map(Some).with_context(|| format!("line {number} of stdin is not UTF-8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(bytes: &[u8]) -> (Vec<(String, String)>, Option<String>) {
        let mut given = Given::new(bytes);
        let mut found = Vec::new();
        loop {
            match given.next() {
                Ok(Some(input)) => found.push(input),
                Ok(None) => return (found, None),
                Err(error) => return (found, Some(error.to_string())),
            }
        }
    }

    fn pair(text: &str, place: &str) -> (String, String) {
        (text.to_owned(), place.to_owned())
    }

    #[test]
    fn all_is_one_script_without_commands() {
        let script = "a = 1\n\nreturn \"{a}\"";
        assert_eq!(inputs(script.as_bytes()), (vec![pair(script, "stdin")], None));
        assert_eq!(inputs(b""), (vec![], None));
        assert_eq!(inputs(b"\n \n\n"), (vec![], None));
    }

    #[test]
    fn commands_stand_between_scripts() {
        let text = b"\n.output csv\nselect *\nfrom t\n\n.time on\n.plan select *\n  from t\nreturn {\n.5\n}\n";
        let expected = vec![
            pair(".output csv\n", "stdin from line 2"),
            pair("select *\nfrom t\n\n", "stdin from line 3"),
            pair(".time on\n", "stdin from line 6"),
            pair(".plan select *\n  from t\n", "stdin from line 7"),
            // The grammar misses something before the line.
            pair("return {\n.5\n}\n", "stdin from line 9"),
        ];
        assert_eq!(inputs(text), (expected, None));
    }

    #[test]
    fn what_is_too_long_or_no_text_is_an_error() {
        let long = vec![b'x'; Limits::default().text_bytes_max + 1];
        for (text, reason) in
            [(long.as_slice(), "more than 1048576 bytes"), (b"a\n\xff\n", "line 2")]
        {
            let (found, error) = inputs(text);
            assert!(
                found.is_empty() && error.as_ref().is_some_and(|error| error.contains(reason)),
                "{error:?}"
            );
        }
        let lines = "-- \n".repeat(Limits::default().text_bytes_max / 4 + 1);
        assert!(inputs(lines.as_bytes()).1.is_some());
    }
}
