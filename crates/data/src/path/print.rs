//! Canonical text of paths; reading it gives the same segments.

use std::fmt;

use super::{Path, Segment, step};

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let needs_root = matches!(
            self.segments.first(),
            None | Some(
                Segment::Descendant(_)
                    | Segment::DescendantWildcard
                    | Segment::Descend
                    | Segment::Root
            )
        );
        if needs_root {
            f.write_str("$")?;
        }
        let mut before = None;
        for segment in &self.segments {
            match segment {
                Segment::Member(name) if is_bare(name) && before != Some(&Segment::Descend) => {
                    write!(f, "{}{name}", if before.is_none() { "" } else { "." })?;
                }
                Segment::Descendant(name) if is_bare(name) => write!(f, "..{name}")?,
                Segment::Descendant(name) => {
                    f.write_str("..")?;
                    bracket(f, &Segment::Member(name.clone()))?;
                }
                Segment::DescendantWildcard => f.write_str("..*")?,
                Segment::Descend => f.write_str("..")?,
                Segment::Root if before == Some(&Segment::Descend) => f.write_str("$")?,
                Segment::Root => f.write_str(".$")?,
                Segment::Union(parts) if parts.is_empty() => {}
                other => {
                    // The dot tells a bracket behind the empty name from one at the start.
                    if matches!(before, Some(Segment::Union(parts)) if parts.is_empty()) {
                        f.write_str(".")?;
                    }
                    bracket(f, other)?;
                }
            }
            before = Some(segment);
        }
        Ok(())
    }
}

fn bracket(f: &mut fmt::Formatter<'_>, segment: &Segment) -> fmt::Result {
    f.write_str("[")?;
    item(f, segment)?;
    f.write_str("]")
}

fn item(f: &mut fmt::Formatter<'_>, segment: &Segment) -> fmt::Result {
    match segment {
        Segment::Member(name) | Segment::Descendant(name) => quoted(f, name),
        Segment::Index(index) => write!(f, "{index}"),
        Segment::Wildcard | Segment::DescendantWildcard | Segment::Descend => f.write_str("*"),
        Segment::Slice { start, end, step } => {
            let number = |value: &Option<i64>| value.map_or(String::new(), |n| n.to_string());
            write!(f, "{}:{}", number(start), number(end))?;
            if step.is_some() {
                write!(f, ":{}", number(step))?;
            }
            Ok(())
        }
        Segment::Filter(expression) => write!(f, "?({})", expression.text()),
        Segment::Computed(expression) => write!(f, "({})", expression.text()),
        Segment::Union(parts) => {
            for (at, part) in parts.iter().enumerate() {
                if at > 0 {
                    f.write_str(",")?;
                }
                item(f, part)?;
            }
            Ok(())
        }
        Segment::Root => f.write_str("$"),
    }
}

fn quoted(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    write!(f, "'{}'", name.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// Whether a name can stand without brackets and quotes.
fn is_bare(name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | ':' | '-');
    !name.is_empty()
        && name != "$"
        && name.chars().all(is_word)
        && (step::index_of(name).is_some() || !name.starts_with(|c: char| c.is_ascii_digit()))
}
