//! The page of limits: what is bounded, what it counts for, what happens beyond it.
//!
//! In: the rows of the table of settings that are limits, and bounds that no setting moves, each from the
//! place in the code that keeps it. Out: `docs/reference/limits.md`.

use std::fmt::Write as _;

use qlio_engine::transport::TransportSettings;
use qlio_syntax::{diagnostic::codes, limits::Limits};

use super::{
    document::shown_default,
    setting::{Draft, Setting},
    slot::Kind,
    table,
};
use crate::http::{multipart, server::ServerLimits};

/// What makes a setting a limit.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    /// Of what there may be so much: a statement, a run, a connection, the server.
    pub(super) of: &'static str,
    /// What happens beyond it: status and code, or what is done.
    pub(super) beyond: &'static str,
    /// What says another limit closer to where it counts, such as a clause of a route.
    pub(super) closer: Option<&'static str>,
}

/// A bound that no setting moves.
struct Fixed {
    what: &'static str,
    value: u64,
    beyond: &'static str,
}

/// The page `docs/reference/limits.md`.
pub fn limits() -> String {
    let mut page = INTRODUCTION.to_owned();
    for group in table::GROUPS {
        let limits =
            group.settings.iter().filter_map(|setting| Some((setting, setting.limit.as_ref()?)));
        for (position, (setting, limit)) in limits.enumerate() {
            if position == 0 {
                let _ = write!(page, "\n## {}\n\n{TABLE_HEAD}", group.title);
            }
            let (name, default, bounds) = (setting.name, shown_default(setting), bounds(setting));
            let closer = limit.closer.unwrap_or("");
            let beyond = linked(limit.beyond);
            let (of, about) = (limit.of, setting.about);
            let _ = writeln!(
                page,
                "| `{name}` | {default} | {bounds} | {of} | {about} | {beyond} | {closer} |"
            );
        }
    }
    page.push_str(FIXED_HEAD);
    for Fixed { what, value, beyond } in fixed() {
        let _ = writeln!(page, "| {what} | `{value}` | {} |", linked(beyond));
    }
    page
}

const TABLE_HEAD: &str = "| Setting | Default | Bounds | Of | What | Beyond it | Closer |\n| --- | --- | --- | --- | --- | --- | --- |\n";

const FIXED_HEAD: &str = "
## Not to be set

| What | At most | Beyond it |
| --- | --- | --- |
";

const INTRODUCTION: &str = "\
# Limits

What is bounded, where it is counted, and what happens beyond it. Limits are loud ([SAF-22](safety.md)): the error names the limit, its value and what to do.

- *Bounds* are the values that the setting takes, *Of* is what one count belongs to.
- *Closer* is what says another limit for one route, table or statement; without it, the setting holds for all.
- Where and how to write settings is in [Settings](settings.md).
- Who is kept from what by these limits is in [Security](../security.md).

`qlio config docs --limits` prints this page.
";

/// The values that a setting takes.
fn bounds(setting: &Setting) -> String {
    let unit = match setting.slot(&mut Draft::new(false)).kind() {
        Kind::Milliseconds => " ms",
        _ => "",
    };
    match (setting.least, setting.most) {
        (least, u64::MAX) => format!("from {least}{unit}"),
        (least, most) => format!("{least} to {most}{unit}"),
    }
}

/// A text with a link for each code that it names.
fn linked(text: &str) -> String {
    codes::ALL.iter().fold(text.to_owned(), |text, code| {
        let number = format!("Q{:04}", code.number);
        let link = format!("[{number}](../errors/{number}-{}.md)", code.slug);
        text.replace(&number, &link)
    })
}

fn fixed() -> Vec<Fixed> {
    let script = Limits::default();
    let server = ServerLimits::default();
    let transport = TransportSettings::default();
    let number = |value: usize| value as u64;
    let entry = |what, value, beyond| Fixed { what, value, beyond };
    vec![
        entry("bytes of a script", number(script.text_bytes_max), "400, Q7005"),
        entry(
            "levels of blocks, values, conditions and inner selects of a script",
            number(script.nesting_depth_max),
            "400, Q7006",
        ),
        entry("statements of a script", number(script.statements_max), "400, Q7007"),
        entry("operators of one condition", number(script.condition_operators_max), "400, Q7009"),
        entry(
            "problems that are told of a script",
            number(script.diagnostics_max),
            "Q7008 stands last",
        ),
        entry(
            "bytes of the head of a request",
            number(server.head_bytes_max),
            "431, or 414 if it is the target; Q7003",
        ),
        entry("header lines of a request", number(server.headers_max), "431, Q7003"),
        entry(
            "seconds that the head of a request may take",
            server.head_timeout.as_secs(),
            "408, then closed",
        ),
        entry("requests at work in one worker", number(server.in_flight_max), "503"),
        entry("parts of a multipart body", number(multipart::PARTS_MAX), "400, Q7014"),
        entry(
            "exchanges of one worker with one upstream",
            number(transport.connections_per_host_max),
            "further ones wait",
        ),
        entry(
            "exchanges that wait for one upstream",
            number(transport.queue_per_host_max),
            "503, Q5015",
        ),
        entry("redirects of one exchange", u64::from(transport.redirects_max), "502, Q5004"),
    ]
}
