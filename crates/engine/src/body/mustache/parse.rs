//! Reads a template: one pass over the text, with the sections that are open on a stack.
//!
//! Which tag closes which section is decided by the number of tags that are still to come, because
//! templates with too few closing tags exist and mean the outermost section.

use std::collections::HashMap;

use super::{
    DEPTH_MAX, Escape, Mustache, MustacheError, Name, Node, Writing,
    json_place::{JsonPlace, ends_value},
};

/// Parses a template; what does not pair becomes a note.
pub(super) fn parse(text: &str, escape: Escape) -> Result<Mustache, MustacheError> {
    let mut parser = Parser {
        text,
        json: (escape == Escape::Json).then(JsonPlace::default),
        at: 0,
        line: 1,
        open: Vec::new(),
        nodes: Vec::new(),
        surplus: surplus(text),
        notes: Vec::new(),
    };
    parser.run()?;
    parser.leave_out(0);
    Ok(Mustache { nodes: parser.nodes, notes: parser.notes, escape })
}

/// Per name, how many more tags of a template close a section than open one.
fn surplus(text: &str) -> HashMap<&str, isize> {
    let mut surplus: HashMap<&str, isize> = HashMap::new();
    for tag in text.split("{{").skip(1) {
        let Some((inner, _)) = tag.split_once("}}") else { continue };
        let change = match inner.as_bytes().first() {
            Some(b'#' | b'^') => -1,
            Some(b'/') => 1,
            _ => continue,
        };
        *surplus.entry(inner[1..].trim()).or_default() += change;
    }
    surplus
}

struct Parser<'a> {
    text: &'a str,
    /// Where in JSON the next tag stands, if the template makes JSON.
    json: Option<JsonPlace>,
    at: usize,
    line: usize,
    open: Vec<Open<'a>>,
    nodes: Vec<Node>,
    /// How many more sections of a name are closed than opened from here on.
    surplus: HashMap<&'a str, isize>,
    notes: Vec<MustacheError>,
}

struct Open<'a> {
    written: &'a str,
    is_inverted: bool,
    line: usize,
    /// The nodes before the section.
    before: Vec<Node>,
}

impl<'a> Parser<'a> {
    fn run(&mut self) -> Result<(), MustacheError> {
        while let Some(found) = self.text[self.at..].find("{{") {
            let start = self.at + found;
            let before = &self.text[self.at..start];
            self.line += before.matches('\n').count();
            if let Some(json) = &mut self.json {
                json.pass(before);
            }
            let is_triple = self.text[start..].starts_with("{{{");
            let opener = if is_triple { 3 } else { 2 };
            let Some(length) = self.text[start + opener..].find("}}") else {
                self.note("a tag is not closed".to_owned(), self.line);
                break;
            };
            let inner = &self.text[start + opener..start + opener + length];
            let closer = start + opener + length;
            let mut end = closer + self.closing_braces(closer, opener);
            let sign = if is_triple { '{' } else { inner.chars().next().unwrap_or(' ') };
            let is_block = matches!(sign, '#' | '^' | '/' | '!');
            let mut before = before;
            if is_block && let Some((line_start, line_end)) = self.standalone(start, end) {
                before = &self.text[self.at..line_start.max(self.at)];
                end = line_end;
            }
            if !before.is_empty() {
                self.nodes.push(Node::Text(before.to_owned()));
            }
            self.tag(sign, inner, end)?;
            self.line += self.text[start..end].matches('\n').count();
            self.at = end;
        }
        let rest = &self.text[self.at..];
        if !rest.is_empty() {
            self.nodes.push(Node::Text(rest.to_owned()));
        }
        Ok(())
    }

    /// How many of the braces at `closer` belong to a tag with so many opening ones: all that follow each
    /// other, as in the dialect of 2011. Outside of the strings of JSON those beyond its own close objects.
    fn closing_braces(&self, closer: usize, opener: usize) -> usize {
        let all = self.text[closer..].bytes().take_while(|byte| *byte == b'}').count();
        match &self.json {
            Some(json) if !json.is_in_string() => all.min(opener),
            _ => all,
        }
    }

    /// `end` is where the tag ends.
    fn tag(&mut self, sign: char, inner: &'a str, end: usize) -> Result<(), MustacheError> {
        let name = match sign {
            '#' | '^' | '/' | '&' => inner[1..].trim(),
            _ => inner.trim(),
        };
        match sign {
            // Partials have no text to come from.
            '!' | '>' => {}
            '#' | '^' => {
                if self.open.len() >= DEPTH_MAX {
                    let reason = format!("more than {DEPTH_MAX} sections within each other");
                    return Err(MustacheError { reason, line: self.line });
                }
                *self.surplus.entry(name).or_default() += 1;
                let before = std::mem::take(&mut self.nodes);
                self.open.push(Open {
                    written: name,
                    is_inverted: sign == '^',
                    line: self.line,
                    before,
                });
            }
            '/' => self.close(name),
            _ => {
                let writing = self.writing(matches!(sign, '{' | '&'), end);
                if let (Some(_), Writing::Raw) = (&self.json, writing) {
                    let tag = if sign == '{' {
                        format!("{{{{{{{name}}}}}}}")
                    } else {
                        format!("{{{{&{name}}}}}")
                    };
                    let reason = format!(
                        "`{tag}` is not escaped, so that a quote in its value ends the JSON string; \
                         `{{{{{name}}}}}` is"
                    );
                    self.note(reason, self.line);
                }
                if let Some(json) = &mut self.json {
                    json.pass_value();
                }
                self.nodes.push(Node::Variable { name: Name::parse(name), writing });
            }
        }
        Ok(())
    }

    /// How the variable whose tag ends at `end` is written.
    fn writing(&self, is_raw: bool, end: usize) -> Writing {
        match &self.json {
            _ if is_raw => Writing::Raw,
            Some(json) if json.is_behind_colon() && ends_value(&self.text[end..]) => {
                Writing::JsonValue
            }
            Some(json) if !json.is_in_string() => Writing::JsonItems,
            _ => Writing::Escaped,
        }
    }

    /// Closes the section that the tag belongs to: the innermost of the name, or one further out if
    /// too few tags follow to close all that are open.
    fn close(&mut self, name: &str) {
        let same = |open: &Open<'a>| open.written == name;
        let open = self.open.iter().filter(|open| same(open)).count();
        let closers = self.surplus.get_mut(name).map_or(0, |surplus| {
            *surplus -= 1;
            usize::try_from(*surplus + 1).unwrap_or(0)
        });
        let nth = open.min(closers.max(1));
        let position =
            self.open.iter().enumerate().filter(|(_, open)| same(open)).nth(nth.wrapping_sub(1));
        let Some(position) = position.map(|(position, _)| position) else {
            self.note(format!("section `{name}` is closed but not open"), self.line);
            return;
        };
        self.leave_out(position + 1);
        if let Some(open) = self.open.pop() {
            let nodes = std::mem::replace(&mut self.nodes, open.before);
            let (name, is_inverted) = (Name::parse(name), open.is_inverted);
            self.nodes.push(Node::Section { name, is_inverted, nodes });
        }
    }

    /// Forgets the tags that opened the sections from here on; what stands in them stays.
    fn leave_out(&mut self, from: usize) {
        let nodes = std::mem::take(&mut self.nodes);
        let mut kept = Vec::new();
        for open in self.open.split_off(from) {
            self.notes.push(MustacheError {
                reason: format!("section `{}` is not closed", open.written),
                line: open.line,
            });
            kept.extend(open.before);
        }
        kept.extend(nodes);
        self.nodes = kept;
    }

    fn note(&mut self, reason: String, line: usize) {
        self.notes.push(MustacheError { reason, line });
    }

    /// The bounds of the line if nothing but blanks stands beside the tag.
    fn standalone(&self, start: usize, end: usize) -> Option<(usize, usize)> {
        let is_blank = |text: &str| text.chars().all(|c| c == ' ' || c == '\t');
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        // What stands before on this line must not hold another tag either.
        if line_start < self.at && !(self.at == 0 || self.text[..self.at].ends_with('\n')) {
            return None;
        }
        let after = &self.text[end..];
        let line_length = after.find('\n').unwrap_or(after.len());
        let tail = after[..line_length].strip_suffix('\r').unwrap_or(&after[..line_length]);
        if !is_blank(&self.text[line_start..start]) || !is_blank(tail) {
            return None;
        }
        let line_end = end + line_length + usize::from(line_length < after.len());
        Some((line_start, line_end))
    }
}
