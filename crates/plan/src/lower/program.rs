//! Expressions over rows to programs: columns found, constants folded, jumps set (ADR 0028).
//!
//! The code of an expression follows that of its operands, so an operand is constant if its code is one
//! [`Operation::Constant`]. Nothing here recurses deeper than the tree, which the parser bounds.

use std::collections::HashMap;

use qlio_data::{
    Text, Value,
    compute::{
        ComputeError, Kind,
        function::{self, Context, Evaluation, Function, PatternCache, Volatility},
        number, test,
    },
    path::Path,
};
use qlio_syntax::{
    ast::{self, ExpressionKind},
    diagnostic::{Diagnostic, codes},
    parser::last_name,
    source::Span,
};

use super::{Lowering, join::Halves, path_text, select::ScanBuilder, without_alias};
use crate::{
    catalog,
    operator::{
        Calculation, ColumnPath, Expected, Given, MemberName, Operand, Operation, PatternManner,
        Place, Program, Side,
    },
};

/// The sources whose rows an expression sees.
pub(super) enum RowColumns<'c, 's> {
    /// One source, perhaps with an alias.
    One { alias: Option<&'s str>, builder: &'c mut ScanBuilder },
    /// Two.
    Two(&'c mut Halves<'s>),
}

impl RowColumns<'_, '_> {
    pub(super) fn column(
        &mut self,
        lowering: &mut Lowering<'_>,
        path: &ast::Path,
    ) -> (Side, usize) {
        match self {
            Self::One { alias, builder } => {
                if alias.is_some_and(|alias| path_text(path) == alias) {
                    return (Side::Main, builder.row());
                }
                (Side::Main, lowering.column(path, *alias, builder))
            }
            Self::Two(halves) => halves.column(lowering, path),
        }
    }

    /// A column that holds all matches, as filters see them.
    fn key(&mut self, lowering: &mut Lowering<'_>, path: &ast::Path) -> (Side, usize) {
        match self {
            Self::One { alias, builder } => {
                (Side::Main, lowering.key_column(path, *alias, builder))
            }
            Self::Two(halves) => halves.key(lowering, path),
        }
    }

    /// The whole row, where there is one source.
    pub(super) fn row(&mut self) -> (Side, usize) {
        match self {
            Self::One { builder, .. } => (Side::Main, builder.row()),
            // The checks of `syntax` have refused `*` in joins.
            Self::Two(halves) => (Side::Main, halves.main.row()),
        }
    }

    /// Whether a path begins with the alias of a source, or is it.
    fn is_own(&self, path: &ast::Path) -> bool {
        let has = |alias: &str| without_alias(path, alias).is_some() || path_text(path) == alias;
        match self {
            Self::One { alias, .. } => alias.is_some_and(has),
            Self::Two(halves) => has(halves.main_alias) || has(halves.joined_alias),
        }
    }
}

impl ScanBuilder {
    /// The column that is the row itself.
    pub(super) fn row(&mut self) -> usize {
        self.add("\u{0}row".to_owned(), ColumnPath::Static(Path::from_segments(Vec::new())), false)
    }
}

/// What a name of the output stands for in `order by`.
#[derive(Clone, Copy)]
pub(super) enum OutputName<'s> {
    /// A column of the row.
    Path(&'s ast::Path),
    /// A computed column.
    Expression(&'s ast::Expression),
    /// A function of a module.
    Call(Span),
}

/// The names of an output that is an object.
pub(super) fn output_names(columns: &ast::Columns) -> HashMap<&str, OutputName<'_>> {
    let mut names = HashMap::new();
    let ast::Columns::List(columns) = columns else { return names };
    for column in columns {
        let alias = column.alias.as_ref().map(|alias| alias.text.as_str());
        match (alias, &column.value) {
            (Some(alias), ast::ColumnValue::Path(path)) => {
                names.insert(alias, OutputName::Path(path));
            }
            (None, ast::ColumnValue::Path(path)) => {
                names.extend(last_name(path).map(|name| (name, OutputName::Path(path))));
            }
            (Some(alias), ast::ColumnValue::Expression(expression)) => {
                names.insert(alias, OutputName::Expression(expression));
            }
            (Some(alias), ast::ColumnValue::Call(call)) => {
                names.insert(alias, OutputName::Call(call.span));
            }
            (None, ast::ColumnValue::Expression(expression)) => {
                let ExpressionKind::Object(members) = &expression.kind else { continue };
                for member in members {
                    match member {
                        ast::ObjectMember::Named { key, value, .. } => {
                            names.insert(key, OutputName::Expression(value));
                        }
                        ast::ObjectMember::Path(path) => {
                            names
                                .extend(last_name(path).map(|name| (name, OutputName::Path(path))));
                        }
                        ast::ObjectMember::Star(_) => {}
                    }
                }
            }
            (_, ast::ColumnValue::Call(_) | ast::ColumnValue::Star(_)) => {}
        }
    }
    names
}

/// Compiles the expressions of one select.
pub(super) struct Compiler<'c, 'l, 'a, 's> {
    pub(super) lowering: &'l mut Lowering<'a>,
    pub(super) rows: RowColumns<'c, 's>,
    /// The values that all programs of the select share.
    pub(super) givens: Vec<Given>,
    /// Names of the output, where they are columns.
    pub(super) outputs: HashMap<&'s str, OutputName<'s>>,
    operations: Vec<Operation>,
    places: Vec<Place>,
    /// How many calls of `try` are around, in which constants that cannot be computed with are null.
    guards: usize,
}

impl<'c, 'l, 'a, 's> Compiler<'c, 'l, 'a, 's> {
    pub(super) fn new(lowering: &'l mut Lowering<'a>, rows: RowColumns<'c, 's>) -> Self {
        Self {
            lowering,
            rows,
            givens: Vec::new(),
            outputs: HashMap::new(),
            operations: Vec::new(),
            places: Vec::new(),
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
                    names.push(self.star(star));
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
                let path = word_path(word);
                if self.rows.is_own(&path) {
                    return self.path(&path);
                }
                let kind = ast::OperandKind::Path(path);
                let operand = self.lowering.operand(&ast::Operand { kind, span: word.span });
                self.operand(operand);
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
                let names = members.iter().map(|member| self.member(member)).collect();
                self.operations.push(Operation::Object(names));
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
            ExpressionKind::Group(inner) => self.emit(inner),
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
        let (side, column) = self.rows.column(self.lowering, path);
        self.operations.push(Operation::Column(side, column));
    }

    fn refuse_function(&mut self, span: Span) {
        let message = "what a function of a module gives is known only behind all other steps";
        let hint = "bind the select to a variable, and select from that";
        self.lowering
            .problems
            .push(Diagnostic::error(codes::MISPLACED_FUNCTION, span, message).hint(hint));
        self.constant(Value::Absent);
    }

    /// A condition in the form that parameters have: here it tests the row.
    fn condition(&mut self, condition: &ast::Condition) {
        let (path, expected) = match condition {
            ast::Condition::Test(test) => return self.emit(test),
            // The checks of `syntax` have refused functions inside of expressions.
            ast::Condition::Call(call) => return self.refuse_function(call.span),
            ast::Condition::Equals { path, operand, .. } => {
                if let ast::OperandKind::Path(right) = &operand.kind
                    && self.rows.is_own(right)
                {
                    self.path(path);
                    self.path(right);
                    return self.operations.push(Operation::Equals);
                }
                (path, Expected::Equals(self.lowering.operand(operand)))
            }
            ast::Condition::InList { path, items, .. } => {
                let items = items.iter().map(|item| self.lowering.listed_operand(item)).collect();
                (path, Expected::List(items))
            }
            ast::Condition::InSelect { path, select, .. } => {
                (path, Expected::Select(Box::new(self.lowering.select(select))))
            }
        };
        let (side, column) = self.rows.key(self.lowering, path);
        let given = self.given(Given::Condition(expected));
        self.operations.push(Operation::Matches { side, column, given });
    }

    /// Terms of which the first that decides ends the evaluation: a falsy one of all, a truthy one of any.
    fn joined<T>(&mut self, terms: &[T], is_any: bool, emit: impl Fn(&mut Self, &T)) {
        let mut jumps = Vec::new();
        for (position, term) in terms.iter().enumerate() {
            let start = self.operations.len();
            emit(self, term);
            if let Some(truth) = self.constant_from(start).map(Value::is_truthy) {
                self.operations.truncate(start);
                if truth == is_any {
                    // The rest is never looked at.
                    self.constant(Value::Bool(is_any));
                    return self.decide(jumps, is_any);
                }
                if position + 1 < terms.len() {
                    continue;
                }
                self.constant(Value::Bool(!is_any));
            } else if position + 1 < terms.len() {
                jumps.push(self.operations.len());
                self.operations.push(Operation::Jump(0));
            } else {
                self.operations.push(Operation::Truth);
            }
        }
        self.decide(jumps, is_any);
    }

    /// The end of joined terms, where those that decide lead to.
    fn decide(&mut self, jumps: Vec<usize>, is_any: bool) {
        if jumps.is_empty() {
            return;
        }
        self.operations.push(Operation::Jump(self.operations.len() + 2));
        let decided = self.operations.len();
        self.constant(Value::Bool(is_any));
        for jump in jumps {
            self.operations[jump] = if is_any {
                Operation::JumpIfTrue(decided)
            } else {
                Operation::JumpIfFalse(decided)
            };
        }
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
                Some([Operation::Constant(left)]) => {
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

    /// A call of a built-in function (FUN-1).
    fn function(&mut self, whole: &ast::Expression, name: &str, arguments: &[ast::Expression]) {
        // A test says that all names of `syntax` are in the table.
        let Some(function) = function::find(name) else { return self.constant(Value::Null) };
        if !function.arguments().contains(&arguments.len()) {
            let message = format!("`{name}` is called with {} arguments", arguments.len());
            let hint = format!("it is called as `{}`", function.signature);
            let problem = Diagnostic::error(codes::ARGUMENT_COUNT, whole.span, message).hint(hint);
            self.lowering.problems.push(problem);
            return self.constant(Value::Null);
        }
        match (function.evaluation, arguments) {
            (Evaluation::UntilValue, arguments) => self.until_value(arguments),
            (Evaluation::Branch, [condition, then, otherwise @ ..]) => {
                self.branch(condition, then, otherwise.first());
            }
            (Evaluation::Guarded, [guarded]) => {
                let start = self.operations.len();
                self.operations.push(Operation::Guard(0));
                self.guards += 1;
                self.emit(guarded);
                self.guards -= 1;
                self.operations.push(Operation::Unguard);
                self.operations[start] = Operation::Guard(self.operations.len());
            }
            _ => self.eager(whole, function, arguments),
        }
    }

    fn eager(
        &mut self,
        whole: &ast::Expression,
        function: &'static Function,
        arguments: &[ast::Expression],
    ) {
        let start = self.operations.len();
        for argument in arguments {
            self.emit(argument);
        }
        let spans: Vec<_> = arguments.iter().map(|argument| argument.span).collect();
        let constants: Vec<_> = self.operations[start..]
            .iter()
            .map_while(|operation| match operation {
                Operation::Constant(value) => Some(value.clone()),
                _ => None,
            })
            .collect();
        let is_constant = function.volatility == Volatility::Constant
            && self.operations.len() - start == arguments.len()
            && constants.len() == arguments.len();
        if is_constant {
            let patterns = PatternCache::default();
            // Neither the time nor chance is asked for by what is always the same.
            let context = Context::new((0, 0), &|| 0, &patterns);
            match function.call(&context, &constants) {
                Ok(value) => return self.fold(start, value),
                Err(error) if self.guards == 0 => {
                    return self.refuse_constant(start, &error, whole.span, &spans);
                }
                // `try` turns it into null when it runs.
                Err(_) => {}
            }
        }
        let place = self.place(whole.span, &spans);
        self.operations.push(Operation::Call { function, arguments: arguments.len(), place });
    }

    /// The first value that is not null.
    fn until_value(&mut self, arguments: &[ast::Expression]) {
        let mut jumps = Vec::new();
        for (position, argument) in arguments.iter().enumerate() {
            self.emit(argument);
            if position + 1 < arguments.len() {
                self.operations.extend([Operation::Copy, Operation::Is(Kind::Null)]);
                jumps.push(self.operations.len());
                self.operations.extend([Operation::Jump(0), Operation::Drop]);
            }
        }
        let end = self.operations.len();
        for jump in jumps {
            self.operations[jump] = Operation::JumpIfFalse(end);
        }
    }

    fn branch(
        &mut self,
        condition: &ast::Expression,
        then: &ast::Expression,
        otherwise: Option<&ast::Expression>,
    ) {
        self.emit(condition);
        let test = self.operations.len();
        self.operations.push(Operation::Jump(0));
        self.emit(then);
        let end = self.operations.len();
        self.operations.push(Operation::Jump(0));
        self.operations[test] = Operation::JumpIfFalse(self.operations.len());
        match otherwise {
            Some(otherwise) => self.emit(otherwise),
            None => self.constant(Value::Null),
        }
        self.operations[end] = Operation::Jump(self.operations.len());
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
        let written = |span: &Span| Text::from(&self.lowering.text[span.range()]);
        self.places.push(Place {
            text: written(&whole),
            operands: operands.iter().map(written).collect(),
            line: self.lowering.lines.line(whole.start),
        });
        self.places.len() - 1
    }

    fn compare(
        &mut self,
        left: &ast::Expression,
        comparison: ast::Comparison,
        right: &ast::Expression,
    ) {
        self.emit(left);
        self.emit(right);
        let operation = match comparison {
            ast::Comparison::Equals | ast::Comparison::Same => Operation::Equals,
            ast::Comparison::Differs => {
                self.operations.push(Operation::Equals);
                Operation::Not
            }
            ast::Comparison::Less => Operation::Compare(test::Comparison::Less),
            ast::Comparison::LessOrEqual => Operation::Compare(test::Comparison::LessOrEqual),
            ast::Comparison::Greater => Operation::Compare(test::Comparison::Greater),
            ast::Comparison::GreaterOrEqual => Operation::Compare(test::Comparison::GreaterOrEqual),
        };
        self.operations.push(operation);
    }

    fn like(
        &mut self,
        value: &ast::Expression,
        manner: ast::PatternManner,
        pattern: &ast::Expression,
    ) {
        let manner = match manner {
            ast::PatternManner::Like => PatternManner::Like,
            ast::PatternManner::LikeAnyCase => PatternManner::LikeAnyCase,
            ast::PatternManner::Matches => PatternManner::Matches,
        };
        self.emit(value);
        let start = self.operations.len();
        self.emit(pattern);
        let Some(constant) = self.constant_from(start) else {
            let place = self.place(pattern.span, &[pattern.span]);
            return self.operations.push(Operation::LikeDynamic(manner, place));
        };
        let compiled = match constant.scalar_text() {
            Some(text) => manner.compile(&text).map_err(|error| error.to_string()),
            None => Err("a pattern is a text".to_owned()),
        };
        match compiled {
            Ok(compiled) => {
                self.operations.truncate(start);
                self.operations.push(Operation::Like(Box::new(compiled)));
            }
            Err(reason) => self.lowering.problems.push(Diagnostic::error(
                codes::BAD_PATTERN,
                pattern.span,
                reason,
            )),
        }
    }

    fn case(
        &mut self,
        subject: Option<&ast::Expression>,
        branches: &[(ast::Expression, ast::Expression)],
        otherwise: Option<&ast::Expression>,
    ) {
        if let Some(subject) = subject {
            self.emit(subject);
        }
        let mut ends = Vec::with_capacity(branches.len());
        for (when, then) in branches {
            if subject.is_some() {
                self.operations.push(Operation::Copy);
                self.emit(when);
                self.operations.push(Operation::Equals);
            } else {
                self.emit(when);
            }
            let test = self.operations.len();
            self.operations.push(Operation::Jump(0));
            if subject.is_some() {
                self.operations.push(Operation::Drop);
            }
            self.emit(then);
            ends.push(self.operations.len());
            self.operations.push(Operation::Jump(0));
            self.operations[test] = Operation::JumpIfFalse(self.operations.len());
        }
        if subject.is_some() {
            self.operations.push(Operation::Drop);
        }
        match otherwise {
            Some(otherwise) => self.emit(otherwise),
            None => self.constant(Value::Null),
        }
        let end = self.operations.len();
        for jump in ends {
            self.operations[jump] = Operation::Jump(end);
        }
    }

    fn member(&mut self, member: &ast::ObjectMember) -> MemberName {
        match member {
            ast::ObjectMember::Named { key, value, .. } => {
                self.emit(value);
                MemberName::Named(key.as_str().into())
            }
            ast::ObjectMember::Path(path) => {
                self.path(path);
                // The parser has refused paths without a name.
                MemberName::Named(last_name(path).unwrap_or_default().into())
            }
            ast::ObjectMember::Star(star) => self.star(star),
        }
    }

    /// The members of the row.
    fn star(&mut self, star: &ast::Star) -> MemberName {
        if let Some(alias) = &star.alias
            && !self.rows.is_own(&word_path(alias))
        {
            let message = format!("`{}` is no alias of this select", alias.text);
            self.lowering.problems.push(Diagnostic::error(
                codes::MISPLACED_STAR,
                alias.span,
                message,
            ));
        }
        let (side, column) = self.rows.row();
        self.operations.push(Operation::Column(side, column));
        MemberName::Members(star.excluded.iter().map(|name| name.text.as_str().into()).collect())
    }
}

fn word_path(word: &ast::Ident) -> ast::Path {
    let segment = ast::Segment::Member { name: word.text.clone(), is_quoted: false };
    ast::Path { segments: vec![segment], span: word.span }
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
    use super::*;

    #[test]
    fn the_names_of_the_syntax_are_those_of_the_table() {
        let mut names: Vec<_> = function::all().map(|function| function.name).collect();
        names.sort_unstable();
        assert_eq!(qlio_syntax::functions::FUNCTION_NAMES, names);
    }
}
