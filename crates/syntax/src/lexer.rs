//! Characters to tokens, one token at a time and on demand.
//!
//! In: the text and a position. Out: words, quoted texts, numbers and symbols with their spans, and
//! every comment of the text in order; what stands between tokens is read by `trivia`.
//! The language has no token stream of its own: which of the two kinds of quoted text a quote opens,
//! and whether a dot continues a name, depends on the place in the grammar (TXT-20). So
//! the parser says what it expects and the lexer reads that. After every token white space and
//! comments are skipped once, so the position always stands at the start of the next token.
//! It never goes back, and looks ahead only past the blanks after one word: the cost is linear.

mod trivia;

use std::cell::Cell;

pub(crate) use self::trivia::{is_blank, is_line_end, trivia_end};

use crate::{
    ast::{Comment, RawText},
    diagnostic::{Code, codes},
    source::Span,
    tokens::{Role, Token, TokenKind},
};

/// Whether a word can start with `c` (TXT-8).
pub(crate) fn is_word_start(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '$' | ':' | '_') || (!c.is_ascii() && c.is_alphabetic())
}

/// Whether a word can go on with `c`.
pub(crate) fn is_word_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, ':' | '_') || (!c.is_ascii() && c.is_alphanumeric())
}

/// The length in bytes of the word at the start of `text`; 0 if there is none.
pub(crate) fn word_length(text: &str) -> usize {
    let mut chars = text.char_indices();
    match chars.next() {
        Some((_, c)) if is_word_start(c) => {}
        _ => return 0,
    }
    chars.find(|(_, c)| !is_word_part(*c)).map_or(text.len(), |(at, _)| at)
}

/// Why a token could not be read.
#[derive(Debug)]
pub(crate) struct LexError {
    pub(crate) code: Code,
    pub(crate) span: Span,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// The token is a quoted text that goes on to the end of the whole text.
    pub(crate) is_open_to_end: bool,
}

/// Reads tokens of one text.
pub(crate) struct Lexer<'t> {
    text: &'t str,
    /// Start of the next token.
    at: usize,
    /// End of the last token.
    last_end: usize,
    /// All comments passed so far, in order.
    pub(crate) comments: Vec<Comment>,
    /// A block comment without an end; it swallows the rest of the text.
    pub(crate) unclosed_comment: Option<Span>,
    /// All tokens so far, for editors; nobody else notes them.
    pub(crate) tokens: Option<Vec<Token>>,
    /// The word that was looked at last: productions ask for the next one many times over.
    word: Cell<SeenWord>,
}

/// A place, and the word that stands there.
#[derive(Debug, Clone, Copy)]
struct SeenWord {
    at: usize,
    /// 0 if something else stands there.
    length: usize,
    /// Where the text goes on behind the word and the blanks and comments after it.
    next: usize,
}

impl SeenWord {
    fn at(text: &str, at: usize) -> Self {
        let length = word_length(&text[at..]);
        Self { at, length, next: trivia_end(text, at + length) }
    }
}

impl<'t> Lexer<'t> {
    /// Stands at the first token of `text`.
    pub(crate) fn new(text: &'t str) -> Self {
        let mut lexer = Self {
            text,
            at: 0,
            last_end: 0,
            comments: Vec::new(),
            unclosed_comment: None,
            tokens: None,
            word: Cell::new(SeenWord::at(text, 0)),
        };
        lexer.skip_trivia();
        lexer
    }

    /// Offset of the next token.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Offset after the last token.
    pub(crate) fn last_end(&self) -> u32 {
        self.last_end as u32
    }

    /// The text from the next token on.
    pub(crate) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// The whole text.
    pub(crate) fn text(&self) -> &'t str {
        self.text
    }

    /// The next character; `None` at the end.
    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The next word; empty if something else comes.
    pub(crate) fn peek_word(&self) -> &'t str {
        &self.rest()[..self.next_word().length]
    }

    /// The text after the next word and the blanks and comments behind it.
    pub(crate) fn rest_after_word(&self) -> &'t str {
        &self.text[self.next_word().next..]
    }

    fn next_word(&self) -> SeenWord {
        let mut word = self.word.get();
        if word.at != self.at {
            word = SeenWord::at(self.text, self.at);
            self.word.set(word);
        }
        word
    }

    /// Whether the next tokens are a dotted name and an opening parenthesis.
    pub(crate) fn is_call_ahead(&self) -> bool {
        let mut at = self.at;
        loop {
            let length = word_length(&self.text[at..]);
            if length == 0 {
                return false;
            }
            at += length;
            let is_dotted = self.text[at..].starts_with('.');
            if !is_dotted {
                return self.text[trivia_end(self.text, at)..].starts_with('(');
            }
            at += 1;
        }
    }

    /// Whether a line end stands between the last token and the next.
    pub(crate) fn is_on_new_line(&self) -> bool {
        self.text[self.last_end..self.at].contains(is_line_end)
    }

    /// Goes over `length` bytes as a token, without the white space behind it: the next part must
    /// follow directly.
    pub(crate) fn bump(&mut self, length: usize) -> Span {
        let start = self.at;
        self.at += length;
        self.last_end = self.at;
        let span = Span::new(start as u32, self.at as u32);
        if let Some(tokens) = self.tokens.as_mut().filter(|_| length > 0) {
            let kind = kind_of(&self.text[start..start + length]);
            tokens.push(Token { kind, role: Role::Plain, span });
        }
        span
    }

    /// Notes that the last token is a name.
    pub(crate) fn mark_name(&mut self) {
        if let Some(token) = self.tokens.as_mut().and_then(|tokens| tokens.last_mut()) {
            token.kind = TokenKind::Name;
        }
    }

    /// Notes what the last token is a name of.
    pub(crate) fn mark_role(&mut self, role: Role) {
        if let Some(token) = self.tokens.as_mut().and_then(|tokens| tokens.last_mut()) {
            token.role = role;
        }
    }

    /// Notes that the tokens from `from` on belong to nothing.
    pub(crate) fn mark_skipped(&mut self, from: usize) {
        let tokens = self.tokens.iter_mut().flatten().rev();
        for token in tokens.take_while(|token| token.span.start as usize >= from) {
            *token = Token { kind: TokenKind::Skipped, role: Role::Plain, span: token.span };
        }
    }

    /// Goes over `length` bytes as a token and over the white space behind it.
    pub(crate) fn take(&mut self, length: usize) -> Span {
        let span = self.bump(length);
        self.skip_trivia();
        span
    }

    /// Gives up: nothing is left to read.
    pub(crate) fn go_to_end(&mut self) {
        self.at = self.text.len();
    }

    /// Reads raw quoted text, line ends included, without escapes. The next character is a quote.
    /// White space behind it is left alone.
    pub(crate) fn raw_text(&mut self) -> Result<RawText, LexError> {
        let rest = self.rest();
        let quote = rest.as_bytes()[0];
        let Some(length) = rest.as_bytes()[1..].iter().position(|byte| *byte == quote) else {
            return Err(self.make_unclosed_error());
        };
        let text = rest[1..=length].to_owned();
        let span = self.bump(length + 2);
        Ok(RawText { text, span })
    }

    fn make_unclosed_error(&self) -> LexError {
        LexError {
            code: codes::UNCLOSED_TEXT,
            span: Span::new(self.at as u32, self.at as u32 + 1),
            message: "this quote is never closed".to_owned(),
            hint: None,
            is_open_to_end: true,
        }
    }

    /// Reads JSON text with its escapes. The next character is a quote. White space behind it is
    /// left alone.
    pub(crate) fn json_text(&mut self) -> Result<(String, Span), LexError> {
        let rest = self.rest();
        let quote = char::from(rest.as_bytes()[0]);
        let mut decoded = String::new();
        let mut at = 1;
        // Copies runs without escapes as a whole.
        let mut run = at;
        loop {
            let Some(c) = rest[at..].chars().next() else { return Err(self.make_unclosed_error()) };
            if c == quote {
                decoded.push_str(&rest[run..at]);
                return Ok((decoded, self.bump(at + 1)));
            }
            if c == '\\' {
                decoded.push_str(&rest[run..at]);
                at += self.escape(at, quote, &mut decoded)?;
                run = at;
            } else if c < ' ' {
                return Err(self.control_character(at, c));
            } else {
                at += c.len_utf8();
            }
        }
    }

    fn control_character(&self, offset: usize, c: char) -> LexError {
        if is_line_end(c) {
            let hint = Some("write a line end inside a text as `\\n`".to_owned());
            return LexError {
                message: "this text has no closing quote on its line".to_owned(),
                hint,
                is_open_to_end: false,
                ..self.make_unclosed_error()
            };
        }
        let at = (self.at + offset) as u32;
        LexError {
            code: codes::CONTROL_CHARACTER,
            span: Span::new(at, at + 1),
            message: format!("the control character U+{:04X} must be escaped", c as u32),
            hint: Some(format!("write it as `\\u{:04x}`", c as u32)),
            is_open_to_end: false,
        }
    }

    /// Decodes the escape at `offset` of the rest; gives its length.
    fn escape(&self, offset: usize, quote: char, decoded: &mut String) -> Result<usize, LexError> {
        let rest = &self.rest()[offset..];
        let plain = match rest[1..].chars().next() {
            Some('b') => '\u{8}',
            Some('f') => '\u{C}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some(c) if c == quote || c == '\\' || c == '/' => c,
            Some('u') => {
                if let Some((c, length)) = unicode_escape(rest) {
                    decoded.push(c);
                    return Ok(length);
                }
                return Err(self.bad_escape(offset, 'u'));
            }
            Some(c) => return Err(self.bad_escape(offset, c)),
            None => return Err(self.make_unclosed_error()),
        };
        decoded.push(plain);
        Ok(2)
    }

    fn bad_escape(&self, offset: usize, c: char) -> LexError {
        if is_line_end(c) {
            return self.control_character(offset, '\n');
        }
        let at = (self.at + offset) as u32;
        let (message, hint) = match c {
            'u' => ("`\\u` needs four hexadecimal digits".to_owned(), None),
            '"' | '\'' => (
                format!("`\\{c}` is no escape in this text"),
                Some(format!("write `{c}` as it is")),
            ),
            _ => (format!("`\\{c}` is no escape"), Some("write a backslash as `\\\\`".to_owned())),
        };
        let span = Span::new(at, at + 1 + c.len_utf8() as u32);
        LexError { code: codes::BAD_ESCAPE, span, message, hint, is_open_to_end: false }
    }

    /// Reads a number (TXT-14) and gives it as valid JSON text; `None` if none starts
    /// here. White space behind it is left alone.
    pub(crate) fn number(&mut self) -> Option<(String, Span)> {
        let rest = self.rest().as_bytes();
        let digits_from = |from: usize| {
            from + rest[from..].iter().take_while(|byte| byte.is_ascii_digit()).count()
        };
        let sign = usize::from(matches!(rest.first(), Some(b'+' | b'-')));
        let whole = digits_from(sign);
        if whole == sign {
            return None;
        }
        let has_point = rest.get(whole) == Some(&b'.');
        let fraction = if has_point { digits_from(whole + 1) } else { whole };
        let (exponent, exponent_digits) = exponent_end(self.rest(), fraction);

        let text = self.rest();
        let mut json = String::new();
        if rest[0] == b'-' {
            json.push('-');
        }
        let significant = text[sign..whole].trim_start_matches('0');
        json.push_str(if significant.is_empty() { "0" } else { significant });
        if fraction > whole + 1 {
            json.push_str(&text[whole..fraction]);
        }
        if exponent_digits {
            json.push_str(&text[fraction..exponent]);
        }
        Some((json, self.bump(exponent)))
    }
}

/// What a token is, as far as its characters tell: a word is a keyword until a production that reads
/// names says otherwise.
fn kind_of(token: &str) -> TokenKind {
    match token.chars().next() {
        Some('"' | '\'') => TokenKind::Text,
        Some('`') => TokenKind::Name,
        Some(':') if token.len() == 1 => TokenKind::Symbol,
        Some('{') if token.len() > 1 => TokenKind::Brace,
        Some('+' | '-') if token.len() > 1 => TokenKind::Number,
        Some(first) if first.is_ascii_digit() => TokenKind::Number,
        Some(first) if is_word_start(first) => match token {
            "true" | "false" | "null" => TokenKind::Literal,
            _ => TokenKind::Keyword,
        },
        _ => TokenKind::Symbol,
    }
}

/// Where the exponent that may start at `at` ends, and whether it has digits: `1e` is 1.
fn exponent_end(text: &str, at: usize) -> (usize, bool) {
    let bytes = text.as_bytes();
    if !matches!(bytes.get(at), Some(b'e' | b'E')) {
        return (at, false);
    }
    let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
    let from = at + 1 + sign;
    let end = from + bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    // In `1each = 2` the letter starts the next statement.
    let is_word = end == from && text[end..].chars().next().is_some_and(is_word_part);
    let is_comment = end == from && text[at + 1..].starts_with("--");
    if is_word {
        (at, false)
    } else if is_comment {
        (at + 1, false)
    } else {
        (end, end > from)
    }
}

/// Decodes `\uXXXX`, and a pair of them that forms one character; gives the length read.
/// A half of a pair without the other half becomes U+FFFD.
fn unicode_escape(text: &str) -> Option<(char, usize)> {
    let unit = hex_unit(text)?;
    if let Some(c) = char::from_u32(unit) {
        return Some((c, 6));
    }
    let second = text[6..].starts_with("\\u").then(|| hex_unit(&text[6..])).flatten();
    match second {
        Some(low) if unit < 0xDC00 && (0xDC00..0xE000).contains(&low) => {
            let c = char::from_u32(0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00))?;
            Some((c, 12))
        }
        _ => Some((char::REPLACEMENT_CHARACTER, 6)),
    }
}

fn hex_unit(text: &str) -> Option<u32> {
    let digits = text.as_bytes().get(2..6)?;
    digits.iter().try_fold(0, |unit, byte| Some(unit * 16 + char::from(*byte).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Option<(String, usize)> {
        let mut lexer = Lexer::new(text);
        let (json, _) = lexer.number()?;
        Some((json, lexer.at()))
    }

    #[test]
    fn numbers_become_valid_json() {
        for (text, json) in [
            ("+5", "5"),
            ("007", "7"),
            ("1.", "1"),
            ("1e", "1"),
            ("1.05", "1.05"),
            ("-0", "-0"),
            ("2.50", "2.50"),
            ("1E+3", "1E+3"),
            ("1e-", "1"),
            ("000.5e07", "0.5e07"),
            ("9223372036854775807", "9223372036854775807"),
        ] {
            assert_eq!(number(text), Some((json.to_owned(), text.len())), "{text}");
        }
    }

    #[test]
    fn a_letter_after_a_number_belongs_to_the_next_word() {
        assert_eq!(number("1each"), Some(("1".to_owned(), 1)));
        assert_eq!(number("2offset"), Some(("2".to_owned(), 1)));
        assert_eq!(number("1e--c"), Some(("1".to_owned(), 2)));
    }

    #[test]
    fn a_bare_point_or_sign_is_no_number() {
        for text in [".5", "+", "-x", "", "e5"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn escapes_are_decoded() {
        let text = r#""\\\/\b\f\n\r\t\u00e9\uD83D\uDE00\"é'""#;
        let (decoded, _) = Lexer::new(text).json_text().expect("valid");
        assert_eq!(decoded, "\\/\u{8}\u{C}\n\r\té😀\"é'");
        let (lone, _) = Lexer::new(r"'\ud83dx'").json_text().expect("valid");
        assert_eq!(lone, "\u{FFFD}x");
    }

    #[test]
    fn broken_texts_name_their_problem() {
        for (text, code) in [
            (r#""abc"#, codes::UNCLOSED_TEXT),
            ("\"a\nb\"", codes::UNCLOSED_TEXT),
            ("\"a\u{1}b\"", codes::CONTROL_CHARACTER),
            (r#""\x""#, codes::BAD_ESCAPE),
            (r#""\u12""#, codes::BAD_ESCAPE),
            (r#""\'""#, codes::BAD_ESCAPE),
            (r#""\"#, codes::UNCLOSED_TEXT),
            (r#""\u00é0""#, codes::BAD_ESCAPE),
        ] {
            let error = Lexer::new(text).json_text().expect_err(text);
            assert_eq!(error.code, code, "{text}");
        }
    }

    #[test]
    fn raw_text_knows_no_escapes() {
        let raw = Lexer::new("'a\\n\n\"b'x").raw_text().expect("closed");
        assert_eq!(raw.text, "a\\n\n\"b");
        assert_eq!(raw.span, Span::new(0, 8));
    }

    #[test]
    fn words_start_with_letters_and_three_marks() {
        for word in ["a", "$", "$t", ":", "_x", "ns:item", "straße", "日本2"] {
            assert_eq!(word_length(word), word.len(), "{word}");
        }
        for (text, length) in [("a-b", 1), ("2x", 0), ("", 0), ("a$b", 1), ("-", 0)] {
            assert_eq!(word_length(text), length, "{text}");
        }
    }
}
