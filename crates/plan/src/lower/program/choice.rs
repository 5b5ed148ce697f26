//! Calls of built-in functions, and code that chooses what is computed: `case`, `if`, `coalesce`, `try`.

use qlio_data::{
    Value,
    compute::{
        Kind,
        function::{self, Context, Evaluation, Function, PatternCache, Volatility},
    },
};
use qlio_syntax::{
    ast,
    diagnostic::{Diagnostic, codes},
};

use super::{Compiler, FOLDED_BYTES_MAX, is_foldable};
use crate::operator::Operation;

impl Compiler<'_, '_, '_, '_> {
    /// A call of a built-in function (FUN-1).
    pub(super) fn function(
        &mut self,
        whole: &ast::Expression,
        name: &str,
        arguments: &[ast::Expression],
    ) {
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
        let mut known = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let at = self.operations.len();
            self.emit(argument);
            known.push(self.constant_from(at).cloned());
        }
        let spans: Vec<_> = arguments.iter().map(|argument| argument.span).collect();
        let constants: Option<Vec<Value>> = known.iter().cloned().collect();
        if let Some(constants) = constants
            && function.volatility == Volatility::Constant
            && function.effort(&constants, FOLDED_BYTES_MAX) <= FOLDED_BYTES_MAX
        {
            let patterns = PatternCache::default();
            // Neither the time nor chance is asked for by what is always the same.
            let context = Context::new((0, 0), &|| 0, &patterns);
            match function.call(&context, &constants) {
                Ok(value) if is_foldable(&value) => return self.fold(start, value),
                Err(error) if self.guards == 0 => {
                    return self.refuse_constant(start, &error, whole.span, &spans);
                }
                // A run pays for what is large, and `try` turns an error into null when it runs.
                Ok(_) | Err(_) => {}
            }
        } else if self.guards == 0
            && let Err(error) = function.check(&known, FOLDED_BYTES_MAX)
        {
            return self.refuse_constant(start, &error, whole.span, &spans);
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

    pub(super) fn case(
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
}
