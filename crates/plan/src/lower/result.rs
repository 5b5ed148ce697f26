//! The value of a script: its `return`, or what stands for it (RET-2).

use std::collections::HashSet;

use qlio_data::{Object, Text, Value, template::Template};
use qlio_syntax::{ast, source::Span, status::ROUTE};

use super::Lowering;
use crate::{
    catalog::{literal_text, literal_value},
    node::{NodeId, NodeKind, RouteSpec, RouteStatus},
    operator::Expression,
};

impl Lowering<'_> {
    /// Lowers `return`, or picks the statement that stands for it. A statement that becomes the
    /// value is taken out of `top_level`, so that it is not an orphan of itself.
    pub(super) fn value(&mut self, script: &ast::Script, top_level: &mut Vec<NodeId>) -> NodeId {
        if let Some(result) = &script.result {
            let first = self.chain(&result.alternatives, None, true);
            self.node_mut(first).line = self.lines.line(result.span.start);
            return first;
        }
        let last =
            script.items.iter().zip(top_level.iter()).rev().find(|(item, _)| !is_create(item));
        match last {
            None if script.items.is_empty() => self.constant(Value::object(Object::new())),
            None => {
                let message: Object = [("message", Value::from("ok"))].into_iter().collect();
                self.constant(Value::object(message))
            }
            Some((ast::Item::Statement(statement), id)) => {
                let id = *id;
                if let Some(target) = &statement.target {
                    // Other statements may read the target, and must not wait for themselves.
                    let kind = self.reference(&target.text, false);
                    return self.push(statement.span, kind, None);
                }
                top_level.retain(|other| *other != id);
                id
            }
            Some(_) => self.constant(Value::Absent),
        }
    }

    fn constant(&mut self, value: Value) -> NodeId {
        let end = self.text.len() as u32;
        self.push(Span::new(end, end), NodeKind::Define(Expression::Constant(value)), None)
    }

    /// Lowers the route clause. The value node waits for the variables that its templates read.
    pub(super) fn route(&mut self, route: &ast::RouteClause, value: NodeId) -> RouteSpec {
        let headers: Vec<_> = route
            .headers
            .iter()
            .map(|pair| (self.template(&pair.name.text), self.header_value(pair)))
            .collect();
        let status = route.status.as_ref().map(|status| self.route_status(status));
        let reads = self.reads.take();
        let known = &mut self.reads_of[value.index()];
        let seen: HashSet<_> = known.iter().copied().collect();
        known.extend(reads.into_iter().filter(|slot| !seen.contains(slot)));
        RouteSpec {
            path: route.path.text.clone(),
            path_span: route.path.span,
            method: route.method.text.clone(),
            has_optional_params: route.has_optional_params,
            defaults: route
                .default_values()
                .map(|(token, pair)| (Text::from(token), literal_value(&pair.value)))
                .collect(),
            status,
            headers,
            deadline_ms: route.deadline.as_ref().map(|count| count.value),
            limits: route.limits.iter().map(|limit| (limit.limit, limit.most.value)).collect(),
            missing_settings: std::mem::take(&mut self.missing_settings),
        }
    }

    /// The checks of `syntax` have refused numbers out of range.
    fn route_status(&mut self, status: &ast::RouteStatus) -> RouteStatus {
        let text = match status {
            ast::RouteStatus::Number(count) => count.value.to_string(),
            ast::RouteStatus::Text(text) => text.text.clone(),
        };
        match ROUTE.read(&text) {
            Some(status) => RouteStatus::Fixed(status),
            None => RouteStatus::Filled(self.shown_template(&text, status.span())),
        }
    }

    fn header_value(&mut self, pair: &ast::NameValue) -> Template {
        let template = self.template(&literal_text(&pair.value));
        self.note_missing_settings(&template, pair.value.span);
        template
    }
}

fn is_create(item: &ast::Item) -> bool {
    match item {
        ast::Item::Statement(statement) => {
            matches!(statement.alternatives.first(), Some(ast::Primary::Create(_)))
        }
        _ => false,
    }
}
