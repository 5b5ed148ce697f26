//! What authors of connectors out of process want to know of theirs (`qlio test connector`).
//!
//! In: a running connector. Out: one [`Outcome`] for each thing that it has to get right, of those that can be
//! seen from outside. Only selects are asked for: a check changes nothing.

use std::time::{Duration, Instant};

use hyper::StatusCode;
use qlio_data::{Object, Value, codec::json};
use qlio_engine::{AnswerFault, AskError, RemoteClient, RemotePage};
use qlio_plan::catalog::{Description, PROTOCOL, RemoteColumn, RemoteSource};
use qlio_syntax::ast::{ColumnTest, VerbKind};

use super::{Outcome, Problem};

/// Sources that are looked at.
const SOURCES_MAX: usize = 20;

/// Rows that are asked for at most.
const ROWS: u64 = 3;

/// Pages that are followed.
const PAGES_MAX: usize = 5;

/// Why a select has no page.
#[derive(Debug, thiserror::Error)]
enum SelectError {
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error(transparent)]
    Answer(#[from] AnswerFault),
    #[error("it refuses the select: {0}")]
    Refused(String),
    #[error("it answers with {0}, not with 200")]
    Status(StatusCode),
}

/// A source of the description, with how it is asked.
struct Place<'d> {
    verb: &'d str,
    at: &'d str,
    source: &'d RemoteSource,
}

/// Checks a connector; the outcomes come in the order in which they are found.
pub(crate) async fn check_connector(client: &RemoteClient<'_>) -> Vec<Outcome> {
    let begun = Instant::now();
    let description = match client.describe().await {
        Ok(description) => description,
        Err(reason) => {
            return vec![outcome("it describes itself", begun, vec![reason.to_string()])];
        }
    };
    let mut outcomes = vec![outcome("it describes itself", begun, Vec::new())];
    let begun = Instant::now();
    outcomes.push(outcome("mistakes are answered", begun, mistakes(client).await));
    for place in places(&description) {
        let Place { verb, at, .. } = place;
        for (what, problems) in [
            ("sends rows, page by page", rows(client, &place).await),
            ("sends the columns that are asked for", columns(client, &place).await),
            ("sends as many rows as are asked for", limit(client, &place).await),
            ("makes the tests that it names", tests(client, &place).await),
        ] {
            let name = format!("`{verb}` at `{at}` {what}");
            outcomes.push(outcome(&name, Instant::now(), problems));
        }
    }
    outcomes
}

fn outcome(name: &str, begun: Instant, problems: Vec<String>) -> Outcome {
    let duration: Duration = begun.elapsed();
    let problems = problems.into_iter().map(Problem::new).collect();
    Outcome { name: name.to_owned(), duration, problems }
}

/// The sources that a select reaches without parameters.
fn places(description: &Description) -> impl Iterator<Item = Place<'_>> {
    let verbs = description.verbs().filter(|(_, verb)| verb.kinds().contains(&VerbKind::Select));
    let places = verbs.flat_map(|(name, verb)| {
        let mut named: Vec<&str> = verb.sources().collect();
        if named.is_empty() {
            named.push("");
        }
        named.into_iter().filter_map(move |at| {
            let source = verb.source(at)?;
            Some(Place { verb: name, at, source })
        })
    });
    let needs_nothing = |place: &Place<'_>| {
        !place.source.parameters.values().any(|parameter| parameter.is_required)
    };
    places.filter(needs_nothing).take(SOURCES_MAX)
}

/// What is no statement must be answered with an error that says why, and with a status of its own.
async fn mistakes(client: &RemoteClient<'_>) -> Vec<String> {
    let stranger = statement("no-such-verb", "no-such-source", &[]);
    let mut problems = Vec::new();
    for (body, what) in
        [(stranger.as_str(), "an unknown verb"), ("{\"protocol\":", "half a request")]
    {
        match client.execute(body.to_owned()).await {
            Err(reason) => problems.push(format!("{what}: {reason}")),
            Ok((status, page)) => {
                let error = page.ok().and_then(|page| page.error);
                if !(status.is_client_error() && error.is_some()) {
                    let told = match error {
                        Some(_) => "an `error`",
                        None => "no `error` that can be read",
                    };
                    problems.push(format!(
                        "{what} is answered with {status} and {told}, not with 4xx and an `error`"
                    ));
                }
            }
        }
    }
    problems
}

fn statement(verb: &str, at: &str, more: &[(&str, Value)]) -> String {
    let members = [
        ("protocol", Value::from(PROTOCOL)),
        ("table", Value::from("check")),
        ("kind", Value::from("select")),
        ("verb", Value::from(verb)),
        ("at", Value::from(at)),
        ("parameters", Value::object(Object::new())),
        ("arguments", Value::array(Vec::new())),
        ("tests", Value::array(Vec::new())),
    ];
    let mut statement: Object = members.into_iter().collect();
    for (name, value) in more {
        statement.insert(*name, value.clone());
    }
    json::to_string(&Value::object(statement))
}

/// The answer to a select that there must be one for.
async fn ask(
    client: &RemoteClient<'_>,
    place: &Place<'_>,
    more: &[(&str, Value)],
) -> Result<RemotePage, SelectError> {
    let (status, page) = client.execute(statement(place.verb, place.at, more)).await?;
    let page = page?;
    match page.error {
        Some(error) => Err(SelectError::Refused(error.message)),
        None if status != StatusCode::OK => Err(SelectError::Status(status)),
        None => Ok(page),
    }
}

async fn rows(client: &RemoteClient<'_>, place: &Place<'_>) -> Vec<String> {
    let mut problems = Vec::new();
    let mut next: Option<Value> = None;
    for _ in 0..PAGES_MAX {
        let more: Vec<_> = next.clone().map(|next| ("page", next)).into_iter().collect();
        let page = match ask(client, place, &more).await {
            Ok(page) => page,
            Err(error) => return vec![error.to_string()],
        };
        if let Some(stray) = page.rows.iter().find(|row| !row.is_object()) {
            problems.push(format!("a row is no object: {}", json::to_string(stray)));
        }
        let Some(following) = page.next else { return problems };
        let following = Value::from(following);
        if next.as_ref().and_then(Value::as_str) == following.as_str() {
            problems.push("`next` of a page leads to the same page".to_owned());
            return problems;
        }
        next = Some(following);
    }
    problems
}

async fn columns(client: &RemoteClient<'_>, place: &Place<'_>) -> Vec<String> {
    let Some(first) = place.source.columns.first().filter(|_| place.source.takes_columns) else {
        return Vec::new();
    };
    let wanted: Value = [Value::from(first.name.clone())].into_iter().collect();
    let page = match ask(client, place, &[("columns", wanted), ("limit", Value::from(ROWS))]).await
    {
        Ok(page) => page,
        Err(error) => return vec![error.to_string()],
    };
    let rows = page.rows.iter().map(Value::into_tree);
    let strange = rows.filter_map(|row| match &row {
        Value::Object(members) => {
            let stray = members.iter().find(|(name, _)| **name != first.name)?;
            Some(format!("asked for `{}`, it sends `{}` as well", first.name, stray.0))
        }
        _ => None,
    });
    strange.take(1).collect()
}

async fn limit(client: &RemoteClient<'_>, place: &Place<'_>) -> Vec<String> {
    if !place.source.takes_limit {
        return Vec::new();
    }
    match ask(client, place, &[("limit", Value::from(1_u64))]).await {
        Ok(page) if page.rows.len() > 1 => {
            vec![format!("asked for 1 row, it sends {}", page.rows.len())]
        }
        Ok(_) => Vec::new(),
        Err(error) => vec![error.to_string()],
    }
}

/// Tests with a value of the first row: that row must be there again, and none that does not pass.
async fn tests(client: &RemoteClient<'_>, place: &Place<'_>) -> Vec<String> {
    let first = match ask(client, place, &[]).await {
        Ok(page) => page.rows.first().cloned(),
        Err(error) => return vec![error.to_string()],
    };
    let Some(first) = first else { return Vec::new() };
    let mut problems = Vec::new();
    for column in &place.source.columns {
        let value = first.member(&column.name);
        if !column.kind.fits(&value) {
            continue;
        }
        for test in column.tests.iter().filter(|test| **test != ColumnTest::Like) {
            let wanted = condition(column, test.symbol(), value.clone());
            let wanted: Value = [wanted].into_iter().collect();
            let what = format!("`{} {} {}`", column.name, test.symbol(), json::to_string(&value));
            match ask(client, place, &[("tests", wanted)]).await {
                Err(reason) => problems.push(format!("{what}: {reason}")),
                Ok(page) => {
                    let includes = !matches!(test, ColumnTest::Greater | ColumnTest::Less);
                    if includes && page.rows.is_empty() {
                        problems.push(format!("{what}: the row that it comes from is missing"));
                    }
                    let text = value.scalar_text();
                    let is_equal = |row: &Value| row.member(&column.name).scalar_text() == text;
                    let is_stray = match test {
                        ColumnTest::Equals => page.rows.iter().any(|row| !is_equal(row)),
                        ColumnTest::Greater | ColumnTest::Less => page.rows.iter().any(is_equal),
                        _ => false,
                    };
                    if is_stray {
                        problems.push(format!("{what}: a row does not pass it"));
                    }
                }
            }
        }
    }
    problems
}

fn condition(column: &RemoteColumn, test: &str, value: Value) -> Value {
    let members = [
        ("column", Value::from(column.name.clone())),
        ("test", Value::from(test)),
        ("value", value),
    ];
    Value::object(members.into_iter().collect::<Object>())
}
