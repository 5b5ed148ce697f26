//! Statements on tables of connectors out of process (PRO-6 and on).
//!
//! ```text
//! own values ─ tests, parameters, columns, limit ─▶ [exchange] ─▶ page ─ next ─▶ … ─▶ rows
//! ```
//!
//! Each page is an exchange like all others: the same pool, back-off, deadline, budget and trace. What a connector
//! sends is bounded by the limits of answers, and how often it goes on by those of pages.

use std::{fmt::Display, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Method, header};
use qlio_data::{Object, Text, Value, codec::json, params};
use qlio_plan::catalog::{PROTOCOL, Remote, RemoteSource, test_parameter};
use qlio_syntax::{ast::VerbKind, diagnostic::codes, spelling};

use super::{Call, answer::Answer, body::Payload, failure, onlooker::Onlooker};
use crate::{
    connectors::{ACCEPT, RemoteError, RemotePage, RemotePath},
    error::{Fact, RunError},
    heavy::JSON_TREE_AT_ONCE_BYTES_MAX,
    own::Own,
    transport::{self, as_text},
};

/// One statement, as its connector is asked.
struct Asked<'c, 'a> {
    call: &'c Call<'a>,
    remote: &'c Remote,
    /// How messages call the connector.
    name: &'c str,
    members: Object,
    headers: HeaderMap,
}

impl Call<'_> {
    /// What a connector out of process answers.
    ///
    /// # Errors
    /// Parameters that it does not know or that are missing; whatever it or an exchange with it fails with.
    pub(super) async fn ask_remote(
        &self,
        name: &str,
        remote: &Remote,
        own: &Own,
        payload: &Payload,
    ) -> Result<Value, RunError> {
        let source = self.verb.remote.as_deref();
        let source = source.ok_or_else(|| RunError::internal("a connector without source"))?;
        self.params(own, None).require_settings(true)?;
        let members = self.remote_members(source, own, payload)?;
        let mut headers = self.headers(own, None)?;
        let own = remote.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in own.chain([("accept", ACCEPT), ("content-type", "application/json")]) {
            let (name, mut value) = transport::header(name, value)
                .map_err(|error| failure::transport_failed(&error))?;
            value.set_sensitive(transport::is_credential_name(name.as_str()));
            headers.insert(name, value);
        }
        self.seal(&mut headers);
        let mut asked = Asked { call: self, remote, name, members, headers };
        asked.pages().await
    }

    /// What the connector is told of the statement, but for pages.
    fn remote_members(
        &self,
        source: &RemoteSource,
        own: &Own,
        payload: &Payload,
    ) -> Result<Object, RunError> {
        let params = self.params(own, None);
        let mut tests: Vec<Value> = Vec::new();
        let mut parameters = Object::new();
        let mut values = Object::new();
        for (name, value) in own {
            if value.is_absent() {
                continue;
            }
            if matches!(self.kind, VerbKind::Insert | VerbKind::Update) {
                values.insert(name.clone(), value.clone());
            } else if let Some((test, is_handed_on)) = test_of(source, name, value) {
                if is_handed_on && !tests.iter().any(|known| is_same_test(known, &test)) {
                    tests.push(test);
                }
            } else if source.parameters.contains_key(&**name) || source.takes_any {
                parameters.insert(name.clone(), value.clone());
            } else {
                return Err(self.unknown_argument(source, name));
            }
        }
        for (name, parameter) in &source.parameters {
            if parameters.get(name).is_none() && values.get(name).is_none() {
                let value = params::lookup(&params, name);
                if value.is_nothing() && parameter.is_required {
                    return Err(self.missing_argument(name));
                }
                if !value.is_absent() {
                    parameters.insert(name.as_str(), value);
                }
            }
        }
        let mut arguments = Vec::with_capacity(self.verb.expects.len());
        for argument in &self.verb.expects {
            let value = params::lookup(&params, &argument.name);
            if argument.is_required && value.is_nothing() {
                return Err(self.missing_argument(&argument.name));
            }
            arguments.push(if value.is_absent() { Value::Null } else { value });
        }
        let written = match payload {
            Payload::Template if values.is_empty() => Value::Absent,
            Payload::Template => Value::object(values),
            Payload::Client => self.run.request.body.clone(),
            Payload::Opaque(value) | Payload::Object(value) => value.clone(),
        };
        let columns = self.plain_columns.as_ref().filter(|_| source.takes_columns);
        let columns = columns
            .map_or(Value::Absent, |names| names.iter().map(|name| Value::from(*name)).collect());
        let (limit, offset) = self.remote_bounds(source);
        let count = |count: Option<u64>| count.map_or(Value::Absent, Value::from);
        let members = [
            ("protocol", Value::from(PROTOCOL)),
            ("table", Value::from(self.table.name.clone())),
            ("kind", Value::from(self.kind.as_str())),
            ("verb", Value::from(self.verb.method.as_str())),
            ("at", Value::from(self.verb.uri.text())),
            ("parameters", Value::object(parameters)),
            ("arguments", Value::array(arguments)),
            ("tests", Value::array(tests)),
            ("columns", columns),
            ("limit", count(limit)),
            ("offset", count(offset)),
            ("values", written),
        ];
        Ok(members.into_iter().filter(|(_, value)| !value.is_absent()).collect())
    }

    /// How many rows are asked for, and how many are left out before them. What a connector does not leave out
    /// itself is asked for, too.
    fn remote_bounds(&self, source: &RemoteSource) -> (Option<u64>, Option<u64>) {
        let (limit, offset) = (self.limit, self.offset);
        if self.verb.takes_offset {
            return (limit, offset);
        }
        let limit = limit.map(|limit| limit.saturating_add(offset.unwrap_or(0)));
        (limit.filter(|_| source.takes_limit), None)
    }

    fn unknown_argument(&self, source: &RemoteSource, name: &str) -> RunError {
        let columns = source.columns.iter().filter(|column| !column.tests.is_empty());
        let columns = columns.map(|column| &*column.name);
        let known = source.parameters.keys().map(String::as_str).chain(columns);
        let meant = spelling::closest(name, known)
            .map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
        let message = format!(
            "table {} has no parameter `{name}`, and its connector tests no column of this name{meant}",
            self.table.name
        );
        RunError::client(codes::UNKNOWN_ARGUMENT, message)
    }

    fn missing_argument(&self, name: &str) -> RunError {
        let message = format!(
            "the connector of table {} needs `{name}`; say `where {name} = …`, or give the table a default for it",
            self.table.name
        );
        RunError::client(codes::MISSING_ARGUMENT, message)
    }
}

/// The test that a parameter stands for, if it stands for one, and whether its connector can make it of this value:
/// what it cannot is tested here.
fn test_of(source: &RemoteSource, name: &str, value: &Value) -> Option<(Value, bool)> {
    let (column, test) = source.columns.iter().find_map(|column| {
        let mut tests = column.tests.iter();
        let test = tests.find(|test| *test_parameter(&column.name, **test) == *name)?;
        Some((column, *test))
    })?;
    let (symbol, is_fit) = match value.elements() {
        Some(elements) => ("in", elements.iter().all(|element| column.kind.fits(element))),
        None => (test.symbol(), column.kind.fits(value)),
    };
    let members = [
        ("column", Value::from(column.name.clone())),
        ("test", Value::from(symbol)),
        ("value", value.clone()),
    ];
    Some((Value::object(members.into_iter().collect::<Object>()), is_fit))
}

fn is_same_test(one: &Value, other: &Value) -> bool {
    let text = |value: &Value, name: &str| value.member(name).scalar_text();
    ["column", "test"].into_iter().all(|name| text(one, name) == text(other, name))
}

impl Asked<'_, '_> {
    /// All pages, or as many as the limit needs.
    async fn pages(&mut self) -> Result<Value, RunError> {
        let call = self.call;
        let pages_max = call.run.engine.settings().pages_max;
        let skipped = call.offset.filter(|_| !call.verb.takes_offset).unwrap_or(0);
        let wanted = call.limit.map(|limit| limit.saturating_add(skipped));
        let mut rows: Vec<Value> = Vec::new();
        let mut page_before: Option<Text> = None;
        for number in 1.. {
            if number > 1 {
                call.count_requests(1)?;
            }
            let page = self.page().await?;
            if let Some(value) = page.value {
                return Ok(value);
            }
            rows.extend(page.rows);
            let is_enough = wanted.is_some_and(|wanted| rows.len() as u64 >= wanted);
            let Some(next) = page.next.filter(|_| !is_enough) else { break };
            if page_before.as_ref() == Some(&next) {
                let message = format!(
                    "connector {}: a page leads to the one that was there before",
                    self.name
                );
                return Err(RunError::upstream(codes::REPEATED_PAGE, message));
            }
            if number >= pages_max {
                let message = format!(
                    "connector {} has more pages of table {} than maxPages = {pages_max}; say `limit`, ask \
                     for less, or raise the setting",
                    self.name, call.table.name
                );
                let error = RunError::client(codes::TOO_MANY_PAGES, message);
                return Err(error.with(Fact::Limit(pages_max)));
            }
            self.members.insert("page", Value::from(next.clone()));
            page_before = Some(next);
        }
        Ok(Value::array(rows))
    }

    async fn page(&self) -> Result<RemotePage, RunError> {
        let call = self.call;
        let mut members = self.members.clone();
        let left = call.deadline.at.saturating_duration_since(tokio::time::Instant::now());
        members.insert("deadlineMs", Value::from(milliseconds(left)));
        let body = Bytes::from(json::to_string(&Value::object(members)));
        let uri = RemotePath::Execute.at(&self.remote.address);
        let mut exchange =
            call.exchange_of(Method::POST, uri.clone(), self.headers.clone().into(), body);
        exchange.follows_redirects = false;
        exchange.socket.clone_from(&self.remote.address.socket);
        call.run.number_call(&mut exchange, call.table);
        let announced = call.announce(&exchange);
        let mut onlooker = Onlooker::new(call, announced);
        let reply = call.exchanged(&mut exchange, &mut onlooker).await;
        let reply = reply.map_err(|error| self.named(error))?;
        call.charge_reply(&reply)?;
        let answer = Answer::received(&reply, &uri);
        call.announce_answer(onlooker.announced.as_deref(), &answer);
        let media_type = reply.headers.get(header::CONTENT_TYPE).and_then(as_text);
        let media_type = media_type.unwrap_or_default().to_owned();
        let (status, body, mut limits) = (reply.status, reply.body, call.limits());
        let page = if body.len() > JSON_TREE_AT_ONCE_BYTES_MAX {
            let read = move |wanted: &crate::heavy::Wanted| {
                limits.stop = wanted.stop();
                RemotePage::read(status, &media_type, &body, &limits)
            };
            let done = call.run.engine.heavy().run(read).await?;
            call.run.budget.charge_time(done.time)?;
            done.value
        } else {
            call.run.budget.work_of_decoding(body.len());
            RemotePage::read(status, &media_type, &body, &limits)
        };
        call.run.budget.pause().await?;
        let mut page = page.map_err(|reason| self.nonsense(reason))?;
        match page.error.take() {
            Some(error) => Err(self.refused(&error)),
            None => Ok(page),
        }
    }

    /// An error of an exchange, which says whose.
    fn named(&self, mut error: RunError) -> RunError {
        error.message = format!("connector {}: {}", self.name, error.message);
        error
    }

    fn nonsense(&self, reason: impl Display) -> RunError {
        let message = format!("connector {}: {reason}", self.name);
        RunError::upstream(codes::CONNECTOR_ANSWER, message)
    }

    /// What the connector says of the statement.
    fn refused(&self, error: &RemoteError) -> RunError {
        let at = self.call.verb.uri.text();
        let place = error
            .position
            .map_or_else(String::new, |position| format!(" (at character {position} of `{at}`)"));
        let message = format!("connector {} failed: {}{place}", self.name, error.message);
        let failed = RunError::upstream(codes::CONNECTOR_FAILED, message);
        match error.status {
            Some(status) if self.call.verb.passes(status) => {
                failed.with(Fact::PassedStatus(status))
            }
            _ => failed,
        }
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
