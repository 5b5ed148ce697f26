//! Declarations of tables.

use super::{Checker, Site, status};
use crate::{
    ast::{Create, HTTP_METHODS, VerbKind},
    diagnostic::{Label, codes},
    spelling,
};

/// Refuses verbs that are declared twice, and methods that the named connector does not have.
pub(super) fn create(checker: &mut Checker<'_>, site: Site, node: &Create) {
    let is_http = node.connector.as_ref().is_some_and(|name| name.text == "http");
    let mut first: [Option<Label>; 4] = [const { None }; 4];
    for verb in &node.verbs {
        status::passed(checker, site, verb);
        if is_http && verb.is_do && !HTTP_METHODS.contains(&verb.method.text.as_str()) {
            let message = format!("unknown verb method {} found.", verb.method.text);
            let meant = spelling::closest(&verb.method.text, HTTP_METHODS.iter().copied());
            let diagnostic = checker.add(site, codes::UNKNOWN_METHOD, verb.method.span, &message);
            diagnostic.hints.extend(meant.map(|meant| format!("did you mean `{meant}`?")));
        }
        let place = match verb.kind {
            VerbKind::Select => 0,
            VerbKind::Insert => 1,
            VerbKind::Update => 2,
            VerbKind::Delete => 3,
        };
        if let Some(label) = &first[place] {
            let message =
                format!("Duplicate 'on {}' for table {}", verb.kind.as_str(), node.name.text);
            let diagnostic = checker.add(site, codes::DUPLICATE_VERB, verb.span, &message);
            diagnostic.secondary.push(label.clone());
        } else {
            first[place] = Some(Label { span: verb.span, text: "first here".to_owned() });
        }
    }
}
