//! Names, paths, operands and calls: the values of clauses (GRM-10, GRM-7, GRM-9).

use super::{Outcome, Parser, expect::Expected};
use crate::{
    ast::{
        Arg, Call, Ident, Name, NameValue, Operand, OperandKind, Path, RawText, Segment, Source,
    },
    complete::{TokenPlace, Wanted},
    diagnostic::codes,
    lexer,
    tokens::Role,
};

impl Parser<'_> {
    /// `Word`, with the white space behind it.
    pub(super) fn ident(&mut self) -> Outcome<Ident> {
        if self.lexer.peek_word().is_empty() {
            self.expect(Expected::Kind("a name"));
            return self.fail();
        }
        let ident = self.ident_part();
        self.lexer.skip_trivia();
        Ok(ident)
    }

    /// The next word, which is known to be there, without the white space behind it.
    pub(super) fn ident_part(&mut self) -> Ident {
        let word = self.lexer.peek_word();
        let ident = Ident { text: word.to_owned(), span: self.lexer.bump(word.len()) };
        self.lexer.mark_name();
        ident
    }

    /// `Name = Word { '.' Word }`, without blanks around the dots.
    pub(super) fn name(&mut self) -> Outcome<Name> {
        if self.lexer.peek_word().is_empty() {
            self.expect(Expected::Kind("a name"));
            return self.fail();
        }
        let rest = self.lexer.rest();
        let mut length = self.lexer.peek_word().len();
        while let Some(behind) = rest[length..].strip_prefix('.') {
            let word = lexer::word_length(behind);
            if word == 0 {
                break;
            }
            length += 1 + word;
        }
        let name = Name { text: rest[..length].to_owned(), span: self.lexer.take(length) };
        self.lexer.mark_name();
        Ok(name)
    }

    /// `source = Name [ 'as' Name ]`.
    pub(super) fn source(&mut self) -> Outcome<Source> {
        let start = self.start();
        self.want(Wanted::Table);
        self.want(Wanted::Variable);
        self.note_role(Role::Source);
        let name = self.name()?;
        let alias = match self.accept_clause("as") {
            Some(_) => {
                let alias = self.name()?;
                self.lexer.mark_role(Role::Alias);
                Some(alias)
            }
            None => None,
        };
        Ok(Source::named(name, alias, self.since(start)))
    }

    /// `Path = ( Word | QStr ) { '.' Word | '..' Word | '[' Index ']' }`, without blanks inside.
    pub(super) fn path(&mut self) -> Outcome<Path> {
        let path = self.path_part()?;
        self.lexer.skip_trivia();
        Ok(path)
    }

    fn path_part(&mut self) -> Outcome<Path> {
        let start = self.start();
        self.mark_text(TokenPlace::Script);
        let first = match self.lexer.peek() {
            Some('"' | '\'') => Segment::Member { name: self.raw_part()?.text, is_quoted: true },
            Some('`') => Segment::Member { name: self.backtick_part()?, is_quoted: true },
            Some(c) if lexer::is_word_start(c) => {
                Segment::Member { name: self.ident_part().text, is_quoted: false }
            }
            _ => {
                self.expect(Expected::Kind("a name"));
                self.expect(Expected::Kind("a quoted name"));
                return self.fail();
            }
        };
        let mut segments = vec![first];
        loop {
            let rest = self.lexer.rest();
            if rest.starts_with("..") {
                self.lexer.bump(2);
                segments.push(Segment::Descendant(self.path_word()?));
            } else if rest.starts_with('.') {
                self.lexer.bump(1);
                segments.push(Segment::Member { name: self.path_word()?, is_quoted: false });
            } else if rest.starts_with('[') {
                segments.push(self.index()?);
            } else {
                return Ok(Path { segments, span: self.since(start) });
            }
        }
    }

    /// A name in backticks, on one line.
    fn backtick_part(&mut self) -> Outcome<String> {
        let rest = &self.lexer.rest()[1..];
        let end = rest.find(|c| c == '`' || lexer::is_line_end(c));
        let Some(end) = end.filter(|end| *end > 0 && rest[*end..].starts_with('`')) else {
            let span = self.here();
            let message = "this backtick begins no name";
            let hint = "a name in backticks ends with one, on the same line: `` `a b` ``";
            return self.error(codes::UNEXPECTED_TOKEN, span, message, hint);
        };
        let name = rest[..end].to_owned();
        self.lexer.bump(end + 2);
        Ok(name)
    }

    fn path_word(&mut self) -> Outcome<String> {
        if !self.lexer.peek_word().is_empty() {
            return Ok(self.ident_part().text);
        }
        if self.lexer.rest().starts_with('*') {
            let span = self.here();
            let message = "`.*` is not available here";
            return self.error(codes::UNEXPECTED_TOKEN, span, message, "write `[*]`");
        }
        self.expect(Expected::Kind("a name"));
        self.fail()
    }

    /// `'[' Index ']'`.
    fn index(&mut self) -> Outcome<Segment> {
        self.lexer.bump(1);
        let segment = match self.lexer.peek() {
            Some('"' | '\'') => Segment::Member { name: self.raw_part()?.text, is_quoted: true },
            Some('*') => {
                self.lexer.bump(1);
                Segment::Wildcard
            }
            Some('?') => {
                self.lexer.bump(1);
                Segment::Filter(self.index_expression()?)
            }
            Some('(') => Segment::Computed(self.index_expression()?),
            Some(c) if c.is_ascii_digit() || matches!(c, '-' | ':') => self.index_or_slice()?,
            _ => {
                for kind in ["an index", "a quoted name", "a slice"] {
                    self.expect(Expected::Kind(kind));
                }
                for symbol in ["*", "(", "?"] {
                    self.expect(Expected::Literal(symbol));
                }
                return self.fail();
            }
        };
        self.part("]")?;
        Ok(segment)
    }

    /// Takes a symbol that must follow directly, without the white space behind it.
    fn part(&mut self, symbol: &'static str) -> Outcome<()> {
        if !self.lexer.rest().starts_with(symbol) {
            self.expect(Expected::Literal(symbol));
            return self.fail();
        }
        self.lexer.bump(symbol.len());
        Ok(())
    }

    /// `'(' JStr ')'`.
    fn index_expression(&mut self) -> Outcome<String> {
        self.part("(")?;
        if !matches!(self.lexer.peek(), Some('"' | '\'')) {
            let span = self.here();
            let message = "an expression in a path is a quoted text";
            return self.error(codes::UNEXPECTED_TOKEN, span, message, "write `[?(\"@.a > 1\")]`");
        }
        let text = match self.lexer.json_text() {
            Ok((text, _)) => text,
            Err(error) => return self.lex_failure(error),
        };
        self.part(")")?;
        Ok(text)
    }

    /// `n`, or `start:end:step` with every part optional.
    fn index_or_slice(&mut self) -> Outcome<Segment> {
        let start = self.start();
        let first = self.slice_number()?;
        if !self.lexer.rest().starts_with(':') {
            if let Some(Ok(index)) = first.map(u64::try_from) {
                return Ok(Segment::Index(index));
            }
            let span = self.since(start);
            let hint = "a slice can: `[-1:]` is the last element";
            return self.error(codes::BAD_NUMBER, span, "an index cannot be negative", hint);
        }
        self.lexer.bump(1);
        let end = self.slice_number()?;
        let step = if self.lexer.rest().starts_with(':') {
            self.lexer.bump(1);
            self.slice_number()?
        } else {
            None
        };
        if step == Some(0) {
            let span = self.since(start);
            return self.error(codes::BAD_NUMBER, span, "the step of a slice cannot be 0", "");
        }
        Ok(Segment::Slice { start: first, end, step })
    }

    fn slice_number(&mut self) -> Outcome<Option<i64>> {
        let rest = self.lexer.rest();
        let sign = usize::from(rest.starts_with('-'));
        let length = sign + rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
        if length == 0 {
            return Ok(None);
        }
        let span = self.lexer.bump(length);
        match rest[..length].parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => self.error(codes::BAD_NUMBER, span, "this is no index", ""),
        }
    }

    /// `operand = Scalar | Path`.
    pub(super) fn operand(&mut self) -> Outcome<Operand> {
        let start = self.start();
        self.want_value(false);
        self.mark_text(TokenPlace::Script);
        let kind = match self.lexer.peek() {
            Some('"' | '\'') => OperandKind::Text(self.raw_text()?.text),
            Some(c) if c.is_ascii_digit() || matches!(c, '+' | '-') => {
                let Some((number, _)) = self.lexer.number() else {
                    let span = self.here();
                    let message = "a sign needs a number behind it";
                    return self.error(codes::BAD_NUMBER, span, message, "");
                };
                self.lexer.skip_trivia();
                OperandKind::Number(number)
            }
            Some(c) if lexer::is_word_start(c) => word_operand(self.path()?),
            _ => {
                for kind in ["a quoted text", "a number", "a name"] {
                    self.expect(Expected::Kind(kind));
                }
                if self.lexer.rest().starts_with('=') {
                    let span = self.here();
                    let hint = "equality is written with one `=`";
                    return self.error(codes::UNKNOWN_OPERATOR, span, "there is no `==`", hint);
                }
                return self.fail();
            }
        };
        Ok(Operand { kind, span: self.since(start) })
    }

    /// `operand { ',' operand } ')'`; the opening parenthesis is already taken.
    pub(super) fn operands(&mut self) -> Outcome<Vec<Operand>> {
        let mut items = vec![self.operand()?];
        while self.accept(",").is_some() {
            items.push(self.operand()?);
        }
        self.require(")")?;
        Ok(items)
    }

    /// `udfCall = Name '(' [ arg { ',' arg } ] ')'`.
    pub(super) fn call(&mut self) -> Outcome<Call> {
        let start = self.start();
        let callee = self.name()?;
        self.lexer.mark_role(Role::Function);
        self.require("(")?;
        let mut args = Vec::new();
        if self.accept(")").is_none() {
            loop {
                args.push(self.arg()?);
                if self.accept(",").is_none() {
                    break;
                }
            }
            self.require(")")?;
        }
        Ok(Call { callee, args, span: self.since(start) })
    }

    /// `arg = json | Path`.
    fn arg(&mut self) -> Outcome<Arg> {
        self.want_value(true);
        let word = self.lexer.peek_word();
        let continues = self.lexer.rest()[word.len()..].starts_with(['.', '[']);
        let is_path = !word.is_empty() && (continues || !matches!(word, "true" | "false" | "null"));
        if is_path { self.path().map(Arg::Path) } else { self.json().map(Arg::Json) }
    }

    /// `nvs = nv { ',' nv }`.
    pub(super) fn name_values(&mut self) -> Outcome<Vec<NameValue>> {
        let mut pairs = vec![self.name_value()?];
        while self.accept(",").is_some() {
            pairs.push(self.name_value()?);
        }
        Ok(pairs)
    }

    /// `nv = ( Path | QStr ) '=' ( Scalar | Path )`. The name is one flat key.
    fn name_value(&mut self) -> Outcome<NameValue> {
        let path = self.path()?;
        let source = &self.lexer.text()[path.span.start as usize..path.span.end as usize];
        let is_quoted = source.contains(['"', '\'']);
        let text = match path.segments.as_slice() {
            [Segment::Member { name, .. }] => name.clone(),
            _ => flat_key(source),
        };
        if self.lexer.rest().starts_with('-') {
            let span = self.here();
            let message = "a name with a hyphen must be quoted";
            return self.error(codes::UNEXPECTED_TOKEN, span, message, "write it as `'a-b'`");
        }
        self.require("=")?;
        let value = self.operand()?;
        Ok(NameValue { name: RawText { text, span: path.span }, is_quoted, value })
    }
}

/// A path as the text of a flat key: its quotes are not part of it (PTH-2).
fn flat_key(source: &str) -> String {
    source.chars().filter(|c| !matches!(c, '"' | '\'')).collect()
}

/// A bareword, unless it is one of the three literals (TXT-17).
fn word_operand(path: Path) -> OperandKind {
    if let [Segment::Member { name, is_quoted: false }] = path.segments.as_slice() {
        match name.as_str() {
            "true" => return OperandKind::Bool(true),
            "false" => return OperandKind::Bool(false),
            "null" => return OperandKind::Null,
            _ => {}
        }
    }
    OperandKind::Path(path)
}
