//! What stands alone in an expression: literals, tokens, columns, constructors, `case`, parentheses.

use super::{Outcome, Parser, expect::Expected, source::is_select_in_parentheses};
use crate::{
    ast::{
        Condition, Expression, ExpressionKind, Ident, ObjectMember, Path, Segment, SelectManner,
        Star,
    },
    diagnostic::codes,
    functions::BuiltIn,
    lexer,
    source::Span,
    tokens::Role,
};

impl Parser<'_> {
    /// One operand, without the operators around it.
    pub(super) fn operand_of_row(&mut self) -> Outcome<Expression> {
        let start = self.start();
        self.want_operand();
        let rest = self.lexer.rest();
        let kind = match rest.chars().next() {
            Some('"' | '\'') if self.place.is_json => {
                ExpressionKind::Text { text: self.json_text()?, is_json: true }
            }
            Some('"' | '\'') => self.quoted()?,
            Some('{') if rest[1..].starts_with(['=', '^']) => ExpressionKind::Token(self.token()?),
            Some('{') => self.bracketed(true, Self::object_constructor)?,
            Some('[') => self.bracketed(true, Self::list_constructor)?,
            Some('(') => self.bracketed(false, Self::group)?,
            Some(c) if c.is_ascii_digit() || matches!(c, '+' | '-') => {
                let Some((number, _)) = self.lexer.number() else { return self.fail() };
                self.lexer.skip_trivia();
                ExpressionKind::Number(number)
            }
            Some('`') => ExpressionKind::Path(self.path()?),
            Some(c) if lexer::is_word_start(c) => self.word_of_row()?,
            _ => {
                for kind in ["a quoted text", "a number", "a name"] {
                    self.expect(Expected::Kind(kind));
                }
                return self.fail();
            }
        };
        Ok(Expression { kind, span: self.since(start) })
    }

    /// A quoted text, or a path that begins with a quoted name.
    fn quoted(&mut self) -> Outcome<ExpressionKind> {
        let path = self.path()?;
        Ok(match path.segments.as_slice() {
            [Segment::Member { name, .. }] => {
                ExpressionKind::Text { text: name.clone(), is_json: false }
            }
            _ => ExpressionKind::Path(path),
        })
    }

    /// `{=name}`, given without its braces.
    pub(super) fn token(&mut self) -> Outcome<String> {
        let start = self.start();
        let rest = self.lexer.rest();
        let mut depth = 0_usize;
        let end = rest.char_indices().find_map(|(at, c)| {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                c if lexer::is_line_end(c) => return Some(None),
                _ => {}
            }
            (depth == 0).then_some(Some(at))
        });
        let Some(Some(end)) = end else {
            let span = self.here();
            let hint = "a token names a value: `{=name}`";
            return self.error(codes::UNEXPECTED_TOKEN, span, "this brace is never closed", hint);
        };
        let text = rest[1..end].to_owned();
        self.lexer.take(end + 1);
        let name = &text[1..];
        if name.is_empty() || name.contains('`') || name.starts_with(lexer::is_blank) {
            let span = self.since(start);
            let hint = "a token names a value: `{=name}`";
            return self.error(codes::UNEXPECTED_TOKEN, span, "this token names nothing", hint);
        }
        Ok(text)
    }

    /// A literal, `case`, a call or a column.
    fn word_of_row(&mut self) -> Outcome<ExpressionKind> {
        let word = self.lexer.peek_word();
        let is_dotted = self.lexer.rest()[word.len()..].starts_with(['.', '[']);
        let literal = match word {
            "true" => Some(ExpressionKind::Bool(true)),
            "false" => Some(ExpressionKind::Bool(false)),
            "null" => Some(ExpressionKind::Null),
            _ => None,
        };
        if let Some(literal) = literal.filter(|_| !is_dotted) {
            self.lexer.take(word.len());
            return Ok(literal);
        }
        let after = self.lexer.rest_after_word();
        let is_when = !is_dotted && &after[..lexer::word_length(after)] == "when";
        if word == "case" && (is_when || !self.is_column_word()) {
            return self.bracketed(false, Self::case);
        }
        if word == "exists" && is_select_in_parentheses(after) {
            self.lexer.take(word.len());
            return self.bracketed(false, |parser| {
                parser.require("(")?;
                parser.nested(SelectManner::Exists, ")")
            });
        }
        match self.built_in_ahead() {
            Some(BuiltIn::Function(name)) => {
                return self.bracketed(true, |parser| parser.function(name));
            }
            Some(BuiltIn::Aggregate(name)) => return self.aggregate(name),
            None => {}
        }
        if self.lexer.is_call_ahead() {
            let call = self.call()?;
            return Ok(ExpressionKind::Condition(Box::new(Condition::Call(call))));
        }
        self.path().map(ExpressionKind::Path)
    }

    /// The built-in function or aggregate that is called next, unless the script binds its name to a
    /// module.
    fn built_in_ahead(&self) -> Option<BuiltIn> {
        let word = self.lexer.peek_word();
        let is_call = self.lexer.rest_after_word().starts_with('(');
        let found = BuiltIn::find(word).filter(|_| is_call && self.lexer.is_call_ahead())?;
        (!self.modules.contains(&found.name())).then_some(found)
    }

    /// `call = Word '(' [ expr { ',' expr } ] ')'` (FUN-1).
    fn function(&mut self, name: &'static str) -> Outcome<ExpressionKind> {
        let callee = self.callee_of(name)?;
        let mut arguments = Vec::new();
        if self.accept(")").is_none() {
            loop {
                arguments.push(self.expression()?);
                if self.accept(",").is_none() {
                    break;
                }
            }
            self.require(")")?;
        }
        Ok(ExpressionKind::Function { name, span: callee, arguments })
    }

    /// The name of a built-in function and the parenthesis behind it; gives where the name stands.
    pub(super) fn callee_of(&mut self, name: &'static str) -> Outcome<Span> {
        if !self.functions.contains(&name) {
            self.functions.push(name);
        }
        let callee = self.ident_part();
        self.lexer.mark_role(Role::Function);
        self.lexer.skip_trivia();
        self.require("(")?;
        Ok(callee.span)
    }

    /// `'(' expr ')'`.
    fn group(&mut self) -> Outcome<ExpressionKind> {
        self.require("(")?;
        if self.is_sub_select() {
            return self.nested(SelectManner::One, ")");
        }
        let inner = Box::new(self.expression()?);
        self.require(")")?;
        Ok(ExpressionKind::Group(inner))
    }

    /// `'case' [ expr ] 'when' expr 'then' expr { … } [ 'else' expr ] 'end'`.
    fn case(&mut self) -> Outcome<ExpressionKind> {
        self.require_word("case")?;
        let subject = match self.lexer.peek_word() {
            "when" => None,
            _ => Some(Box::new(self.expression()?)),
        };
        let mut branches = Vec::new();
        self.require_word("when")?;
        loop {
            let when = self.expression()?;
            self.require_word("then")?;
            branches.push((when, self.expression()?));
            if self.accept_word("when").is_none() {
                break;
            }
        }
        let otherwise = match self.accept_word("else") {
            Some(_) => Some(Box::new(self.expression()?)),
            None => None,
        };
        self.require_word("end")?;
        Ok(ExpressionKind::Case { subject, branches, otherwise })
    }

    /// `'[' [ expr { ',' expr } ] ']'`.
    fn list_constructor(&mut self) -> Outcome<ExpressionKind> {
        self.require("[")?;
        if self.is_sub_select() && !self.lexer.rest_after_word().starts_with(']') {
            return self.nested(SelectManner::List, "]");
        }
        let mut items = Vec::new();
        if self.accept("]").is_some() {
            return Ok(ExpressionKind::List(items));
        }
        loop {
            items.push(self.expression()?);
            if self.accept(",").is_none() {
                break;
            }
        }
        self.require("]")?;
        Ok(ExpressionKind::List(items))
    }

    /// `'{' [ member { ',' member } ] '}'`.
    fn object_constructor(&mut self) -> Outcome<ExpressionKind> {
        self.require("{")?;
        let mut members = Vec::new();
        if self.accept("}").is_some() {
            return Ok(ExpressionKind::Object(members));
        }
        loop {
            members.push(self.object_member()?);
            if self.accept(",").is_none() {
                break;
            }
        }
        self.require("}")?;
        Ok(ExpressionKind::Object(members))
    }

    /// `( key | text ) ':' expr | path | star`.
    fn object_member(&mut self) -> Outcome<ObjectMember> {
        let start = self.start();
        // Its last word is its key.
        self.want_column();
        if self.is_star_ahead() {
            return self.star().map(ObjectMember::Star);
        }
        if matches!(self.lexer.peek(), Some('"' | '\'')) {
            let key = self.json_text()?;
            let span = self.since(start);
            self.require(":")?;
            let value = self.expression()?;
            return Ok(ObjectMember::Named { key, is_quoted: true, span, value });
        }
        let rest = self.lexer.rest();
        // In `{id:o.id}` the colon ends the key, though words may hold one.
        let is_key = |c: char| lexer::is_word_part(c) && c != ':' || c == '$';
        let length = rest.find(|c| !is_key(c)).unwrap_or(rest.len());
        let starts = rest.starts_with(|c| lexer::is_word_start(c) && c != ':');
        let behind = &rest[lexer::trivia_end(rest, length)..];
        if starts && behind.starts_with(':') {
            let key = rest[..length].to_owned();
            let span = self.lexer.take(length);
            self.lexer.mark_name();
            self.require(":")?;
            let value = self.expression()?;
            return Ok(ObjectMember::Named { key, is_quoted: false, span, value });
        }
        if !starts && !rest.starts_with('`') {
            self.expect(Expected::Kind("a key"));
            self.expect(Expected::Literal("*"));
            self.expect(Expected::Literal("}"));
            return self.fail();
        }
        let path = self.path()?;
        if last_name(&path).is_none() {
            let message = "this member has no name";
            let hint = "write a key before it: `{name: …}`";
            return self.error(codes::UNNAMED_OUTPUT, path.span, message, hint);
        }
        Ok(ObjectMember::Path(path))
    }

    /// Whether `*` or `o.*` is next.
    pub(super) fn is_star_ahead(&self) -> bool {
        let rest = self.lexer.rest();
        let word = lexer::word_length(rest);
        rest.starts_with('*') || (word > 0 && rest[word..].starts_with(".*"))
    }

    /// `[ name '.' ] '*' [ 'exclude' '(' word { ',' word } ')' ]`.
    pub(super) fn star(&mut self) -> Outcome<Star> {
        let start = self.start();
        let alias = if self.lexer.rest().starts_with('*') {
            None
        } else {
            let alias = self.ident_part();
            self.lexer.bump(1);
            Some(alias)
        };
        self.lexer.take(1);
        let mut excluded: Vec<Ident> = Vec::new();
        if self.lexer.peek_word() == "exclude" && self.lexer.rest_after_word().starts_with('(') {
            self.lexer.take("exclude".len());
            self.require("(")?;
            loop {
                excluded.push(self.ident()?);
                if self.accept(",").is_none() {
                    break;
                }
            }
            self.require(")")?;
        }
        Ok(Star { alias, excluded, span: self.since(start) })
    }
}

/// The name that a path ends with, which names it where a name is needed.
pub fn last_name(path: &Path) -> Option<&str> {
    match path.segments.last() {
        Some(Segment::Member { name, .. } | Segment::Descendant(name)) => Some(name),
        _ => None,
    }
}
