//! JSON literals, operands, calls and logic.

use qlio_data::{Object, Text, Value, template::Template};
use qlio_syntax::{ast, source::Span};

use super::{Lowering, path_text};
use crate::{
    catalog::number,
    operator::{Call, Callee, Expression, Logic, Operand},
};

impl Lowering<'_> {
    /// Lowers a JSON literal; parts without tokens become constants.
    pub(super) fn expression(&mut self, json: &ast::Json) -> Expression {
        match &json.kind {
            ast::JsonKind::Null => Expression::Constant(Value::Null),
            ast::JsonKind::Bool(value) => Expression::Constant(Value::Bool(*value)),
            ast::JsonKind::Number(text) => Expression::Constant(Value::Number(number(text))),
            ast::JsonKind::String(text) => {
                let template = self.shown_template(text, json.span);
                if template.is_literal() {
                    Expression::Constant(Value::from(text.as_str()))
                } else {
                    Expression::Template(template)
                }
            }
            ast::JsonKind::Array(elements) => {
                let elements: Vec<_> =
                    elements.iter().map(|element| self.expression(element)).collect();
                match constants(&elements) {
                    Some(values) => Expression::Constant(Value::array(values)),
                    None => Expression::Array(elements),
                }
            }
            ast::JsonKind::Object(members) => {
                let lowered: Vec<_> = members
                    .iter()
                    .map(|member| (Text::from(member.key.as_str()), self.expression(&member.value)))
                    .collect();
                let mut object = Object::with_capacity(lowered.len());
                for (key, value) in &lowered {
                    match value {
                        Expression::Constant(value) => object.insert(key.clone(), value.clone()),
                        _ => return Expression::Object(lowered),
                    };
                }
                Expression::Constant(Value::object(object))
            }
        }
    }

    /// Lowers the right side of a condition: a bareword is a variable of the script, else itself.
    pub(super) fn operand(&mut self, operand: &ast::Operand) -> Operand {
        match &operand.kind {
            ast::OperandKind::Path(path) => {
                let text = path_text(path);
                if self.is_variable(path) {
                    Operand::Template(self.typed_token(&text))
                } else {
                    self.warn_of_lone_word(path);
                    Operand::Word(text.into())
                }
            }
            _ => self.listed_operand(operand),
        }
    }

    /// Lowers an item of an in-list or a value of an insert: a bareword is a token, so an unknown
    /// word is absent rather than text (SEL-17).
    pub(super) fn listed_operand(&mut self, operand: &ast::Operand) -> Operand {
        match &operand.kind {
            ast::OperandKind::Null => Operand::Constant(Value::Null),
            ast::OperandKind::Bool(value) => Operand::Constant(Value::Bool(*value)),
            ast::OperandKind::Number(text) => Operand::Constant(Value::Number(number(text))),
            ast::OperandKind::Path(path) => {
                let template = self.typed_token(&path_text(path));
                self.note_missing_settings(&template, operand.span);
                Operand::Template(template)
            }
            ast::OperandKind::Token(text) => self.token_operand(text, operand.span),
            ast::OperandKind::Text(text) => {
                let template = self.shown_template(text, operand.span);
                if template.is_literal() {
                    return Operand::Constant(Value::from(text.as_str()));
                }
                self.note_prerequisites(&template);
                Operand::Template(template)
            }
        }
    }

    /// A token without quotes, `{=name}` or `{^name}`: its value keeps its type.
    pub(super) fn token_operand(&mut self, text: &str, span: Span) -> Operand {
        let shown = self.shown_template(&format!("{{{text}}}"), span);
        self.note_prerequisites(&shown);
        Operand::Template(self.typed_token(&text[1..]))
    }

    /// A text that starts with `{^` must resolve before its statement runs; anywhere else the token is
    /// an ordinary one (EXE-6).
    pub(super) fn note_prerequisites(&mut self, template: &Template) {
        if template.text().starts_with("{^") {
            self.prerequisites.push(template.clone());
        }
    }

    /// A token that keeps the type of what it names.
    pub(super) fn typed_token(&mut self, path: &str) -> Template {
        self.template(&format!("{{={path}}}"))
    }

    fn is_variable(&self, path: &ast::Path) -> bool {
        match path.segments.first() {
            Some(ast::Segment::Member { name, is_quoted: false }) => {
                self.symbols.slot(name).is_some()
            }
            _ => false,
        }
    }

    /// Lowers the name of a function and notes that its module is read.
    pub(super) fn callee(&mut self, name: &ast::Name) -> Callee {
        let module = self.symbols.assigned_slot(name.first_word());
        if let Some(slot) = module {
            self.read(slot);
        }
        // A module may be a function itself (UDF-2).
        let function = name.text.split_once('.').map_or("", |(_, function)| function);
        Callee { name: name.text.as_str().into(), module, function: function.into() }
    }

    /// Lowers a definition call: path arguments are variables.
    pub(super) fn call(&mut self, call: &ast::Call) -> Call {
        let callee = self.callee(&call.callee);
        let arguments = call
            .args
            .iter()
            .map(|arg| match arg {
                ast::Arg::Json(json) => self.expression(json),
                ast::Arg::Path(path) => Expression::Template(self.typed_token(&path_text(path))),
            })
            .collect();
        Call { callee, arguments }
    }

    /// Lowers a condition of `if` or `catch`.
    pub(super) fn logic(&mut self, logic: &ast::Logic) -> Logic {
        match logic {
            ast::Logic::Or(left, right) => {
                Logic::Or(Box::new(self.logic(left)), Box::new(self.logic(right)))
            }
            ast::Logic::And(left, right) => {
                Logic::And(Box::new(self.logic(left)), Box::new(self.logic(right)))
            }
            ast::Logic::Not(inner) => Logic::Not(Box::new(self.logic(inner))),
            ast::Logic::Name(path) => Logic::Name(self.typed_token(&path_text(path))),
        }
    }
}

fn constants(elements: &[Expression]) -> Option<Vec<Value>> {
    let value = |element: &Expression| match element {
        Expression::Constant(value) => Some(value.clone()),
        _ => None,
    };
    elements.iter().map(value).collect()
}
