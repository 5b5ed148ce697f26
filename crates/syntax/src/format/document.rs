//! A small layout language: text with places where a line may end.
//!
//! In: a list of [`Doc`]s. Out: text. A group is printed flat if it fits into the rest of the line,
//! otherwise each of its own line places becomes a line end. Widths are computed when a group is
//! built, so rendering is linear.

/// A piece of a layout.
#[derive(Debug, Clone)]
pub(super) enum Doc {
    /// Text as it is; it may hold line ends of its own.
    Text(String),
    /// A blank, except at the start of a line.
    Space,
    /// A blank in a flat group, a line end in a broken one.
    Line,
    /// Nothing in a flat group, a line end in a broken one.
    SoftLine,
    /// A line end.
    HardLine,
    /// A line end and an empty line.
    BlankLine,
    /// A comment that ends with its line: whatever comes next starts a new one.
    LineComment(String),
    /// Lines inside start two columns further right.
    Indent(Vec<Doc>),
    /// Broken or flat as a whole; the width is `None` if it cannot be flat.
    Group(Vec<Doc>, Option<usize>),
}

/// Columns per level.
const INDENT: usize = 2;

impl Doc {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn group(docs: Vec<Self>) -> Self {
        let width = flat_width(&docs);
        Self::Group(docs, width)
    }
}

fn flat_width(docs: &[Doc]) -> Option<usize> {
    docs.iter().try_fold(0_usize, |width, doc| {
        let own = match doc {
            Doc::Text(text) if text.contains(crate::lexer::is_line_end) => return None,
            Doc::Text(text) => text.chars().count(),
            Doc::Space | Doc::Line => 1,
            Doc::SoftLine => 0,
            Doc::HardLine | Doc::BlankLine | Doc::LineComment(_) => return None,
            Doc::Indent(inner) => flat_width(inner)?,
            Doc::Group(_, width) => (*width)?,
        };
        Some(width + own)
    })
}

/// Prints a layout; the text ends with a line end unless it is empty.
pub(super) fn render(docs: &[Doc], width: usize) -> String {
    let mut output = Output { text: String::new(), column: 0, indent: 0, must_break: false, width };
    output.docs(docs, false);
    if !output.text.is_empty() && !output.text.ends_with('\n') {
        output.text.push('\n');
    }
    output.text
}

struct Output {
    text: String,
    /// Characters on the current line; 0 also before the indentation is written.
    column: usize,
    indent: usize,
    /// A line comment was written.
    must_break: bool,
    width: usize,
}

impl Output {
    fn docs(&mut self, docs: &[Doc], is_flat: bool) {
        for doc in docs {
            self.doc(doc, is_flat);
        }
    }

    fn doc(&mut self, doc: &Doc, is_flat: bool) {
        match doc {
            Doc::Text(text) => self.write(text),
            Doc::LineComment(text) => {
                self.write(text);
                self.must_break = true;
            }
            Doc::Space => self.space(),
            Doc::Line if is_flat => self.space(),
            Doc::SoftLine if is_flat => {}
            Doc::Line | Doc::SoftLine | Doc::HardLine => self.line_end(),
            Doc::BlankLine => {
                self.line_end();
                if !self.text.is_empty() && !self.text.ends_with("\n\n") {
                    self.text.push('\n');
                }
            }
            Doc::Indent(inner) => {
                self.indent += INDENT;
                self.docs(inner, is_flat);
                self.indent -= INDENT;
            }
            Doc::Group(inner, width) => {
                let start = if self.column == 0 { self.indent } else { self.column };
                let fits = width.is_some_and(|width| start + width <= self.width);
                self.docs(inner, fits);
            }
        }
    }

    fn space(&mut self) {
        if self.column > 0 && !self.must_break && !self.text.ends_with(' ') {
            self.text.push(' ');
            self.column += 1;
        }
    }

    fn line_end(&mut self) {
        self.must_break = false;
        if self.column > 0 {
            self.text.push('\n');
            self.column = 0;
        }
    }

    fn write(&mut self, text: &str) {
        if self.must_break {
            self.line_end();
        }
        if self.column == 0 {
            self.text.extend(std::iter::repeat_n(' ', self.indent));
            self.column = self.indent;
        }
        self.text.push_str(text);
        match text.rfind(crate::lexer::is_line_end) {
            // What follows on that line is not indented by us; it only has to be longer than empty.
            Some(at) => self.column = text[at..].chars().count(),
            None => self.column += text.chars().count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> Vec<Doc> {
        let items = vec![Doc::SoftLine, Doc::text("a,"), Doc::Line, Doc::text("b")];
        vec![Doc::group(vec![Doc::text("["), Doc::Indent(items), Doc::SoftLine, Doc::text("]")])]
    }

    #[test]
    fn a_group_is_flat_if_it_fits_exactly() {
        assert_eq!(render(&list(), 6), "[a, b]\n");
        assert_eq!(render(&list(), 5), "[\n  a,\n  b\n]\n");
    }

    #[test]
    fn a_line_comment_ends_its_line_even_in_a_group() {
        let docs = [Doc::group(vec![
            Doc::text("a"),
            Doc::Space,
            Doc::LineComment("-- c".into()),
            Doc::Space,
            Doc::text("b"),
        ])];
        assert_eq!(render(&docs, 80), "a -- c\nb\n");
    }

    #[test]
    fn there_is_never_more_than_one_blank_line() {
        let docs = [Doc::text("a"), Doc::BlankLine, Doc::BlankLine, Doc::HardLine, Doc::text("b")];
        assert_eq!(render(&docs, 80), "a\n\nb\n");
        assert_eq!(render(&[Doc::BlankLine], 80), "");
    }
}
