//! The events of one run, as the tree of LOG-4:
//!
//! ```text
//! start-exec ─ engine ─┬─ select ─ select-exec ─ table ─┬─ http-request
//!                      │                                └─ processingEvent
//!                      ├─ insert, update ─ http-request
//!                      └─ delete ─ delete ─ table ─ http-request
//! ```
//!
//! In: what the engine tells of a run. Out: a begin and an end of each event, the inner ones first, whatever
//! becomes of the run.

use std::{cell::RefCell, collections::BTreeMap, mem};

use qlio_data::{Object, Value};
use qlio_engine::{
    RunError,
    event::{AnswerEvent, Event, RequestEvent, Subscription},
};

use super::{
    super::run_error,
    LogFile, TYPE, object,
    request::{Open, RequestLog},
    status,
};

/// A run under way; it has failed if it is dropped before its end.
pub(in crate::http) struct RunLog<'r> {
    request: &'r RequestLog,
    engine_id: u16,
    /// `start-exec` and `engine`, until the end.
    outer: RefCell<Vec<Open>>,
    statements: RefCell<BTreeMap<u32, Statement>>,
    asked: RefCell<BTreeMap<String, Asked>>,
}

/// A statement that asks an API.
struct Statement {
    verb: &'static str,
    line: Option<u32>,
    /// The statement itself, and what is between it and its requests.
    events: Vec<Open>,
    /// What its answers go through.
    processing: Vec<Open>,
}

/// A request to an upstream without its answer.
struct Asked {
    statement: Option<u32>,
    event: Open,
    parent_id: u16,
    body_bytes: usize,
}

impl<'r> RunLog<'r> {
    /// A run begins. `what` is the member `route` or `script` with its text.
    pub(in crate::http) fn begin(request: &'r RequestLog, what: (&'static str, &str)) -> Self {
        let root_id = request.root_id();
        let open = |parent_id, name: &str, message| {
            request.open(LogFile::Main, parent_id, TYPE, name.to_owned(), message)
        };
        let start = open(root_id, "start-exec", Value::from("none"));
        let engine = open(start.id, "engine", object([(what.0, Value::from(what.1))]));
        Self {
            request,
            engine_id: engine.id,
            outer: RefCell::new(vec![start, engine]),
            statements: RefCell::default(),
            asked: RefCell::default(),
        }
    }

    /// What a run must tell for its log.
    pub(in crate::http) fn subscription() -> Subscription {
        Subscription::all()
    }

    /// Takes an event of the engine.
    pub(in crate::http) fn take(&self, event: &Event<'_>) {
        match event {
            Event::Started { place, verb } if !verb.is_empty() => {
                let (line, statement) = (place.line, place.statement);
                let event = self.open(LogFile::Main, self.engine_id, TYPE, verb, at_line(line, []));
                let (events, processing) = (vec![event], Vec::new());
                let begun = Statement { verb, line, events, processing };
                self.statements.borrow_mut().insert(statement, begun);
            }
            Event::Ended { place, is_success, .. } => {
                self.end_statement(place.statement, *is_success);
            }
            Event::Request(request) => self.ask(request),
            Event::Answer(answer) => self.answer(answer),
            Event::Warned { place, message, cause } => {
                let text = cause.map(|cause| format!("{message}: {cause}"));
                let text = text.as_deref().unwrap_or(message);
                let line = place.and_then(|place| place.line);
                let message = at_line(line, [("message", Value::from(text))]);
                self.request.tell(LogFile::Error, "warn", self.engine_id, message);
            }
            // An exchange without an answer is given up with its statement.
            Event::Started { .. }
            | Event::Skipped { .. }
            | Event::RequestFailed(_)
            | Event::Assigned { .. }
            | Event::Paused { .. } => {}
        }
    }

    /// The run is over.
    pub(in crate::http) fn end(self, outcome: Result<(), &RunError>) {
        if let Err(error) = outcome {
            self.request.tell(LogFile::Error, "error", self.engine_id, run_error::body(error));
        }
        self.end_all(outcome.is_ok());
    }

    fn open(
        &self,
        file: LogFile,
        parent_id: u16,
        kind: &'static str,
        name: &str,
        message: Value,
    ) -> Open {
        self.request.open(file, parent_id, kind, name.to_owned(), message)
    }

    fn ask(&self, request: &RequestEvent<'_>) {
        let mut statements = self.statements.borrow_mut();
        let number = request.place.map(|place| place.statement);
        let statement = number.and_then(|number| statements.get_mut(&number));
        let parent_id =
            statement.map_or(self.engine_id, |statement| self.below(statement, request.table));
        let headers = request.headers.iter();
        let headers: Object =
            headers.map(|(name, value)| (name.as_str(), Value::from(value.as_str()))).collect();
        let message = at_line(
            request.place.and_then(|place| place.line),
            [
                ("method", Value::from(request.method)),
                ("uri", Value::from(request.uri)),
                ("headers", Value::object(headers)),
            ],
        );
        let event = self.open(LogFile::Proxy, parent_id, TYPE, "http-request", message);
        let body_bytes = request.body.map_or(0, str::len);
        let asked = Asked { statement: number, event, parent_id, body_bytes };
        self.asked.borrow_mut().insert(request.id.to_owned(), asked);
    }

    /// The event that requests of a statement to a table are below.
    fn below(&self, statement: &mut Statement, table: &str) -> u16 {
        let Statement { verb, line, events, .. } = statement;
        let between = match *verb {
            "select" => "select-exec",
            "delete" => "delete",
            _ => return events.first().map_or(self.engine_id, |event| event.id),
        };
        if let Some(known) = events.iter().skip(2).find(|event| event.name == table) {
            return known.id;
        }
        if events.len() < 2 {
            let above = events.first().map_or(self.engine_id, |event| event.id);
            events.push(self.open(LogFile::Main, above, TYPE, between, at_line(*line, [])));
        }
        let above = events.get(1).map_or(self.engine_id, |event| event.id);
        let event = self.open(LogFile::Main, above, "table", table, at_line(*line, []));
        let id = event.id;
        events.push(event);
        id
    }

    fn answer(&self, answer: &AnswerEvent<'_>) {
        // What the cache has answered was not asked for.
        let Some(asked) = self.asked.borrow_mut().remove(answer.id) else { return };
        let headers = answer.headers.iter();
        let headers: Object =
            headers.map(|(name, value)| (name.as_str(), Value::from(value.as_str()))).collect();
        let message =
            object([("status", Value::from(answer.status)), ("headers", Value::object(headers))]);
        self.request.close(asked.event, message);
        let processing =
            self.open(LogFile::Main, asked.parent_id, TYPE, "processingEvent", object([]));
        let sizes = object([
            ("reqSize", Value::from(asked.body_bytes as u64)),
            ("resSize", Value::from(answer.wire_bytes as u64)),
        ]);
        self.request.tell(LogFile::Main, "info", processing.id, sizes);
        let mut statements = self.statements.borrow_mut();
        match asked.statement.and_then(|number| statements.get_mut(&number)) {
            Some(statement) => statement.processing.push(processing),
            None => self.request.close(processing, status(true)),
        }
    }

    fn end_statement(&self, number: u32, is_success: bool) {
        let (unanswered, others) = mem::take(&mut *self.asked.borrow_mut())
            .into_iter()
            .partition(|(_, asked)| asked.statement == Some(number));
        *self.asked.borrow_mut() = others;
        self.give_up(unanswered);
        let Some(statement) = self.statements.borrow_mut().remove(&number) else { return };
        for event in statement.processing.into_iter().chain(statement.events.into_iter().rev()) {
            self.request.close(event, status(is_success));
        }
    }

    fn give_up(&self, unanswered: BTreeMap<String, Asked>) {
        for asked in unanswered.into_values() {
            self.request.close(asked.event, status(false));
        }
    }

    fn end_all(&self, is_success: bool) {
        let open: Vec<u32> = self.statements.borrow().keys().copied().collect();
        for number in open {
            self.end_statement(number, false);
        }
        let unanswered = mem::take(&mut *self.asked.borrow_mut());
        self.give_up(unanswered);
        for event in mem::take(&mut *self.outer.borrow_mut()).into_iter().rev() {
            self.request.close(event, status(is_success));
        }
    }
}

impl Drop for RunLog<'_> {
    fn drop(&mut self) {
        self.end_all(false);
    }
}

fn at_line<const N: usize>(line: Option<u32>, members: [(&'static str, Value); N]) -> Value {
    let line = line.map(|line| ("line", Value::from(line)));
    Value::object(line.into_iter().chain(members).collect())
}
