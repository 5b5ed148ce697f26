//! Expressions over rows to programs: columns found, constants folded, jumps set (ADR 0028).
//!
//! The code of an expression follows that of its operands, so an operand is constant if its code is one
//! [`Operation::Constant`]. Nothing here recurses deeper than the tree, which the parser bounds.

mod choice;
mod columns;
mod comparison;
mod group;
mod output;
mod pushdown;

use std::collections::HashMap;

use qlio_data::{
    Text, Value,
    compute::{ComputeError, Kind, effort::bytes_read, number},
};
use qlio_syntax::{
    ast::{self, ExpressionKind},
    diagnostic::{Diagnostic, codes},
    parser::last_name,
    source::Span,
};

pub(super) use columns::{OutputName, RowColumns, output_names};
pub(super) use group::{Groups, is_grouped};
pub(super) use pushdown::{Push, is_declared, pushes};

use super::{Lowering, mentions::word_path, scope::NestedValue, terms::Term};
use crate::{
    catalog,
    operator::{Calculation, Given, MemberName, NestedManner, Operand, Operation, Place, Program},
};

/// Bytes of what is computed while a script is compiled. What reads or makes more waits for a run, which has a budget
/// for it.
const FOLDED_BYTES_MAX: usize = 4 << 10;

/// Whether a constant is small enough to stand in a plan, or to make another one of it.
fn is_foldable(value: &Value) -> bool {
    bytes_read(value, FOLDED_BYTES_MAX) <= FOLDED_BYTES_MAX
}

/// Compiles the expressions of one select.
pub(super) struct Compiler<'c, 'l, 'a, 's> {
    pub(super) lowering: &'l mut Lowering<'a>,
    pub(super) rows: RowColumns<'c, 's>,
    /// The values that all programs of the select share.
    pub(super) givens: Vec<Given>,
    /// Names of the output, where they are columns.
    pub(super) outputs: HashMap<&'s str, OutputName<'s>>,
    /// The groups that expressions are about, if they are not about rows.
    pub(super) groups: Option<Groups>,
    operations: Vec<Operation>,
    places: Vec<Place>,
    /// Which given is what the condition with this path expects.
    expected: Vec<(Span, usize)>,
    /// How many calls of `try` are around, in which constants that cannot be computed with are null.
    guards: usize,
}

impl<'c, 'l, 'a, 's> Compiler<'c, 'l, 'a, 's> {
    pub(super) fn new(lowering: &'l mut Lowering<'a>, rows: RowColumns<'c, 's>) -> Self {
        let givens = match rows {
            RowColumns::Scoped => std::mem::take(&mut lowering.scope().givens),
            RowColumns::One { .. } | RowColumns::Two(_) => Vec::new(),
        };
        Self {
            lowering,
            rows,
            givens,
            outputs: HashMap::new(),
            groups: None,
            operations: Vec::new(),
            places: Vec::new(),
            expected: Vec::new(),
            guards: 0,
        }
    }

    /// The program of an expression.
    pub(super) fn program(&mut self, expression: &ast::Expression) -> Program {
        self.emit(expression);
        self.finish()
    }

    /// The program that holds if all conditions do.
    pub(super) fn all_of(&mut self, tests: &[&ast::Condition]) -> Program {
        self.joined(tests, false, |compiler, test| compiler.condition(test));
        self.finish()
    }

    /// The same for terms that rows of several sources are tested by.
    pub(super) fn all_terms(&mut self, terms: &[&Term]) -> Program {
        self.joined(terms, false, |compiler, term| match term.meeting() {
            None => compiler.condition(&term.condition),
            Some([left, right]) => {
                compiler.emit(left);
                compiler.emit(right);
                compiler.operations.push(Operation::Meets);
            }
        });
        self.finish()
    }

    /// The program of an object made of columns.
    pub(super) fn object_of(&mut self, columns: &[ast::Column]) -> Program {
        let mut names = Vec::with_capacity(columns.len());
        for column in columns {
            let alias = column.alias.as_ref().map(|alias| Text::from(alias.text.as_str()));
            let name = match &column.value {
                ast::ColumnValue::Path(path) => {
                    let name = alias.or_else(|| last_name(path).map(Text::from));
                    self.path(path);
                    name
                }
                ast::ColumnValue::Expression(expression) => {
                    self.emit(expression);
                    alias
                }
                ast::ColumnValue::Star(star) => {
                    self.star(star, &mut names);
                    continue;
                }
                ast::ColumnValue::Call(call) => {
                    self.refuse_function(call.span);
                    alias
                }
            };
            // The checks of `syntax` have refused columns without a name.
            names.push(MemberName::Named(name.unwrap_or_default()));
        }
        self.operations.push(Operation::Object(names.into()));
        self.finish()
    }

    fn finish(&mut self) -> Program {
        Program {
            operations: std::mem::take(&mut self.operations),
            places: std::mem::take(&mut self.places),
        }
    }

    fn constant(&mut self, value: Value) {
        self.operations.push(Operation::Constant(value));
    }

    fn given(&mut self, given: Given) -> usize {
        self.givens.push(given);
        self.givens.len() - 1
    }

    /// The value of the code from `start` on, if it is one constant.
    fn constant_from(&self, start: usize) -> Option<&Value> {
        match &self.operations[start..] {
            [Operation::Constant(value)] => Some(value),
            _ => None,
        }
    }

    /// Replaces the code from `start` on by its value.
    fn fold(&mut self, start: usize, value: impl Into<Value>) {
        self.operations.truncate(start);
        self.constant(value.into());
    }

    /// Code that puts the value of an expression on the stack.
    fn emit(&mut self, expression: &ast::Expression) {
        let start = self.operations.len();
        if self.is_group_column(expression) {
            return;
        }
        match &expression.kind {
            ExpressionKind::Null => self.constant(Value::Null),
            ExpressionKind::Bool(value) => self.constant(Value::Bool(*value)),
            ExpressionKind::Number(text) => self.constant(Value::Number(catalog::number(text))),
            ExpressionKind::Text { text, .. } => self.text(text, expression.span),
            ExpressionKind::Token(text) => {
                let operand = self.lowering.token_operand(text, expression.span);
                self.operand(operand);
            }
            ExpressionKind::Word(word) => {
                self.word(word);
            }
            ExpressionKind::Path(path) => self.path(path),
            ExpressionKind::Condition(condition) => self.condition(condition),
            ExpressionKind::Not { inner, .. } => {
                self.emit(inner);
                match self.constant_from(start).map(Value::is_truthy) {
                    Some(truth) => self.fold(start, !truth),
                    None => self.operations.push(Operation::Not),
                }
            }
            ExpressionKind::All(items) => self.joined(items, false, Self::emit),
            ExpressionKind::Any(items) => self.joined(items, true, Self::emit),
            ExpressionKind::Negative(inner) => self.negative(expression, inner),
            ExpressionKind::Chain { first, rest } => self.chain(first, rest),
            ExpressionKind::Compare { left, comparison, right } => {
                self.compare(left, *comparison, right);
            }
            ExpressionKind::In { value, items, .. } => {
                self.emit(value);
                for item in items {
                    self.emit(item);
                }
                self.operations.push(Operation::In(items.len()));
            }
            ExpressionKind::Between { value, low, high } => {
                self.emit(value);
                self.emit(low);
                self.emit(high);
                self.operations.push(Operation::Between);
            }
            ExpressionKind::Like { value, manner, pattern } => self.like(value, *manner, pattern),
            ExpressionKind::Is { value, kind } => {
                self.emit(value);
                self.operations.push(Operation::Is(kind_of(*kind)));
            }
            ExpressionKind::Case { subject, branches, otherwise } => {
                self.case(subject.as_deref(), branches, otherwise.as_deref());
            }
            ExpressionKind::Object(members) => {
                self.object(members);
            }
            ExpressionKind::List(items) => {
                for item in items {
                    self.emit(item);
                }
                self.operations.push(Operation::List(items.len()));
            }
            ExpressionKind::Function { name, arguments, .. } => {
                self.function(expression, name, arguments);
            }
            ExpressionKind::Aggregate(call) => self.aggregate(expression, call),
            ExpressionKind::Select { select, manner } => {
                self.sub_select(select, manner_of(*manner));
            }
            ExpressionKind::InSelect { value, select } => {
                self.emit(value);
                self.sub_select(select, NestedManner::List);
                self.operations.push(Operation::Equals);
            }
            ExpressionKind::Group(inner) => self.emit(inner),
        }
    }

    /// A variable, or the word as text; the alias of a source is its row.
    fn word(&mut self, word: &ast::Ident) {
        let path = word_path(word);
        if self.rows.is_own(self.lowering, &path) {
            return self.path(&path);
        }
        let kind = ast::OperandKind::Path(path);
        let operand = self.lowering.operand(&ast::Operand { kind, span: word.span });
        self.operand(operand);
    }

    fn object(&mut self, members: &[ast::ObjectMember]) {
        let mut names = Vec::with_capacity(members.len());
        for member in members {
            self.member(member, &mut names);
        }
        self.operations.push(Operation::Object(names.into()));
    }

    /// The value of a select inside of the expression.
    fn sub_select(&mut self, select: &ast::Select, manner: NestedManner) {
        match self.lowering.nested(select, manner) {
            NestedValue::Given(given) => {
                let given = self.given(given);
                self.operations.push(Operation::Given(given));
            }
            NestedValue::Column(operation) => self.operations.push(operation),
            NestedValue::Refused => {
                let message = "a select for each row stands beside no aggregates, and is no union";
                let hint = "bind the groups or the union to a variable, and select from that";
                let problem = Diagnostic::error(codes::MISPLACED_SELECT, select.span, message);
                self.lowering.problems.push(problem.hint(hint));
                self.constant(Value::Null);
            }
        }
    }

    fn text(&mut self, text: &str, span: Span) {
        let template = self.lowering.shown_template(text, span);
        if template.is_literal() {
            return self.constant(Value::from(text));
        }
        self.lowering.note_prerequisites(&template);
        self.operand(Operand::Template(template));
    }

    fn operand(&mut self, operand: Operand) {
        match operand {
            Operand::Constant(value) => self.constant(value),
            other => {
                let given = self.given(Given::Value(other));
                self.operations.push(Operation::Given(given));
            }
        }
    }

    /// A column, or what a name of the output stands for.
    fn path(&mut self, path: &ast::Path) {
        if let [ast::Segment::Member { name, is_quoted: false }] = path.segments.as_slice()
            && let Some(output) = self.outputs.get(name.as_str()).copied()
        {
            // Within a column the names of columns are those of the row.
            let outputs = std::mem::take(&mut self.outputs);
            match output {
                OutputName::Path(column) => self.path(column),
                OutputName::Expression(expression) => self.emit(expression),
                OutputName::Call(span) => self.refuse_function(span),
            }
            self.outputs = outputs;
            return;
        }
        if self.groups.is_some() {
            if !self.is_group_column(&group::of_path(path)) {
                self.refuse_ungrouped(path.span);
            }
            return;
        }
        let (side, column) = self.rows.column(self.lowering, path);
        self.operations.push(Operation::Column(side, column));
    }

    /// Whether a path is a lone name of the output.
    fn is_output(&self, path: &ast::Path) -> bool {
        matches!(
            path.segments.as_slice(),
            [ast::Segment::Member { name, is_quoted: false }] if self.outputs.contains_key(name.as_str())
        )
    }

    pub(super) fn refuse_function(&mut self, span: Span) {
        let message = "what a function of a module gives is known only behind all other steps";
        let hint = "bind the select to a variable, and select from that";
        self.lowering
            .problems
            .push(Diagnostic::error(codes::MISPLACED_FUNCTION, span, message).hint(hint));
        self.constant(Value::Absent);
    }

    fn negative(&mut self, whole: &ast::Expression, inner: &ast::Expression) {
        let start = self.operations.len();
        self.emit(inner);
        match self.constant_from(start).map(number::negate) {
            Some(Ok(value)) => self.fold(start, value),
            Some(Err(error)) if self.guards == 0 => {
                self.refuse_constant(start, &error, whole.span, &[inner.span]);
            }
            _ => {
                let place = self.place(whole.span, &[inner.span]);
                self.operations.push(Operation::Negate(place));
            }
        }
    }

    fn chain(&mut self, first: &ast::Expression, rest: &[(ast::Arithmetic, ast::Expression)]) {
        let start = self.operations.len();
        self.emit(first);
        let mut left = first.span;
        for (operator, operand) in rest {
            let middle = self.operations.len();
            self.emit(operand);
            let calculation = calculation_of(*operator);
            let whole = left.to(operand.span);
            let spans = [left, operand.span];
            left = whole;
            let constants = match self.operations[..middle].get(start..) {
                Some([Operation::Constant(left)]) if is_foldable(left) => {
                    self.constant_from(middle).map(|right| calculation.of(left, right))
                }
                _ => None,
            };
            match constants {
                Some(Ok(value)) => self.fold(start, value),
                Some(Err(error)) if self.guards == 0 => {
                    self.refuse_constant(start, &error, whole, &spans);
                }
                _ => {
                    let place = self.place(whole, &spans);
                    self.operations.push(Operation::Compute(calculation, place));
                }
            }
        }
    }

    /// Reports that constants cannot be computed with.
    fn refuse_constant(&mut self, start: usize, error: &ComputeError, whole: Span, spans: &[Span]) {
        let at = error.position().and_then(|position| spans.get(position)).unwrap_or(&whole);
        self.lowering.problems.push(Diagnostic::error(
            codes::WRONG_OPERAND,
            *at,
            error.to_string(),
        ));
        self.fold(start, Value::Null);
    }

    fn place(&mut self, whole: Span, operands: &[Span]) -> usize {
        self.places.push(self.place_of(whole, operands));
        self.places.len() - 1
    }

    fn place_of(&self, whole: Span, operands: &[Span]) -> Place {
        let written = |span: &Span| Text::from(&self.lowering.text[span.range()]);
        Place {
            text: written(&whole),
            operands: operands.iter().map(written).collect(),
            line: self.lowering.lines.line(whole.start),
        }
    }

    fn member(&mut self, member: &ast::ObjectMember, names: &mut Vec<MemberName>) {
        let name = match member {
            ast::ObjectMember::Named { key, value, .. } => {
                self.emit(value);
                MemberName::Named(key.as_str().into())
            }
            ast::ObjectMember::Path(path) => {
                self.path(path);
                // The parser has refused paths without a name.
                MemberName::Named(last_name(path).unwrap_or_default().into())
            }
            ast::ObjectMember::Star(star) => return self.star(star, names),
        };
        names.push(name);
    }

    /// The members of the row, of several sources those of all, or of the one that is named.
    fn star(&mut self, star: &ast::Star, names: &mut Vec<MemberName>) {
        if let Some(alias) = &star.alias
            && !self.rows.is_own(self.lowering, &word_path(alias))
        {
            let message = format!("`{}` is no alias of this select", alias.text);
            self.lowering.problems.push(Diagnostic::error(
                codes::MISPLACED_STAR,
                alias.span,
                message,
            ));
        }
        if self.groups.is_some() {
            return self.refuse_ungrouped(star.span);
        }
        let excluded: Box<[Text]> =
            star.excluded.iter().map(|name| name.text.as_str().into()).collect();
        let rows = match (&star.alias, &self.rows) {
            (Some(alias), RowColumns::Scoped) => {
                vec![self.rows.column(self.lowering, &word_path(alias))]
            }
            _ => self.rows.rows(self.lowering),
        };
        for (side, column) in rows {
            self.operations.push(Operation::Column(side, column));
            names.push(MemberName::Members(excluded.clone()));
        }
    }
}

fn calculation_of(operator: ast::Arithmetic) -> Calculation {
    match operator {
        ast::Arithmetic::Add => Calculation::Add,
        ast::Arithmetic::Subtract => Calculation::Subtract,
        ast::Arithmetic::Concatenate => Calculation::Concatenate,
        ast::Arithmetic::Multiply => Calculation::Multiply,
        ast::Arithmetic::Divide => Calculation::Divide,
        ast::Arithmetic::Remainder => Calculation::Remainder,
    }
}

fn manner_of(manner: ast::SelectManner) -> NestedManner {
    match manner {
        ast::SelectManner::One => NestedManner::One,
        ast::SelectManner::List => NestedManner::List,
        ast::SelectManner::Exists => NestedManner::Exists,
    }
}

fn kind_of(kind: ast::ValueKind) -> Kind {
    match kind {
        ast::ValueKind::Null => Kind::Null,
        ast::ValueKind::Missing => Kind::Missing,
        ast::ValueKind::Text => Kind::Text,
        ast::ValueKind::Number => Kind::Number,
        ast::ValueKind::Boolean => Kind::Boolean,
        ast::ValueKind::List => Kind::List,
        ast::ValueKind::Object => Kind::Object,
    }
}

#[cfg(test)]
mod tests {
    use qlio_data::compute::function;

    #[test]
    fn the_names_of_the_syntax_are_those_of_the_table() {
        let mut names: Vec<_> = function::all().map(|function| function.name).collect();
        names.sort_unstable();
        assert_eq!(qlio_syntax::functions::FUNCTION_NAMES, names);
    }
}
