//! JSON literals, counts and quoted texts (TXT-10, TXT-11, TXT-14, GRM-10).

use std::collections::HashMap;

use super::{Outcome, Parser, cursor::LITERAL_WORDS, expect::Expected};
use crate::{
    ast::{Count, Json, JsonKind, Member, RawText},
    complete::TokenPlace,
    diagnostic::codes,
};

impl Parser<'_> {
    /// `json = object | JStr | Number | array | 'true' | 'false' | 'null'`.
    pub(super) fn json(&mut self) -> Outcome<Json> {
        let start = self.start();
        let kind = match self.lexer.peek() {
            Some('{') => self.descend(Self::object)?,
            Some('[') => self.descend(Self::array)?,
            Some('"' | '\'') => JsonKind::String(self.json_text()?),
            Some(c) if c.is_ascii_digit() || matches!(c, '+' | '-') => self.json_number()?,
            _ => self.json_word()?,
        };
        Ok(Json { kind, span: self.since(start) })
    }

    fn json_number(&mut self) -> Outcome<JsonKind> {
        let Some((number, _)) = self.lexer.number() else {
            let span = self.here();
            let hint = self.habit().unwrap_or_default();
            return self.error(codes::BAD_NUMBER, span, "a sign needs a number behind it", hint);
        };
        self.lexer.skip_trivia();
        Ok(JsonKind::Number(number))
    }

    fn json_word(&mut self) -> Outcome<JsonKind> {
        let kind = match self.lexer.peek_word() {
            "true" => JsonKind::Bool(true),
            "false" => JsonKind::Bool(false),
            "null" => JsonKind::Null,
            word => {
                let word = word.to_owned();
                self.offer(LITERAL_WORDS);
                self.expect(Expected::Kind("a JSON value"));
                let hint = if word.is_empty() {
                    return self.fail();
                } else {
                    format!("a variable inside JSON is written as a text: `\"{{{word}}}\"`")
                };
                let span = self.word_span();
                let message = format!("expected a JSON value, found \"{word}\"");
                let mut diagnostic =
                    crate::diagnostic::Diagnostic::error(codes::UNEXPECTED_TOKEN, span, message)
                        .hint(hint);
                diagnostic.found = self.lexer.peek().map(String::from);
                diagnostic.expected = vec!["a JSON value".to_owned()];
                return self.report(diagnostic);
            }
        };
        self.lexer.take(self.lexer.peek_word().len());
        Ok(kind)
    }

    /// `JStr`, with the white space behind it.
    pub(super) fn json_text(&mut self) -> Outcome<String> {
        self.mark_text(TokenPlace::Script);
        match self.lexer.json_text() {
            Ok((text, _)) => {
                self.lexer.skip_trivia();
                Ok(text)
            }
            Err(error) => self.lex_failure(error),
        }
    }

    /// `'[' [ json { ',' json } ] ']'`.
    fn array(&mut self) -> Outcome<JsonKind> {
        self.require("[")?;
        let mut items = Vec::new();
        if self.accept("]").is_some() {
            return Ok(JsonKind::Array(items));
        }
        loop {
            items.push(self.json()?);
            if self.accept(",").is_some() {
                continue;
            }
            self.require("]")?;
            return Ok(JsonKind::Array(items));
        }
    }

    /// `'{' [ JStr ':' json { ',' JStr ':' json } ] '}'`. The last of several equal keys wins, at the
    /// place of the first.
    fn object(&mut self) -> Outcome<JsonKind> {
        self.require("{")?;
        let mut members: Vec<Member> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        if self.accept("}").is_some() {
            return Ok(JsonKind::Object(members));
        }
        loop {
            let member = self.member()?;
            if let Some(place) = places.get(&member.key) {
                members[*place] = member;
            } else {
                places.insert(member.key.clone(), members.len());
                members.push(member);
            }
            if self.accept(",").is_some() {
                continue;
            }
            self.require("}")?;
            return Ok(JsonKind::Object(members));
        }
    }

    fn member(&mut self) -> Outcome<Member> {
        let start = self.start();
        if !matches!(self.lexer.peek(), Some('"' | '\'')) {
            let word = self.lexer.peek_word();
            self.expect(Expected::Kind("a quoted key"));
            if !word.is_empty() {
                let hint = format!("keys are quoted: `\"{word}\"`");
                let span = self.word_span();
                let message = format!("expected a quoted key, found \"{word}\"");
                return self.error(codes::UNEXPECTED_TOKEN, span, message, hint);
            }
            return self.fail();
        }
        let key = self.json_text()?;
        let key_span = self.since(start);
        self.require(":")?;
        let value = self.json()?;
        Ok(Member { key, key_span, value })
    }

    /// `QStr`, with the white space behind it.
    pub(super) fn raw_text(&mut self) -> Outcome<RawText> {
        let text = self.raw_part()?;
        self.lexer.skip_trivia();
        Ok(text)
    }

    /// `QStr`, without the white space behind it.
    pub(super) fn raw_part(&mut self) -> Outcome<RawText> {
        if !matches!(self.lexer.peek(), Some('"' | '\'')) {
            self.expect(Expected::Kind("a quoted text"));
            return self.fail();
        }
        self.lexer.raw_text().or_else(|error| self.lex_failure(error))
    }

    /// `QStr { ',' QStr }`.
    pub(super) fn raw_texts(&mut self) -> Outcome<Vec<RawText>> {
        let mut texts = vec![self.raw_text()?];
        while self.accept(",").is_some() {
            texts.push(self.raw_text()?);
        }
        Ok(texts)
    }

    /// `Digits`: an unsigned whole number that fits 64 bits.
    pub(super) fn count(&mut self) -> Outcome<Count> {
        let rest = self.lexer.rest();
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        if length == 0 {
            self.expect(Expected::Kind("a whole number"));
            return self.fail();
        }
        let span = self.lexer.take(length);
        match rest[..length].parse() {
            Ok(value) => Ok(Count { value, span }),
            Err(_) => self.error(codes::BAD_NUMBER, span, "this number is too large", ""),
        }
    }
}
