//! Text to tree: precedence climbing over the operators of JavaScript.

use super::{DEPTH_MAX, Literal, Node, Operator, TERMS_MAX, operand};
use crate::path::PathError;

/// Reads the whole text as one expression.
pub(super) fn parse(text: &str) -> Result<Node, PathError> {
    let mut parser = Parser { text, at: 0, depth: 0, terms: 0 };
    let node = parser.binary(0)?;
    parser.skip_blanks();
    match parser.rest().chars().next() {
        None => Ok(node),
        Some(unexpected) => Err(parser.unexpected(unexpected)),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    terms: usize,
}

/// The operators with their binding strength. Longer spellings stand before their prefixes.
const OPERATORS: [(&str, Operator, u8); 15] = [
    ("===", Operator::Same, 3),
    ("!==", Operator::NotSame, 3),
    ("==", Operator::Equal, 3),
    ("!=", Operator::NotEqual, 3),
    ("<=", Operator::LessOrEqual, 4),
    (">=", Operator::GreaterOrEqual, 4),
    ("||", Operator::Or, 1),
    ("&&", Operator::And, 2),
    ("<", Operator::Less, 4),
    (">", Operator::Greater, 4),
    ("+", Operator::Add, 5),
    ("-", Operator::Subtract, 5),
    ("*", Operator::Multiply, 6),
    ("/", Operator::Divide, 6),
    ("%", Operator::Remainder, 6),
];

/// Spellings that begin like an operator of ours but are others of JavaScript.
const REFUSED: [&str; 8] = ["<<", ">>", "**", "++", "--", "=>", "//", "/*"];

impl<'a> Parser<'a> {
    fn binary(&mut self, strength_min: u8) -> Result<Node, PathError> {
        let mut left = self.unary()?;
        while let Some((spelling, operator, strength)) = self.peek_operator()? {
            if strength <= strength_min {
                break;
            }
            self.at += spelling.len();
            self.count()?;
            let right = self.binary(strength)?;
            left = Node::Binary { operator, left: Box::new(left), right: Box::new(right) };
        }
        Ok(left)
    }

    fn peek_operator(&mut self) -> Result<Option<(&'static str, Operator, u8)>, PathError> {
        self.skip_blanks();
        let rest = self.rest();
        if let Some(refused) = REFUSED.iter().find(|refused| rest.starts_with(**refused)) {
            // `a - -b` is fine, the blank separates; `a--b` is not an operator of the language.
            return Err(self.error(format!("unexpected `{refused}`")));
        }
        Ok(OPERATORS.iter().find(|(spelling, ..)| rest.starts_with(spelling)).copied())
    }

    fn unary(&mut self) -> Result<Node, PathError> {
        self.skip_blanks();
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.error(format!("nested more than {DEPTH_MAX} deep")));
        }
        self.count()?;
        let node = if self.take("!") {
            Node::Not(Box::new(self.unary()?))
        } else if self.take("-") {
            match self.unary()? {
                Node::Literal(Literal::Int(value)) if operand::is_whole(-value) && value != 0 => {
                    Node::Literal(Literal::Int(-value))
                }
                node => Node::Negate(Box::new(node)),
            }
        } else {
            self.postfix()?
        };
        self.depth -= 1;
        Ok(node)
    }

    fn postfix(&mut self) -> Result<Node, PathError> {
        let mut node = self.primary()?;
        loop {
            self.skip_blanks();
            if self.take(".") {
                self.skip_blanks();
                let name = self.word();
                if name.is_empty() {
                    return Err(self.error("a name must follow `.`"));
                }
                node = Node::Member { of: Box::new(node), name: name.into() };
            } else if self.take("[") {
                let at = self.binary(0)?;
                self.expect("]")?;
                node = match at {
                    Node::Literal(Literal::Text(name)) => Node::Member { of: Box::new(node), name },
                    at => Node::Element { of: Box::new(node), at: Box::new(at) },
                };
            } else if self.rest().starts_with('(') {
                return Err(self.error("calls are not supported"));
            } else {
                return Ok(node);
            }
            self.count()?;
        }
    }

    fn primary(&mut self) -> Result<Node, PathError> {
        let Some(first) = self.rest().chars().next() else {
            return Err(self.error("unexpected end"));
        };
        match first {
            '(' => {
                self.at += 1;
                let node = self.binary(0)?;
                self.expect(")")?;
                Ok(node)
            }
            '"' | '\'' => self.string(first),
            '0'..='9' | '.' => self.number(),
            '@' => {
                self.at += 1;
                Ok(Node::Current)
            }
            _ => {
                let name = self.word();
                match name {
                    "" => Err(self.unexpected(first)),
                    "$" => Ok(Node::Root),
                    "true" => Ok(Node::Literal(Literal::Bool(true))),
                    "false" => Ok(Node::Literal(Literal::Bool(false))),
                    "null" => Ok(Node::Literal(Literal::Null)),
                    "new" | "typeof" | "delete" | "void" | "function" | "in" | "instanceof"
                    | "this" => Err(self.error(format!("`{name}` is not supported"))),
                    _ => Ok(Node::Variable { name: name.into(), slot: None }),
                }
            }
        }
    }

    fn string(&mut self, quote: char) -> Result<Node, PathError> {
        let mut text = String::new();
        let mut characters = self.rest().char_indices().skip(1);
        while let Some((at, character)) = characters.next() {
            if character == quote {
                self.at += at + 1;
                return Ok(Node::Literal(Literal::Text(text.into())));
            }
            if character != '\\' {
                text.push(character);
                continue;
            }
            match characters.next() {
                Some((_, 'n')) => text.push('\n'),
                Some((_, 't')) => text.push('\t'),
                Some((_, 'r')) => text.push('\r'),
                Some((_, 'b')) => text.push('\u{8}'),
                Some((_, 'f')) => text.push('\u{c}'),
                Some((_, 'u')) => {
                    let digits: String = characters.by_ref().take(4).map(|(_, c)| c).collect();
                    let code = u32::from_str_radix(&digits, 16)
                        .ok()
                        .filter(|_| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
                        .filter(|_| digits.len() == 4)
                        .ok_or_else(|| self.error("four hex digits must follow `\\u`"))?;
                    text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                Some((_, other)) => text.push(other),
                None => break,
            }
        }
        Err(self.error("a quote is not closed"))
    }

    fn number(&mut self) -> Result<Node, PathError> {
        let bytes = self.rest().as_bytes();
        let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        let whole = digits(0);
        let mut end = whole;
        let mut digits_seen = whole;
        if bytes.get(end) == Some(&b'.') {
            let fraction = digits(end + 1);
            digits_seen += fraction;
            end += 1 + fraction;
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + sign);
            if exponent > 0 {
                end += 1 + sign + exponent;
            }
        }
        let text = &self.rest()[..end];
        let follows = self.rest()[end..].chars().next();
        if digits_seen == 0 || follows.is_some_and(is_word) {
            return Err(self.error("malformed number"));
        }
        self.at += end;
        let literal = match operand::whole_number(text) {
            Some(value) => Literal::Int(value),
            None => Literal::Float(text.parse().map_err(|_| self.error("malformed number"))?),
        };
        Ok(Node::Literal(literal))
    }

    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn take(&mut self, spelling: &str) -> bool {
        let is_there = self.rest().starts_with(spelling);
        if is_there {
            self.at += spelling.len();
        }
        is_there
    }

    fn expect(&mut self, spelling: &str) -> Result<(), PathError> {
        self.skip_blanks();
        if self.take(spelling) {
            return Ok(());
        }
        Err(match self.rest().chars().next() {
            Some(unexpected) => self.unexpected(unexpected),
            None => self.error(format!("`{spelling}` is missing")),
        })
    }

    fn count(&mut self) -> Result<(), PathError> {
        self.terms += 1;
        if self.terms > TERMS_MAX {
            return Err(self.error(format!("more than {TERMS_MAX} terms")));
        }
        Ok(())
    }

    fn unexpected(&self, character: char) -> PathError {
        self.error(format!("unexpected `{character}`"))
    }

    fn error(&self, reason: impl Into<String>) -> PathError {
        PathError::expression(reason, self.text)
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$' | ':')
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::path::expression::{Expression, TERMS_MAX};

    #[test]
    fn what_is_not_in_the_language_names_the_reason_and_the_expression() {
        for (text, error) in [
            ("", "jsonPath: unexpected end: "),
            ("@.k =", "jsonPath: unexpected `=`: @.k ="),
            ("@.k = 1", "jsonPath: unexpected `=`: @.k = 1"),
            ("f(1)", "jsonPath: calls are not supported: f(1)"),
            ("@.k.match(x)", "jsonPath: calls are not supported: @.k.match(x)"),
            ("a ? b : c", "jsonPath: unexpected `?`: a ? b : c"),
            ("@.k & 1", "jsonPath: unexpected `&`: @.k & 1"),
            ("typeof @", "jsonPath: `typeof` is not supported: typeof @"),
            ("i++", "jsonPath: unexpected `++`: i++"),
            ("'open", "jsonPath: a quote is not closed: 'open"),
            ("(1", "jsonPath: `)` is missing: (1"),
            ("1x", "jsonPath: malformed number: 1x"),
            ("/a/", "jsonPath: unexpected `/`: /a/"),
            ("@.", "jsonPath: a name must follow `.`: @."),
            ("[1]", "jsonPath: unexpected `[`: [1]"),
        ] {
            let found = Expression::parse(text).expect_err(text);
            assert_eq!(found.to_string(), error);
        }
    }

    #[test]
    fn size_and_nesting_are_limited() {
        let deep = format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000));
        assert!(parse(&deep).is_err());
        assert!(parse(&"!".repeat(100_000)).is_err());
        let long = vec!["1"; TERMS_MAX].join("+");
        assert!(parse(&long).is_err());
    }
}
