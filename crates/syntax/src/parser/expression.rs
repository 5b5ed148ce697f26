//! Expressions over rows: precedence from `or` down to what stands alone (EXP-1).
//!
//! In: the text behind `where`, `select`, `order by`. Out: an [`Expression`]. What older scripts could
//! say keeps its tree: a path that is compared with a value by `=` or `in` is an
//! [`ExpressionKind::Condition`], which `select` takes out again where it stands alone.
//! Each level is one function; brackets, signs and `not` count as levels of nesting.

use super::{Outcome, Parser, expect::Expected};
use crate::{
    ast::{
        Arithmetic, Comparison, Condition, Expression, ExpressionKind, Ident, Operand, OperandKind,
        Path, PatternManner, Segment, ValueKind,
    },
    diagnostic::codes,
    lexer,
};

/// Where an expression stands, which decides what its words and texts mean and where it may end.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    /// In `where`: a bare word to the right of `=` is a variable or text.
    pub(super) is_where: bool,
    /// The statement may end behind the expression, so ` -1` begins the next one.
    pub(super) may_end: bool,
    /// In brackets: texts have the escapes of JSON.
    pub(super) is_json: bool,
}

/// Operators that compare, the longer ones first.
const COMPARISONS: &[(&str, Comparison)] = &[
    ("==", Comparison::Same),
    ("!=", Comparison::Differs),
    ("<>", Comparison::Differs),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

/// The words that test, behind `not` too.
const TEST_WORDS: &[&str] = &["in", "between", "like", "ilike", "matches"];

/// Words behind a word at the start of an operand that show it to be a column (EXP-4).
const WORDS_BEHIND_A_COLUMN: &[&str] = &[
    "from", "as", "and", "or", "is", "in", "between", "like", "ilike", "matches", "asc", "desc",
    "nulls", "when", "then", "else", "end",
];

/// Words that may follow a condition besides those.
const WORDS_BEHIND_A_CONDITION: &[&str] = &[
    "order", "group", "having", "limit", "offset", "union", "timeout", "minDelay", "maxDelay",
    "deadline", "via",
];

impl Parser<'_> {
    /// Reads an expression that stands at `place`.
    pub(super) fn expression_at(&mut self, place: Place) -> Outcome<Expression> {
        let around = std::mem::replace(&mut self.place, place);
        let outcome = self.expression();
        self.place = around;
        outcome
    }

    /// Reads what stands in brackets: there a statement cannot end.
    pub(super) fn bracketed<T>(
        &mut self,
        is_json: bool,
        production: impl FnOnce(&mut Self) -> Outcome<T>,
    ) -> Outcome<T> {
        let around = self.place;
        self.place = Place { may_end: false, is_json: is_json || around.is_json, ..around };
        let outcome = self.descend(production);
        self.place = around;
        outcome
    }

    /// `expr = conj { 'or' conj }`.
    pub(super) fn expression(&mut self) -> Outcome<Expression> {
        let start = self.start();
        let first = self.conjunction()?;
        if !self.takes_joint("or") {
            return Ok(first);
        }
        let mut items = vec![first, self.conjunction()?];
        while self.takes_joint("or") {
            items.push(self.conjunction()?);
        }
        Ok(Expression { kind: ExpressionKind::Any(items), span: self.since(start) })
    }

    /// `conj = neg { 'and' neg }`.
    fn conjunction(&mut self) -> Outcome<Expression> {
        let start = self.start();
        let first = self.negation()?;
        if !self.takes_joint("and") {
            return Ok(first);
        }
        let mut items = vec![first, self.negation()?];
        while self.takes_joint("and") {
            items.push(self.negation()?);
        }
        Ok(Expression { kind: ExpressionKind::All(items), span: self.since(start) })
    }

    /// Takes `and` or `or`. They are named in messages only where conditions are expected.
    fn takes_joint(&mut self, word: &'static str) -> bool {
        if self.place.is_where {
            return self.accept_clause(word).is_some();
        }
        let is_next = self.lexer.peek_word() == word && self.is_continuation();
        if is_next {
            self.lexer.take(word.len());
        }
        is_next
    }

    /// `neg = 'not' neg | test`.
    fn negation(&mut self) -> Outcome<Expression> {
        let start = self.start();
        match self.place {
            // Among arguments and members nothing is a parameter.
            Place { is_where: true, is_json: true, .. } => self.want_column(),
            Place { is_where: true, .. } => self.want_condition(),
            _ => {}
        }
        if self.lexer.peek_word() != "not" || self.is_column_word() {
            return self.test();
        }
        self.lexer.take("not".len());
        let inner = Box::new(self.descend(Self::negation)?);
        let kind = ExpressionKind::Not { inner, is_infix: false };
        Ok(Expression { kind, span: self.since(start) })
    }

    /// Whether the next word, which may begin something, is a column by what follows it (EXP-4).
    pub(super) fn is_column_word(&self) -> bool {
        let word = self.lexer.peek_word();
        if self.keyword_variables.contains(&word) && self.lexer.rest_after_word().starts_with('(') {
            return true;
        }
        let directly = &self.lexer.rest()[word.len()..];
        if directly.starts_with(['.', '[']) {
            return true;
        }
        let after = self.lexer.rest_after_word();
        let next = &after[..lexer::word_length(after)];
        if !next.is_empty() {
            return WORDS_BEHIND_A_COLUMN.contains(&next);
        }
        // Where somebody types, more will follow.
        (after.is_empty() && !self.is_completing())
            || after.starts_with([
                ',', ')', ']', '}', ';', '=', '!', '<', '>', '+', '*', '/', '%', '&', '|',
            ])
    }

    /// `test = sum [ operator … ]`. Tests do not chain.
    fn test(&mut self) -> Outcome<Expression> {
        let start = self.start();
        let left = self.sum()?;
        let rest = self.lexer.rest();
        let comparison = COMPARISONS.iter().find(|(symbol, _)| rest.starts_with(symbol));
        let expression = if let Some((symbol, comparison)) = comparison {
            self.refuse_text_left(&left, symbol)?;
            self.lexer.take(symbol.len());
            self.want_column();
            let right = Box::new(self.sum()?);
            let kind =
                ExpressionKind::Compare { left: Box::new(left), comparison: *comparison, right };
            Expression { kind, span: self.since(start) }
        } else if rest.starts_with('=') && !rest.starts_with("=>") {
            self.accept("=");
            self.equality(left, start)?
        } else {
            return self.word_test(left, start);
        };
        self.refuse_chain()?;
        Ok(expression)
    }

    /// What follows `=`.
    fn equality(&mut self, left: Expression, start: u32) -> Outcome<Expression> {
        self.want_value(false);
        let right = self.sum()?;
        let has_words = matches!(right.kind, ExpressionKind::Path(_));
        let is_condition = self.place.is_where || !has_words;
        let kind = match (as_name(&left), as_operand(&right)) {
            (Some(path), Some(operand)) if is_condition => {
                let span = self.since(start);
                let condition = Condition::Equals { path, operand, is_in: false, span };
                ExpressionKind::Condition(Box::new(condition))
            }
            _ => {
                let right = Box::new(self.as_word(right));
                let comparison = Comparison::Equals;
                ExpressionKind::Compare { left: Box::new(left), comparison, right }
            }
        };
        Ok(Expression { kind, span: self.since(start) })
    }

    /// In `where`, a bare word to the right of `=` or `in` is a variable or text (SEL-17).
    fn as_word(&self, right: Expression) -> Expression {
        let ExpressionKind::Path(path) = &right.kind else { return right };
        match path.segments.as_slice() {
            [Segment::Member { name, is_quoted: false }] if self.place.is_where => {
                let word = Ident { text: name.clone(), span: right.span };
                Expression { kind: ExpressionKind::Word(word), span: right.span }
            }
            _ => right,
        }
    }

    /// The tests that are words, or the operand alone.
    fn word_test(&mut self, left: Expression, start: u32) -> Outcome<Expression> {
        let is_negated = self.lexer.peek_word() == "not" && self.is_continuation() && {
            let after = self.lexer.rest_after_word();
            TEST_WORDS.contains(&&after[..lexer::word_length(after)])
        };
        if is_negated {
            self.lexer.take("not".len());
        }
        let word = self.lexer.peek_word();
        let is_call = self.lexer.rest_after_word().starts_with('(');
        // Behind a lone function of older scripts `like(x)` is the next statement.
        let is_statement = is_call
            && word != "in"
            && !is_negated
            && self.place.may_end
            && matches!(left.kind, ExpressionKind::Condition(_));
        let is_test = self.is_continuation() && !is_statement;
        if self.place.is_where && is_plain(&left) {
            self.offer(&["in"]);
        }
        let test = match word {
            "in" if is_test => {
                self.lexer.take(word.len());
                self.membership(left, start)?
            }
            "between" if is_test => {
                self.refuse_text_left(&left, word)?;
                self.lexer.take(word.len());
                let low = Box::new(self.sum()?);
                self.require_word("and")?;
                let high = Box::new(self.sum()?);
                let value = Box::new(left);
                let kind = ExpressionKind::Between { value, low, high };
                Expression { kind, span: self.since(start) }
            }
            "like" | "ilike" | "matches" if is_test => {
                self.refuse_text_left(&left, word)?;
                self.lexer.take(word.len());
                let manner = match word {
                    "like" => PatternManner::Like,
                    "ilike" => PatternManner::LikeAnyCase,
                    _ => PatternManner::Matches,
                };
                let pattern = Box::new(self.sum()?);
                let kind = ExpressionKind::Like { value: Box::new(left), manner, pattern };
                Expression { kind, span: self.since(start) }
            }
            "is" if is_test => {
                self.refuse_text_left(&left, word)?;
                self.lexer.take(word.len());
                return self.kind_test(left, start);
            }
            _ => {
                self.refuse_missing_operator(&left)?;
                return Ok(left);
            }
        };
        self.refuse_chain()?;
        if !is_negated {
            return Ok(test);
        }
        let kind = ExpressionKind::Not { inner: Box::new(test), is_infix: true };
        Ok(Expression { kind, span: self.since(start) })
    }

    /// `'is' [ 'not' ] kind`; the word `is` is taken.
    fn kind_test(&mut self, left: Expression, start: u32) -> Outcome<Expression> {
        let is_negated = self.lexer.peek_word() == "not";
        if is_negated {
            self.lexer.take("not".len());
        }
        let word = self.lexer.peek_word();
        let Some(kind) = ValueKind::ALL.into_iter().find(|kind| kind.word() == word) else {
            for kind in ValueKind::ALL {
                self.expect(Expected::Literal(kind.word()));
            }
            if matches!(word, "true" | "false") {
                let span = self.word_span();
                let message = format!("`is` does not test for `{word}`");
                return self.error(
                    codes::UNKNOWN_OPERATOR,
                    span,
                    message,
                    format!("write `== {word}`"),
                );
            }
            return self.fail();
        };
        self.lexer.take(word.len());
        let value = Box::new(left);
        let test = Expression { kind: ExpressionKind::Is { value, kind }, span: self.since(start) };
        self.refuse_chain()?;
        if !is_negated {
            return Ok(test);
        }
        let kind = ExpressionKind::Not { inner: Box::new(test), is_infix: true };
        Ok(Expression { kind, span: self.since(start) })
    }

    /// What follows `in`: a list in parentheses, a select in parentheses, or a value.
    fn membership(&mut self, left: Expression, start: u32) -> Outcome<Expression> {
        if self.accept("(").is_none() {
            self.want_value(false);
            let right = self.sum()?;
            let kind = match (as_name(&left), as_operand(&right)) {
                (Some(path), Some(operand)) if self.place.is_where => {
                    let span = self.since(start);
                    let condition = Condition::Equals { path, operand, is_in: true, span };
                    ExpressionKind::Condition(Box::new(condition))
                }
                _ => {
                    let items = vec![self.as_word(right)];
                    ExpressionKind::In { value: Box::new(left), items, is_bare: true }
                }
            };
            return Ok(Expression { kind, span: self.since(start) });
        }
        if self.is_sub_select() {
            let select = self.sub_select()?;
            self.require(")")?;
            let Some(path) = as_name(&left) else {
                let kind = ExpressionKind::InSelect { value: Box::new(left), select };
                return Ok(Expression { kind, span: self.since(start) });
            };
            let condition = Condition::InSelect { path, select, span: self.since(start) };
            let kind = ExpressionKind::Condition(Box::new(condition));
            return Ok(Expression { kind, span: self.since(start) });
        }
        let around = self.place;
        // The items are values of the clause, whose texts are raw as ever.
        self.place.may_end = false;
        let items = self.descend(Self::members_of_list);
        self.place = around;
        let items = items?;
        let has_words = items.iter().any(|item| matches!(item.kind, ExpressionKind::Path(_)));
        let operands: Option<Vec<_>> = items.iter().map(as_operand).collect();
        let kind = match (as_name(&left), operands) {
            (Some(path), Some(items)) if self.place.is_where || !has_words => {
                let condition = Condition::InList { path, items, span: self.since(start) };
                ExpressionKind::Condition(Box::new(condition))
            }
            _ => {
                let items = items.into_iter().map(|item| self.as_word(item)).collect();
                ExpressionKind::In { value: Box::new(left), items, is_bare: false }
            }
        };
        Ok(Expression { kind, span: self.since(start) })
    }

    /// `sum { ',' sum } ')'`.
    fn members_of_list(&mut self) -> Outcome<Vec<Expression>> {
        let mut items = Vec::new();
        loop {
            self.want_value(false);
            items.push(self.sum()?);
            if self.accept(",").is_none() {
                break;
            }
        }
        self.require(")")?;
        Ok(items)
    }

    /// `sum = product { ( '+' | '-' | '&' ) product }`.
    fn sum(&mut self) -> Outcome<Expression> {
        self.chain(Self::product, |rest| match rest.as_bytes().first()? {
            b'+' => Some(Arithmetic::Add),
            b'-' => Some(Arithmetic::Subtract),
            b'&' if !rest.starts_with("&&") => Some(Arithmetic::Concatenate),
            _ => None,
        })
    }

    /// `product = unary { ( '*' | '/' | '%' ) unary }`.
    fn product(&mut self) -> Outcome<Expression> {
        self.chain(Self::unary, |rest| match rest.as_bytes().first()? {
            b'*' => Some(Arithmetic::Multiply),
            b'/' if !rest.starts_with("//") => Some(Arithmetic::Divide),
            b'%' => Some(Arithmetic::Remainder),
            _ => None,
        })
    }

    /// Operands of one rank with operators between them.
    fn chain(
        &mut self,
        operand: fn(&mut Self) -> Outcome<Expression>,
        operator_of: fn(&str) -> Option<Arithmetic>,
    ) -> Outcome<Expression> {
        let start = self.start();
        let first = operand(self)?;
        let mut rest = Vec::new();
        while let Some(operator) = operator_of(self.lexer.rest()) {
            if self.begins_number_statement() {
                break;
            }
            self.lexer.take(1);
            self.want_column();
            rest.push((operator, operand(self)?));
        }
        self.refuse_fallback()?;
        if rest.is_empty() {
            return Ok(first);
        }
        let kind = ExpressionKind::Chain { first: Box::new(first), rest };
        Ok(Expression { kind, span: self.since(start) })
    }

    /// A signed number behind a blank, where a statement may end, begins the next one (EXP-6).
    fn begins_number_statement(&self) -> bool {
        let mut bytes = self.lexer.rest().bytes();
        let is_signed = matches!(bytes.next(), Some(b'+' | b'-'))
            && bytes.next().is_some_and(|byte| byte.is_ascii_digit());
        self.place.may_end && is_signed && self.lexer.at() > self.lexer.last_end() as usize
    }

    /// `unary = [ '-' ] primary`.
    fn unary(&mut self) -> Outcome<Expression> {
        let start = self.start();
        let rest = self.lexer.rest();
        let is_signed = rest.starts_with(['+', '-']);
        let has_digit = rest[usize::from(is_signed)..].starts_with(|c: char| c.is_ascii_digit());
        if !is_signed || has_digit {
            return self.operand_of_row();
        }
        if rest.starts_with('+') {
            let span = self.here();
            let hint = "texts are put together with `&`";
            let message = "a sign needs a number behind it";
            return self.error(codes::BAD_NUMBER, span, message, hint);
        }
        self.lexer.take(1);
        let inner = Box::new(self.descend(Self::unary)?);
        Ok(Expression { kind: ExpressionKind::Negative(inner), span: self.since(start) })
    }

    /// Refuses a quoted text to the left of an operator that only tests: it would be a name there for
    /// `=` and a text for all others (EXP-3).
    fn refuse_text_left(&mut self, left: &Expression, operator: &str) -> Outcome<()> {
        let ExpressionKind::Text { text, is_json: false } = &left.kind else { return Ok(()) };
        let message =
            format!("a quoted text to the left of `{operator}` is neither name nor value");
        let name = text.clone();
        let hint = if name.contains('`') {
            "swap the sides".to_owned()
        } else {
            format!("for the column write `` `{name}` ``; for the text swap the sides")
        };
        self.error(codes::AMBIGUOUS_TEXT, left.span, message, hint)
    }

    /// Refuses `a < b < c`.
    fn refuse_chain(&mut self) -> Outcome<()> {
        let rest = self.lexer.rest();
        let is_other = rest.starts_with("=>") || !rest.starts_with(['<', '>', '=', '!']);
        if is_other {
            return Ok(());
        }
        let span = self.here();
        let hint = "join them: `a < b and b < c`, or write `b between a and c`";
        self.error(codes::UNKNOWN_OPERATOR, span, "comparisons do not chain", hint)
    }

    /// Refuses `||` where no statement can end: it is no operator of values.
    fn refuse_fallback(&mut self) -> Outcome<()> {
        if self.place.may_end || !self.lexer.rest().starts_with("||") {
            return Ok(());
        }
        let span = self.here();
        let message = "`||` stands between statements, not between values";
        let hint = "texts are put together with `&`; for the first that is not null write \
                    `case when a is null then b else a end`";
        self.error(codes::UNKNOWN_OPERATOR, span, message, hint)
    }

    /// In `where`, a lone column is followed by what may follow a condition, or an operator is missing.
    fn refuse_missing_operator(&mut self, left: &Expression) -> Outcome<()> {
        let is_text = matches!(left.kind, ExpressionKind::Text { is_json: false, .. });
        let is_outermost = self.place.is_where && self.place.may_end;
        if !is_outermost || !(is_plain(left) || is_text) {
            return Ok(());
        }
        let rest = self.lexer.rest();
        let word = self.lexer.peek_word();
        let may_follow = if word.is_empty() {
            rest.is_empty()
                || rest.starts_with([')', ';', '}', ','])
                || rest.starts_with("||")
                || self.lexer.is_on_new_line()
        } else {
            self.lexer.is_on_new_line()
                || !self.is_continuation()
                || self.lexer.rest_after_word().starts_with('(')
                || WORDS_BEHIND_A_COLUMN.contains(&word)
                || WORDS_BEHIND_A_CONDITION.contains(&word)
                || super::expect::STATEMENT_WORDS.contains(&word)
        };
        if may_follow && !is_text && !(rest.is_empty() && self.is_completing()) {
            return Ok(());
        }
        self.expect(Expected::Literal("="));
        self.expect(Expected::Literal("in"));
        self.report_missing_operator()
    }
}

/// Whether an expression is a path and nothing else.
fn is_plain(expression: &Expression) -> bool {
    matches!(expression.kind, ExpressionKind::Path(_))
}

/// The column that stands to the left of `=` or `in`: a path, or a quoted name.
fn as_name(left: &Expression) -> Option<Path> {
    match &left.kind {
        ExpressionKind::Path(path) => Some(path.clone()),
        ExpressionKind::Text { text, is_json: false } => {
            let name = Segment::Member { name: text.clone(), is_quoted: true };
            Some(Path { segments: vec![name], span: left.span })
        }
        _ => None,
    }
}

/// The value to the right of `=` or `in`, if it is one that older scripts could write.
fn as_operand(right: &Expression) -> Option<Operand> {
    let kind = match &right.kind {
        ExpressionKind::Null => OperandKind::Null,
        ExpressionKind::Bool(value) => OperandKind::Bool(*value),
        ExpressionKind::Number(number) => OperandKind::Number(number.clone()),
        ExpressionKind::Text { text, is_json: false } => OperandKind::Text(text.clone()),
        ExpressionKind::Token(text) => OperandKind::Token(text.clone()),
        // A name in backticks is always a column.
        ExpressionKind::Path(path)
            if matches!(path.segments[0], Segment::Member { is_quoted: false, .. }) =>
        {
            OperandKind::Path(path.clone())
        }
        _ => return None,
    };
    Some(Operand { kind, span: right.span })
}
