//! What a shell does with its inputs, one after the other.

use std::{
    future::pending,
    path::Path,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use qlio_data::{
    Object, Text, Value,
    codec::json,
    redact::{redact, replaced},
};
use qlio_engine::{ClientRequest, Engine, RunError};
use qlio_plan::{
    Catalog, CompileOptions, Origin, Plan,
    catalog::describe::describe_table,
    compile,
    explain::{explain, to_text},
};
use qlio_syntax::diagnostic::Diagnostic;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    task::yield_now,
};

use super::{
    Inputs,
    input::{self, Command, Input},
};
use crate::{
    app_folder::AppFolder,
    cli::{
        output::{Output, TableSize, escaped},
        progress, report,
    },
    http::run_error,
    load::{self, FilesBeside},
};

/// The most rows of a table on a terminal, unless `.rows` says otherwise.
const ROWS_SHOWN: usize = 1000;

/// Of what else is known of a failure, the most characters that are shown.
const FACTS_SHOWN_CHARS_MAX: usize = 2000;

/// What inputs say of those behind them.
pub(super) struct Ways {
    output: Output,
    /// Results go to a terminal.
    is_shown: bool,
    rows_max: usize,
    tells_time: bool,
    /// The last script.
    last: String,
}

impl Ways {
    pub(super) fn new(output: Option<Output>, is_shown: bool) -> Self {
        let usual = if is_shown { Output::Table } else { Output::Json };
        let rows_max = if is_shown { ROWS_SHOWN } else { usize::MAX };
        let output = output.unwrap_or(usual);
        Self { output, is_shown, rows_max, tells_time: false, last: String::new() }
    }
}

/// Why a session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leave {
    /// There are no more inputs.
    Done,
    /// One has failed, and nobody is there to see it.
    Failed,
    /// The app is to be loaded anew.
    Reload,
}

/// How an input ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Succeeded,
    /// It has failed, which has been told.
    Failed,
    Leaves(Leave),
}

/// Inputs on one loaded app.
pub(super) struct Session<'s> {
    app: &'s AppFolder,
    catalog: &'s Arc<Catalog>,
    engine: Rc<Engine>,
    ways: &'s mut Ways,
    is_typed: bool,
}

impl<'s> Session<'s> {
    pub(super) fn new(
        app: &'s AppFolder,
        catalog: &'s Arc<Catalog>,
        engine: Rc<Engine>,
        ways: &'s mut Ways,
        is_typed: bool,
    ) -> Self {
        Self { app, catalog, engine, ways, is_typed }
    }

    /// Does what inputs say, to their end.
    pub(super) async fn serve(mut self, inputs: &mut Inputs) -> Leave {
        let mut interrupts = Interrupts::new(self.is_typed);
        loop {
            let (text, place) = match inputs.next().await {
                Ok(Some(input)) => input,
                Ok(None) => return Leave::Done,
                Err(error) => {
                    report::error(&format!("{error:#}"));
                    return Leave::Failed;
                }
            };
            interrupts.forget();
            match self.take(&text, &place, &mut interrupts).await {
                Outcome::Succeeded => {}
                Outcome::Failed if self.is_typed => {}
                Outcome::Failed => return Leave::Failed,
                Outcome::Leaves(leave) => return leave,
            }
        }
    }

    async fn take(&mut self, text: &str, place: &str, interrupts: &mut Interrupts) -> Outcome {
        match input::read(text) {
            Ok(Input::Nothing) => Outcome::Succeeded,
            Ok(Input::Script(script)) => {
                script.clone_into(&mut self.ways.last);
                self.run(script, place, interrupts).await
            }
            Ok(Input::Command(command)) => self.obey(command, place, interrupts).await,
            Err(error) => {
                report::error(&format!("{error:#}"));
                Outcome::Failed
            }
        }
    }

    async fn obey(
        &mut self,
        command: Command<'_>,
        place: &str,
        interrupts: &mut Interrupts,
    ) -> Outcome {
        match command {
            Command::Tables(part) => return self.print(&self.tables(part), "", interrupts).await,
            Command::Routes(part) => return self.print(&self.routes(part), "", interrupts).await,
            Command::Describe(name) => return self.describe(name, interrupts).await,
            Command::Plan(script) => {
                let last = self.ways.last.clone();
                let (script, place) =
                    if script.is_empty() { (&*last, "the last script") } else { (script, place) };
                let Some(plan) = self.compile(script, place) else { return Outcome::Failed };
                report::raw(&to_text(&explain(&plan), None));
            }
            Command::Output(Some(output)) => self.ways.output = output,
            Command::Output(None) => {
                let name = clap::ValueEnum::to_possible_value(&self.ways.output);
                report::note(name.as_ref().map_or("", clap::builder::PossibleValue::get_name));
            }
            Command::Rows(rows_max) => self.ways.rows_max = rows_max,
            Command::Time(is_on) => self.ways.tells_time = is_on,
            Command::Help => report::raw(&input::help()),
            Command::Reload => return Outcome::Leaves(Leave::Reload),
            Command::Quit => return Outcome::Leaves(Leave::Done),
        }
        Outcome::Succeeded
    }

    /// The tables whose names hold a text: name, verbs, the first line of what is said of them.
    fn tables(&self, part: &str) -> Value {
        let tables = self.catalog.tables().iter().filter(|table| table.name.contains(part));
        let row = |table: &Arc<qlio_plan::catalog::Table>| {
            let verbs: Vec<&str> = table.verbs().map(|verb| verb.kind.as_str()).collect();
            row([
                ("name", Value::from(table.name.clone())),
                ("verbs", Value::from(verbs.join(" "))),
                ("about", first_line(&table.docs)),
            ])
        };
        Value::array(tables.map(row).collect())
    }

    /// The routes whose paths hold a text.
    fn routes(&self, part: &str) -> Value {
        let routes = self.catalog.routes().iter().filter(|route| route.path.contains(part));
        let row = |route: &Arc<qlio_plan::catalog::Route>| {
            row([
                ("method", Value::from(route.method.to_uppercase())),
                ("path", Value::from(route.path.as_str())),
                ("about", first_line(&route.docs)),
            ])
        };
        Value::array(routes.map(row).collect())
    }

    /// For people as editors show it, for programs as the statement `describe` has it.
    async fn describe(&self, name: &str, interrupts: &mut Interrupts) -> Outcome {
        let Some(table) = self.catalog.table(name) else {
            let known = self.catalog.tables().iter().map(|table| &*table.name);
            let meant = qlio_syntax::spelling::closest(name, known);
            let advice = meant.map_or(".tables lists them".to_owned(), |meant| {
                format!("did you mean `{meant}`?")
            });
            report::error(&format!("there is no table `{name}`; {advice}"));
            return Outcome::Failed;
        };
        let secrets = self.catalog.secrets();
        if self.ways.output == Output::Table {
            let text = qlio_language::describe_table(table, self.catalog);
            let text = replaced(&Text::from(text.trim_end()), secrets);
            report::pieces(std::iter::once(format!("{text}\n")));
            return Outcome::Succeeded;
        }
        let told = redact(describe_table(self.catalog, table), secrets);
        self.print(&told, "", interrupts).await
    }

    fn compile(&self, script: &str, place: &str) -> Option<Plan> {
        let resources = FilesBeside::of_script(Path::new("."), place, script, &self.app.folders);
        let options = CompileOptions { origin: Origin::Stored, file: place, resources: &resources };
        match compile(script, self.catalog, &options) {
            Ok(compiled) => {
                report::diagnostics(&compiled.warnings, place, script);
                Some(compiled.plan)
            }
            Err(problems) => {
                report::diagnostics(&problems, place, script);
                None
            }
        }
    }

    async fn run(&self, script: &str, place: &str, interrupts: &mut Interrupts) -> Outcome {
        let Some(plan) = self.compile(script, place) else { return Outcome::Failed };
        let began = Instant::now();
        let request = ClientRequest::default();
        let ran = tokio::select! {
            ran = progress::run(&self.engine, &plan, self.catalog, &request, None) => Some(ran),
            () = interrupts.next() => None,
        };
        let elapsed = began.elapsed();
        let outcome = match ran {
            Some(Ok(answer)) => {
                for warning in &answer.warnings {
                    report::note(&format!("warning: {}", escaped(warning)));
                }
                self.print(&answer.value, script, interrupts).await
            }
            Some(Err(error)) => {
                self.tell_failure(&error, script, place);
                Outcome::Failed
            }
            None => {
                report::note("stopped");
                Outcome::Failed
            }
        };
        if self.ways.tells_time {
            report::note(&shown_time(elapsed));
        }
        outcome
    }

    /// Prints a value, as far as nobody says that it is enough.
    async fn print(&self, value: &Value, script: &str, interrupts: &mut Interrupts) -> Outcome {
        let rows_max = if self.ways.is_shown { self.ways.rows_max } else { usize::MAX };
        let size = TableSize { rows_max, width: report::terminal_width() };
        let pieces = match self.ways.output.pieces(value, script, size) {
            Ok(pieces) => pieces,
            Err(error) => {
                report::error(&format!("{error:#}"));
                return Outcome::Failed;
            }
        };
        let mut chunks = report::Chunks::new(pieces);
        while chunks.print_one() {
            tokio::select! {
                biased;
                () = interrupts.next() => {
                    report::note("stopped; this is not all");
                    return Outcome::Failed;
                }
                () = yield_now() => {}
            }
        }
        Outcome::Succeeded
    }

    /// Shows a failure at its line, and what else is known of it.
    fn tell_failure(&self, error: &RunError, script: &str, place: &str) {
        let secrets = self.catalog.secrets();
        let message = replaced(&Text::from(error.message.as_str()), secrets);
        let line = error.line.map(|line| load::span_at(script, line as usize, None));
        let problem = Diagnostic::error(error.code, line.unwrap_or_default(), &*escaped(&message));
        report::diagnostics(&[problem], place, script);
        let facts = redact(run_error::body(error), secrets);
        let told = ["message", "code", "line"];
        let facts: Object = match &*facts.open() {
            Value::Object(facts) => {
                let others = facts.iter().filter(|(name, _)| !told.contains(&&***name));
                others.map(|(name, value)| (name.clone(), value.clone())).collect()
            }
            _ => Object::new(),
        };
        if !facts.is_empty() {
            report::note(&escaped(&shortened(&json::to_string(&Value::object(facts)))));
        }
    }
}

fn row<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::object(members.into_iter().collect())
}

/// The first line of comments, as far as there is one.
fn first_line(docs: &[String]) -> Value {
    let line =
        docs.iter().flat_map(|text| text.lines()).map(str::trim).find(|line| !line.is_empty());
    line.map_or(Value::Absent, Value::from)
}

/// A text up to a bound, and how much is left out.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(FACTS_SHOWN_CHARS_MAX) {
        None => text.to_owned(),
        Some((at, _)) => {
            let more = text[at..].chars().count();
            format!("{}… ({more} more characters)", &text[..at])
        }
    }
}

/// `12 ms`, `3.4 s`.
fn shown_time(elapsed: Duration) -> String {
    if elapsed < Duration::from_secs(1) {
        format!("{} ms", elapsed.as_millis())
    } else {
        format!("{:.1} s", elapsed.as_secs_f64())
    }
}

/// The interrupts of a terminal; elsewhere they end the process as ever.
struct Interrupts(Option<Signal>);

impl Interrupts {
    fn new(is_typed: bool) -> Self {
        let signal = is_typed.then(|| signal(SignalKind::interrupt()));
        Self(signal.and_then(|signal| {
            signal
                .inspect_err(|reason| report::note(&format!("Ctrl-C stops no run: {reason}")))
                .ok()
        }))
    }

    /// Waits for the next one.
    async fn next(&mut self) {
        match &mut self.0 {
            Some(signal) => {
                signal.recv().await;
            }
            None => pending().await,
        }
    }

    /// Those of before meant something else.
    fn forget(&mut self) {
        while self.0.as_mut().is_some_and(|signal| signal.recv().now_or_never().is_some()) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        assert_eq!(shown_time(Duration::from_micros(12_900)), "12 ms");
        assert_eq!(shown_time(Duration::from_millis(3_400)), "3.4 s");
    }

    #[test]
    fn what_is_left_out_is_counted() {
        assert_eq!(shortened("short"), "short");
        let long = "é".repeat(FACTS_SHOWN_CHARS_MAX + 5);
        assert!(shortened(&long).ends_with("é… (5 more characters)"));
    }
}
