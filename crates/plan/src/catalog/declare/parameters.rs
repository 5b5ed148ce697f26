//! Which parameters the request of a verb is made of, as far as its declaration says.

use qlio_data::{template::Template, uri_template::UriTemplate};
use qlio_syntax::{ast, spelling};

use super::{super::mentions, Body, Call, literal_text};

/// The parts of a verb that parameters go into.
pub(super) struct Parameters<'a> {
    pub(super) verb: &'a ast::Verb,
    uri: &'a UriTemplate,
    body: Option<&'a Body>,
    patch: &'a str,
    call: Option<&'a Call>,
    /// A custom connector, which is given all of them.
    is_custom: bool,
}

impl<'a> Parameters<'a> {
    /// Those of a verb; `patch` is the text of its patch, empty without one.
    pub(super) fn of(
        verb: &'a ast::Verb,
        uri: &'a UriTemplate,
        body: Option<&'a Body>,
        patch: &'a str,
        call: Option<&'a Call>,
        is_custom: bool,
    ) -> Self {
        Self { verb, uri, body, patch, call, is_custom }
    }

    /// Whether the upstream is given `limit` or `offset` under this name; a patch knows them by their own.
    pub(super) fn takes(&self, name: &str, plain: &str) -> bool {
        self.verb.is_paged_upstream
            || self.verb.expect.iter().any(|expected| expected.name.text == name)
            || self.tokens().any(|token| token == name)
            || self.body.is_some_and(|body| mentions::in_body(body, name))
            || mentions::in_script(self.patch, plain)
            || self.call.is_some_and(|call| call.takes(name))
    }

    /// Whether the request has a place for this parameter: in its URI, headers or body, or in the hands of a
    /// patch.
    pub(super) fn has(&self, name: &str) -> bool {
        // Without a template all parameters are the body.
        let is_whole_body =
            self.verb.request_format.is_some() && self.verb.body.is_none() && self.call.is_none();
        let foreach = self.body.and_then(|body| body.foreach.as_deref());
        self.is_custom
            || is_whole_body
            || foreach == Some(name)
            || self.tokens().any(|token| token == name || root(token) == name)
            || self.body.is_some_and(|body| mentions::in_body(body, name))
            || self.call.is_some_and(|call| call.takes(name))
            || mentions::in_script(self.patch, name)
            || self.in_values(name)
    }

    /// What a parameter that has no place may have been meant to be.
    pub(super) fn closest_to(&self, name: &str) -> Option<String> {
        spelling::closest(name, self.tokens()).map(|meant| format!("did you mean `{meant}`?"))
    }

    fn tokens(&self) -> impl Iterator<Item = &str> {
        self.uri.tokens().iter().map(|token| token.name.as_str())
    }

    fn in_values(&self, name: &str) -> bool {
        let pairs = self.verb.headers.iter().chain(&self.verb.defaults);
        pairs.into_iter().any(|pair| {
            let template = Template::from_text(literal_text(&pair.value));
            template.roots().contains(&name)
        })
    }
}

/// The part before the first dot: a parameter is also a structure to walk into.
fn root(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}
