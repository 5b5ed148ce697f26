//! `if`, `try`, `throw` and their conditions (GRM-9).

use super::{Failed, Outcome, Parser, script::Place};
use crate::{
    ast::{Catch, Comment, If, Item, Logic, Throw, Try},
    complete::Wanted,
    diagnostic::codes,
    tokens::Role,
};

impl Parser<'_> {
    /// `'if' '(' logic ')' '{' … '}' [ 'else' ( ifStmt | '{' … '}' ) ]`.
    pub(super) fn if_statement(&mut self, docs: Vec<Comment>) -> Outcome<If> {
        let start = self.start();
        self.require_word("if")?;
        self.descend(|parser| {
            let condition = parser.condition()?;
            let then = parser.block(Place::Block)?;
            let otherwise = match parser.accept_clause("else") {
                None => None,
                Some(_) if parser.is_clause("if") => {
                    parser.count_statement()?;
                    Some(vec![Item::If(parser.if_statement(Vec::new())?)])
                }
                Some(_) => Some(parser.block(Place::Block)?),
            };
            let span = parser.since(start);
            parser.semicolons();
            Ok(If { docs, condition, then, otherwise, span })
        })
    }

    /// `'try' '{' … '}' catch { catch } [ 'finally' '{' … '}' ]`.
    pub(super) fn try_statement(&mut self, docs: Vec<Comment>) -> Outcome<Try> {
        let start = self.start();
        self.require_word("try")?;
        self.descend(|parser| {
            let body = parser.filled_block(Place::Block, "try")?;
            let mut catches = Vec::new();
            while parser.is_clause("catch") {
                catches.push(parser.catch()?);
            }
            if catches.is_empty() {
                return parser.fail();
            }
            let finally = match parser.accept_clause("finally") {
                Some(_) => Some(parser.filled_block(Place::Finally, "finally")?),
                None => None,
            };
            let span = parser.since(start);
            parser.semicolons();
            Ok(Try { docs, body, catches, finally, span })
        })
    }

    fn catch(&mut self) -> Outcome<Catch> {
        let start = self.start();
        self.require_word("catch")?;
        let condition = self.condition()?;
        let body = self.block(Place::Block)?;
        Ok(Catch { condition, body, span: self.since(start) })
    }

    /// `'throw' '(' Word ')' { ';' }`.
    pub(super) fn throw_statement(&mut self, docs: Vec<Comment>) -> Outcome<Throw> {
        let start = self.start();
        self.require_word("throw")?;
        self.require("(")?;
        self.note_role(Role::Variable);
        let name = self.ident()?;
        self.require(")")?;
        let span = self.since(start);
        self.semicolons();
        Ok(Throw { docs, name, span })
    }

    /// The statements between braces. Failures inside are dealt with inside.
    fn block(&mut self, place: Place) -> Outcome<Vec<Item>> {
        self.require("{")?;
        let mut items = Vec::new();
        loop {
            if self.accept("}").is_some() {
                return Ok(items);
            }
            if self.lexer.peek().is_none() {
                self.leave_scope();
                self.want_statement(place);
                return self.fail();
            }
            let started_at = self.lexer.at();
            match self.item(Vec::new(), place) {
                Ok(item) => items.push(item),
                Err(Failed) => self.synchronise(started_at, true),
            }
        }
    }

    /// A block that needs at least one statement.
    fn filled_block(&mut self, place: Place, keyword: &str) -> Outcome<Vec<Item>> {
        let start = self.here();
        let problems = self.diagnostics.len();
        let items = self.block(place)?;
        // A block whose only statement failed is not empty.
        if items.is_empty() && problems == self.diagnostics.len() {
            let span = self.since(start.start);
            let message = format!("`{keyword}` needs at least one statement");
            return self.error(codes::UNEXPECTED_TOKEN, span, message, "");
        }
        Ok(items)
    }

    /// `'(' logic ')'`.
    fn condition(&mut self) -> Outcome<Logic> {
        self.require("(")?;
        let mut operators = 0;
        let logic = self.either(&mut operators)?;
        self.require(")")?;
        Ok(logic)
    }

    /// `or = and { '||' and }`.
    fn either(&mut self, operators: &mut usize) -> Outcome<Logic> {
        let mut left = self.both(operators)?;
        while self.accept("||").is_some() {
            self.count_operator(operators)?;
            let right = self.both(operators)?;
            left = Logic::Or(Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    /// `and = not { '&&' not }`.
    fn both(&mut self, operators: &mut usize) -> Outcome<Logic> {
        let mut left = self.not(operators)?;
        while self.accept("&&").is_some() {
            self.count_operator(operators)?;
            let right = self.not(operators)?;
            left = Logic::And(Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    /// `not = '!' not | '(' logic ')' | Path`.
    fn not(&mut self, operators: &mut usize) -> Outcome<Logic> {
        if self.accept("!").is_some() {
            let inner = self.descend(|parser| parser.not(operators))?;
            return Ok(Logic::Not(Box::new(inner)));
        }
        if self.accept("(").is_some() {
            return self.descend(|parser| {
                let inner = parser.either(operators)?;
                parser.require(")")?;
                Ok(inner)
            });
        }
        if self.lexer.peek_word().is_empty() {
            self.want(Wanted::Variable);
            self.expect(super::expect::Expected::Kind("a variable"));
            return self.fail();
        }
        self.note_role(Role::Variable);
        self.path().map(Logic::Name)
    }

    fn count_operator(&mut self, operators: &mut usize) -> Outcome<()> {
        *operators += 1;
        if *operators > self.limits.condition_operators_max {
            let message = format!(
                "a condition of more than {} operators",
                self.limits.condition_operators_max
            );
            return self.stop(codes::CONDITION_TOO_LONG, message);
        }
        Ok(())
    }
}
