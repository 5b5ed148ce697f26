//! `create table` to [`Table`]: templates parsed, settings filled, files fetched.
//!
//! A fault never loses the table: it is registered as broken, so that using it says what is wrong
//! (CON-7).

use std::sync::Arc;

use qlio_data::{
    Number, Text, Value, codec::xml::Coerce, template::Template, uri_template::UriTemplate,
};
use qlio_syntax::{
    ast,
    diagnostic::{Code, Diagnostic, Severity, codes},
    source::{LineIndex, Span},
    status::PASSED,
};

use super::{
    Connector, Connectors, Resources, ScriptFile, Transformers,
    connector::HTTP,
    credentials::{shown_header, shown_template, shown_value},
    fill_settings,
    settings::{MissingSetting, ROOT, headers_from_settings},
    table::{
        Body, DefaultValue, Format, FormatKind, Grpc, NeededSetting, Oauth2, Table, Verb, Written,
        is_form_template,
    },
};

mod columns;
mod connector;
#[cfg(feature = "protobuf")]
mod grpc;
mod paging;
mod parameters;
#[cfg(feature = "protobuf")]
mod protobuf;
mod remote;

use parameters::Parameters;

/// A table and what is wrong with it.
#[derive(Debug)]
pub struct Declared {
    /// The table; broken if `problems` holds an error.
    pub table: Table,
    /// The problems of the declaration.
    pub problems: Vec<Diagnostic>,
}

/// Where a declaration stands and what it may use.
pub struct Declaration<'a> {
    /// The file of the declaration.
    pub file: &'a Arc<str>,
    /// Its line index.
    pub lines: &'a LineIndex,
    /// The settings.
    pub config: &'a Value,
    /// The custom connectors.
    pub connectors: &'a Connectors,
    /// The transformers of tables that name none themselves.
    pub transformers: &'a Transformers,
    /// Files beside the declaration.
    pub resources: &'a dyn Resources,
    /// Declared by a script rather than a table file.
    pub is_inline: bool,
}

/// Turns one `create table` into a table.
pub fn declare_table(
    create: &ast::Create,
    docs: &[ast::Comment],
    declaration: &Declaration<'_>,
) -> Declared {
    let docs = docs.iter().map(|comment| comment.text.clone()).collect();
    let line = declaration.lines.line(create.span.start);
    let mut table = Table::new(
        &create.name.text,
        docs,
        Arc::clone(declaration.file),
        line,
        declaration.is_inline,
    );
    let mut builder = Builder { declaration, connector: None, problems: Vec::new() };
    builder.connector = builder.connector(create);
    let is_http = create.connector.as_ref().is_some_and(|name| name.text == HTTP);
    for verb in &create.verbs {
        if is_http && verb.is_do && !ast::HTTP_METHODS.contains(&verb.method.text.as_str()) {
            let message = format!("unknown verb method {} found.", verb.method.text);
            builder.error(codes::UNKNOWN_METHOD, verb.method.span, message);
        }
        let spoken;
        let verb = if builder.connector.is_some() {
            spoken = builder.without_idle_clauses(verb);
            &spoken
        } else {
            verb
        };
        if let Some(mut verb) = builder.verb(verb) {
            if verb.connector.is_none() && verb.transformer.is_none() {
                verb.transformer = declaration.transformers.get(&table.name).cloned();
            }
            table.set_verb(verb);
        }
    }
    let mut errors = builder.problems.iter().filter(|problem| problem.severity == Severity::Error);
    table.broken = errors.next().map(|problem| problem.message.clone());
    Declared { table, problems: builder.problems }
}

/// A gRPC method and the formats of what it takes and gives; none if it cannot be called.
struct Call {
    grpc: Grpc,
    request: Option<Format>,
    answer: Option<Format>,
}

impl Call {
    /// Whether the request has a field of this name.
    #[cfg(feature = "protobuf")]
    fn takes(&self, name: &str) -> bool {
        let format = self.request.as_ref().and_then(|format| format.protobuf.as_ref());
        format.is_some_and(|format| format.message.has_field(name))
    }

    #[cfg(not(feature = "protobuf"))]
    fn takes(&self, _: &str) -> bool {
        false
    }
}

struct Builder<'a> {
    declaration: &'a Declaration<'a>,
    /// The custom connector of the table.
    connector: Option<Arc<Connector>>,
    problems: Vec<Diagnostic>,
}

impl Builder<'_> {
    fn error(&mut self, code: Code, span: Span, message: String) {
        self.problems.push(Diagnostic::error(code, span, message));
    }

    fn fill(&self, text: &str) -> String {
        fill_settings(text, self.declaration.config)
    }

    fn template(&self, text: &str) -> Template {
        Template::parse(&self.fill(text))
    }

    fn uri(&mut self, written: &ast::RawText) -> Option<UriTemplate> {
        match UriTemplate::parse(&self.fill(&written.text)) {
            Ok(uri) => Some(uri),
            Err(fault) => {
                let message = format!("bad URI template: {fault}");
                self.error(codes::BAD_URI_TEMPLATE, written.span, message);
                None
            }
        }
    }

    fn verb(&mut self, verb: &ast::Verb) -> Option<Verb> {
        let uri = self.uri(&verb.uri)?;
        let call = self.call_of(verb, uri.text());
        let source = self.remote_source(verb, &uri);
        let alias = |name: &str| {
            let pair = verb.aliases.iter().find(|alias| alias.name.text == name);
            pair.map_or_else(|| Text::from(name), |pair| literal_text(&pair.value))
        };
        let (limit_name, offset_name) = (alias("limit"), alias("offset"));
        let body = verb.body.as_ref().and_then(|body| self.body(body));
        let patch = self.optional_module(verb.patch.as_ref(), codes::MISSING_PATCH);
        let auth = self.optional_module(verb.auth.as_ref(), codes::MISSING_AUTH_MODULE);
        let transformer =
            self.optional_module(verb.transformer.as_ref(), codes::MISSING_TRANSFORMER);
        let written = |name: Option<&ast::RawText>| name.map(|name| Text::from(name.text.as_str()));
        let patch_text = patch.as_ref().map(ScriptFile::text).unwrap_or_default();
        let parameters = Parameters::of(
            verb,
            &uri,
            body.as_ref(),
            &patch_text,
            call.as_ref(),
            self.connector.is_some(),
        );
        let takes_limit = parameters.takes(&limit_name, "limit");
        let takes_offset = parameters.takes(&offset_name, "offset");
        let missing_settings = self.missing_settings(verb, &uri, body.as_ref());
        let columns = self.columns(&verb.columns, &parameters);
        let paging = self.paging(&parameters);
        let (grpc, format, request_format) = match call {
            Some(Call { grpc, answer, request }) => (Some(grpc), answer, request),
            None => (
                None,
                verb.format.as_ref().and_then(|clause| self.format(clause)),
                verb.request_format.as_ref().and_then(|clause| self.format(clause)),
            ),
        };
        let result = Verb {
            kind: verb.kind,
            method: verb.method.text.clone(),
            connector: self.connector.clone(),
            remote: None,
            expects: connector::expects(&verb.expect),
            written: written_templates(verb),
            headers: self.headers(&verb.headers),
            headers_from_settings: headers_from_settings(
                &verb.headers,
                &verb.defaults,
                auth.is_some(),
            ),
            defaults: self.defaults(&verb.defaults),
            takes_limit,
            takes_offset,
            columns,
            paging,
            uri,
            limit_name,
            offset_name,
            patch_name: written(verb.patch.as_ref()),
            auth_name: written(verb.auth.as_ref()),
            patch,
            body,
            auth,
            resultset: self.resultset(verb.resultset.as_ref()),
            expires_seconds: verb.expires.map(|count| count.value),
            format,
            request_format,
            grpc,
            xml_coerce: verb.xml_coerce.as_ref().and_then(|mode| self.coerce(mode)),
            xml_arrays: verb.xml_arrays.iter().map(|path| path.text.clone()).collect(),
            transformer,
            is_retry_off: verb.is_retry_off,
            passed_statuses: self.passed_statuses(&verb.passed_statuses),
            oauth2: verb.oauth2.as_ref().and_then(|clause| self.oauth2(clause)),
            missing_settings,
            line: self.declaration.lines.line(verb.span.start),
        };
        Some(remote::with_source(result, source))
    }

    /// Warns of the settings without a value that the request names, and answers them. Templates of
    /// other bodies than forms may ask whether a setting is there, and are left alone.
    fn missing_settings(
        &mut self,
        verb: &ast::Verb,
        uri: &UriTemplate,
        body: Option<&Body>,
    ) -> Vec<NeededSetting> {
        let config = self.declaration.config;
        let in_value = |pair: &ast::NameValue| {
            MissingSetting::all_in(&Template::from_text(literal_text(&pair.value)), config)
        };
        let mut found = vec![(MissingSetting::all_in_uri(uri, config), verb.uri.span, None)];
        found.extend(verb.headers.iter().map(|pair| (in_value(pair), pair.value.span, None)));
        found.extend(
            verb.defaults
                .iter()
                .map(|pair| (in_value(pair), pair.value.span, Some(pair.name.text.as_str()))),
        );
        let form = body.and_then(|body| body.form.as_ref()?.as_ref().ok());
        if let (Some(form), Some(clause)) = (form, &verb.body) {
            found.push((MissingSetting::all_in_uri(form, config), clause.template.span, None));
        }
        let mut needed = Vec::new();
        for (missing, span, default) in found {
            for setting in missing {
                self.problems.push(setting.warning(span));
                needed.push(NeededSetting {
                    name: format!("{ROOT}.{}", setting.path).into(),
                    default: default.map(Text::from),
                });
            }
        }
        needed
    }

    /// The gRPC method of a verb that calls one.
    fn call_of(&mut self, verb: &ast::Verb, uri: &str) -> Option<Call> {
        if verb.method.text != "grpc" || verb.is_do {
            return None;
        }
        #[cfg(feature = "protobuf")]
        let call = self.grpc(verb, uri);
        #[cfg(not(feature = "protobuf"))]
        let call = {
            // Without schemas methods are taken as they are.
            let _ = uri;
            None
        };
        let grpc = Grpc { is_streaming: false };
        Some(call.unwrap_or(Call { grpc, request: None, answer: None }))
    }

    fn headers(&self, pairs: &[ast::NameValue]) -> Vec<(String, Template)> {
        let header = |pair: &ast::NameValue| {
            (pair.name.text.clone(), self.template(&literal_text(&pair.value)))
        };
        pairs.iter().map(header).collect()
    }

    fn defaults(&self, pairs: &[ast::NameValue]) -> Vec<(Text, DefaultValue)> {
        let default = |pair: &ast::NameValue| {
            let value = match &pair.value.kind {
                ast::OperandKind::Text(text) => {
                    let template = self.template(text);
                    if template.is_literal() {
                        DefaultValue::Constant(Value::from(template.text()))
                    } else {
                        DefaultValue::Template(template)
                    }
                }
                _ => DefaultValue::Constant(literal_value(&pair.value)),
            };
            (Text::from(pair.name.text.as_str()), value)
        };
        pairs.iter().map(default).collect()
    }

    fn body(&mut self, body: &ast::BodyTemplate) -> Option<Body> {
        let file = &self.declaration.file;
        match self.declaration.resources.template(file, &body.template.text) {
            Ok(content) => Some(Body {
                template: body.template.text.clone(),
                form: is_form_template(&body.media_type.text, &content)
                    .then(|| UriTemplate::parse_form(&content)),
                content: content.into(),
                media_type: body.media_type.text.clone(),
                foreach: body.foreach.as_ref().map(|name| Text::from(name.text.as_str())),
            }),
            Err(reason) => {
                let message =
                    format!("cannot read body template `{}`: {reason}", body.template.text);
                self.error(codes::MISSING_BODY_TEMPLATE, body.template.span, message);
                None
            }
        }
    }

    fn optional_module(&mut self, name: Option<&ast::RawText>, code: Code) -> Option<ScriptFile> {
        name.and_then(|name| self.module(name, code))
    }

    fn module(&mut self, name: &ast::RawText, code: Code) -> Option<ScriptFile> {
        match self.declaration.resources.module(self.declaration.file, &name.text) {
            Ok(found) => Some(found),
            Err(reason) => {
                self.error(
                    code,
                    name.span,
                    format!("cannot load module `{}`: {reason}", name.text),
                );
                None
            }
        }
    }

    /// The steps of a resultset path; an empty step finds nothing, as it is the name of no member.
    fn resultset(&mut self, resultset: Option<&ast::RawText>) -> Vec<Text> {
        let Some(written) = resultset.filter(|written| !written.text.is_empty()) else {
            return Vec::new();
        };
        let steps: Vec<Text> = written.text.split('.').map(Text::from).collect();
        if steps.iter().any(|step| step.trim().is_empty()) {
            let message = format!("resultset `{}` has an empty step", written.text);
            let problem = Diagnostic::warning(codes::BAD_RESULTSET, written.span, message)
                .hint("write names joined by single dots, such as `page.items`");
            self.problems.push(problem);
        }
        steps
    }

    /// Table files are not checked by `syntax`, so what is no failure is refused here, too.
    fn passed_statuses(&mut self, written: &[ast::Count]) -> Vec<u16> {
        let mut passed = Vec::with_capacity(written.len());
        for count in written {
            if let Some(status) = PASSED.read(&count.value.to_string()) {
                passed.push(status);
            } else {
                let message = format!("`pass status` {PASSED}, not `{}`", count.value);
                self.error(codes::BAD_STATUS, count.span, message);
            }
        }
        passed
    }

    fn coerce(&mut self, mode: &ast::RawText) -> Option<Coerce> {
        match mode.text.as_str() {
            "safe" => Some(Coerce::Safe),
            "original" => Some(Coerce::Original),
            "none" => Some(Coerce::None),
            other => {
                let message = format!("unknown XML coercion `{other}`");
                let problem = Diagnostic::error(codes::UNKNOWN_FORMAT, mode.span, message)
                    .hint("use `safe`, `original` or `none`");
                self.problems.push(problem);
                None
            }
        }
    }

    fn format(&mut self, clause: &ast::FormatClause) -> Option<Format> {
        let kind = match clause.format.text.as_str() {
            "json" => FormatKind::Json,
            "xml" => FormatKind::Xml,
            "csv" => FormatKind::Csv,
            "text" => FormatKind::Text,
            "protobuf" => FormatKind::Protobuf,
            "msgpack" => FormatKind::MessagePack,
            "cbor" => FormatKind::Cbor,
            other => {
                let message = format!("unknown format `{other}`");
                let problem = Diagnostic::error(codes::UNKNOWN_FORMAT, clause.format.span, message)
                    .hint("use `json`, `xml`, `csv`, `text`, `protobuf`, `msgpack` or `cbor`");
                self.problems.push(problem);
                return None;
            }
        };
        let root = option(&clause.options, "root").map(|text| Text::from(text.text.as_str()));
        #[cfg(feature = "protobuf")]
        let protobuf = match kind {
            FormatKind::Protobuf => Some(Arc::new(self.protobuf(clause)?)),
            _ => None,
        };
        Some(Format {
            kind,
            root,
            #[cfg(feature = "protobuf")]
            protobuf,
        })
    }

    fn oauth2(&mut self, clause: &ast::Oauth2Clause) -> Option<Oauth2> {
        let (client, secret) =
            (self.credential(clause, "client"), self.credential(clause, "secret"));
        let (token_uri, scope) =
            (self.credential(clause, "token"), self.credential(clause, "scope"));
        let (Some(client), Some(secret), Some(token_uri)) = (client, secret, token_uri) else {
            let message = "`using oauth2` needs `client`, `secret` and `token`".to_owned();
            self.error(codes::UNKNOWN_FORMAT, clause.span, message);
            return None;
        };
        Some(Oauth2 { client, secret, token_uri, scope })
    }

    /// Only settings fill credentials: whatever comes with a request must not steer where a secret
    /// is sent.
    fn credential(&mut self, clause: &ast::Oauth2Clause, name: &str) -> Option<String> {
        let written = option(&clause.options, name)?;
        let filled = self.fill(&written.text);
        if let Some(rest) = filled.split_once("{config.").map(|(_, rest)| rest) {
            let setting = rest.split('}').next().unwrap_or_default();
            let message = format!("`{name}` of `using oauth2` needs the setting `{setting}`");
            self.error(codes::UNKNOWN_SETTING, written.span, message);
        }
        Some(filled)
    }
}

fn written_templates(verb: &ast::Verb) -> Written {
    let headers = verb.headers.iter();
    let defaults = verb.defaults.iter();
    Written {
        uri: shown_template(&verb.uri.text),
        headers: headers
            .map(|pair| {
                let name = &pair.name.text;
                (name.clone(), shown_header(name, literal_text(&pair.value)))
            })
            .collect(),
        defaults: defaults
            .map(|pair| {
                let name = &pair.name.text;
                (name.clone(), shown_value(name, literal_value(&pair.value)))
            })
            .collect(),
    }
}

fn option<'a>(options: &'a [ast::FormatOption], name: &str) -> Option<&'a ast::RawText> {
    options.iter().find(|option| option.name.text == name).map(|option| &option.value)
}

/// The right side of `name = value` as text; a bareword is its own text.
pub(crate) fn literal_text(operand: &ast::Operand) -> Text {
    match literal_value(operand) {
        Value::String(text) => text,
        Value::Null => "null".into(),
        other => other.scalar_text().unwrap_or_default(),
    }
}

/// The right side of `name = value` with its type; a bareword is its own text.
pub(crate) fn literal_value(operand: &ast::Operand) -> Value {
    match &operand.kind {
        ast::OperandKind::Text(text) => Value::from(text.as_str()),
        ast::OperandKind::Number(text) => Value::Number(number(text)),
        ast::OperandKind::Bool(value) => Value::Bool(*value),
        ast::OperandKind::Null => Value::Null,
        ast::OperandKind::Path(path) => Value::from(crate::lower::path_text(path)),
        // Only expressions over rows have tokens without quotes.
        ast::OperandKind::Token(text) => Value::from(format!("{{{text}}}")),
    }
}

/// A literal number: exact if it is whole and fits 64 bits, else as written if even a float would
/// lose digits, else a float.
pub(crate) fn number(text: &str) -> Number {
    if let Ok(whole) = text.parse::<i64>() {
        return Number::Int(whole);
    }
    match text.parse::<f64>() {
        Ok(value)
            if value.is_finite()
                && !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') =>
        {
            Number::Float(value)
        }
        _ => Number::Source(text.into()),
    }
}
