//! One test: mocks, set-up, run, assertions, tear-down (`docs/guide/testing.md`).

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    time::Duration,
};

use hyper::header::HeaderValue;
use tokio::task::JoinSet;

use super::{
    Action, App, Mock, Problem, RouteRequest, TestCase, Text,
    app::{Ran, Snapshot},
    assertion,
    collect::parse_json,
    difference::{difference, shorten},
    hooks::{Hooks, Servers},
    ports,
};
use crate::mock::{MockError, canned};

/// The mocks of a test that get a free port, because a text names them `{mock.<n>}`.
pub(super) fn find_automatic(case: &TestCase, app: &App) -> BTreeSet<u16> {
    let mut numbers: BTreeSet<u16> = app.find_numbers().collect();
    match &case.action {
        Action::Nothing => {}
        Action::Script(script) => numbers.extend(ports::find_numbers(&script.text)),
        Action::Route(request, _) => {
            numbers.extend(ports::find_numbers(&request.target));
            let headers = request.headers.values().filter_map(|value| value.to_str().ok());
            numbers.extend(headers.flat_map(ports::find_numbers));
        }
    }
    numbers.retain(|number| case.mocks.contains_key(number));
    numbers
}

/// Runs a test; what is wrong, nothing if it passed. When this is done, its ports are free again.
pub(super) async fn run(
    case: &TestCase,
    app: &App,
    servers: &Rc<Servers>,
    patience: Duration,
) -> Vec<Problem> {
    if !case.problems.is_empty() {
        return case.problems.clone();
    }
    let mut serving = JoinSet::new();
    let running = run_all(case, app, servers, &mut serving);
    let problems = tokio::time::timeout(patience, running).await;
    serving.shutdown().await;
    problems.unwrap_or_else(|_| {
        vec![Problem::new(format!("the test took longer than {} s", patience.as_secs_f64()))]
    })
}

async fn run_all(
    case: &TestCase,
    app: &App,
    servers: &Rc<Servers>,
    serving: &mut JoinSet<()>,
) -> Vec<Problem> {
    let ports = match start_mocks(case, app, serving).await {
        Ok(ports) => ports,
        Err(problem) => return vec![problem],
    };
    let mut problems = Vec::new();
    if let Err(found) = run_with_mocks(case, app, &ports, (servers, serving), &mut problems).await {
        problems.push(found);
    }
    problems
}

async fn start_mocks(
    case: &TestCase,
    app: &App,
    running: &mut JoinSet<()>,
) -> Result<BTreeMap<u16, u16>, Problem> {
    let automatic = find_automatic(case, app);
    let mut servers = Vec::new();
    let mut ports = BTreeMap::new();
    for (number, mock) in &case.mocks {
        let wanted = if automatic.contains(number) { 0 } else { *number };
        // Bodies are filled in only when all ports are known; till then the socket is only bound.
        let server =
            canned::bind(wanted).await.map_err(|error| explain_unbound(*number, &error))?;
        ports.insert(*number, server.port());
        servers.push((server, mock));
    }
    for (server, mock) in servers {
        let Mock { answers, behaviour } = mock.clone();
        let mut filled = Vec::with_capacity(answers.len());
        for mut answer in answers {
            if let Ok(text) = std::str::from_utf8(&answer.body)
                && ports::find_numbers(text).next().is_some()
            {
                let text = ports::fill(text, &ports).map_err(|(_, reason)| Problem::new(reason))?;
                answer.body = text.into();
            }
            filled.push(answer);
        }
        running.spawn(server.serve(filled, behaviour).run(std::future::pending()));
    }
    Ok(ports)
}

fn explain_unbound(number: u16, error: &MockError) -> Problem {
    let hint = "say `{mock.<n>}` instead of the port to have a free one";
    Problem::new(format!("the mock `{number}` can not start: {error}; {hint}"))
}

/// The part of a test during which its mocks run.
async fn run_with_mocks(
    case: &TestCase,
    app: &App,
    ports: &BTreeMap<u16, u16>,
    (servers, serving): (&Rc<Servers>, &mut JoinSet<()>),
    problems: &mut Vec<Problem>,
) -> Result<(), Problem> {
    let expectation = case.expectation.as_ref().map(|text| {
        let Text { file, text } = fill(text, ports)?;
        parse_json(&text, &file)
    });
    let expectation = expectation.transpose()?;
    let mut assertions = Vec::new();
    if let Some(text) = &case.assertions {
        let Text { file, text } = fill(text, ports)?;
        match assertion::parse(&text) {
            Ok(read) => assertions = read,
            Err(wrong) => {
                let wrong = wrong.into_iter();
                problems.extend(wrong.map(|(line, why)| Problem::at(&file, Some(line), why)));
                return Ok(());
            }
        }
    }
    let snapshot = app.snapshot(ports)?;
    let hooks = case.hooks.as_deref().map(|file| Hooks::load(file, &snapshot, servers));
    let hooks = hooks.transpose()?;
    if let Some(hooks) = &hooks {
        hooks.set_up(serving)?;
    }
    let ran = act(case, &snapshot, ports).await;
    match &ran {
        Err(problem) => problems.push(problem.clone()),
        Ok(ran) => {
            let judges =
                assertion::judges_failure(&assertions) || hooks.as_ref().is_some_and(Hooks::judges);
            if ran.subject.is_failed && !judges {
                problems.push(explain_failure(case, ran));
            } else if let (Some(expected), Some(file)) = (&expectation, &case.expectation) {
                let found = difference(expected, &ran.body);
                problems.extend(found.map(|found| Problem::at(&file.file, None, found)));
            }
            problems.extend(ran.unended.iter().map(|line| explain_unended(case, *line)));
            for one in &assertions {
                if let Err(reason) = one.check(&ran.subject) {
                    let file = case.assertions.as_ref().map_or("", |text| &text.file);
                    problems.push(Problem::at(file, Some(one.line), reason));
                }
            }
            if let Some(hooks) = &hooks {
                hooks.test(ran, problems);
            }
        }
    }
    if let Some(hooks) = &hooks {
        hooks.tear_down()?;
    }
    Ok(())
}

async fn act(
    case: &TestCase,
    snapshot: &Snapshot,
    ports: &BTreeMap<u16, u16>,
) -> Result<Ran, Problem> {
    match &case.action {
        Action::Nothing => Err(Problem::new("there is nothing to run")),
        Action::Script(script) => snapshot.script(&fill(script, ports)?).await,
        Action::Route(request, place) => {
            let at = |(_, message): (u32, String)| Problem { place: Some(place.clone()), message };
            let mut request: RouteRequest = request.clone();
            request.target = ports::fill(&request.target, ports).map_err(at)?;
            for value in request.headers.values_mut() {
                if let Ok(text) = value.to_str() {
                    let text = ports::fill(text, ports).map_err(at)?;
                    *value = HeaderValue::try_from(text)
                        .map_err(|error| Problem::new(error.to_string()))?;
                }
            }
            if let Some((_, body)) = &mut request.body
                && let Ok(text) = std::str::from_utf8(body)
            {
                *body = ports::fill(text, ports).map_err(at)?.into();
            }
            snapshot.route(&request).await
        }
    }
}

/// The problem of a run that should have gone well.
fn explain_failure(case: &TestCase, ran: &Ran) -> Problem {
    match &case.action {
        Action::Script(script) => {
            let message = ran.subject.root.member("message");
            let message = message.as_str().unwrap_or("it failed").to_owned();
            Problem::at(&script.file, ran.line, format!("the script failed: {message}"))
        }
        Action::Route(_, place) => {
            let message =
                format!("the route answered {}: {}", ran.subject.status, shorten(&ran.body));
            Problem { place: Some(place.clone()), message }
        }
        Action::Nothing => Problem::new("it failed"),
    }
}

/// The problem of a statement that began and never ended.
fn explain_unended(case: &TestCase, line: Option<u32>) -> Problem {
    let message = "a statement began and never ended";
    match &case.action {
        Action::Script(script) => Problem::at(&script.file, line, message),
        _ => Problem::new(message),
    }
}

fn fill(text: &Text, ports: &BTreeMap<u16, u16>) -> Result<Text, Problem> {
    let filled = ports::fill(&text.text, ports);
    let filled = filled.map_err(|(line, why)| Problem::at(&text.file, Some(line), why))?;
    Ok(Text { file: text.file.clone(), text: filled })
}
