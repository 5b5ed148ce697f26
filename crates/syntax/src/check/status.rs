//! Numbers of routes and tables: the status, the deadline and the limits of a route, statuses that tables pass on (RET-11,
//! RET-13, TAB-22).

use super::{Checker, Site};
use crate::{
    ast::{Count, RouteLimit, RouteStatus, Verb},
    diagnostic::codes,
    limits::ROUTE_DEADLINE_MS_MAX,
    source::Span,
    status::{PASSED, ROUTE},
    token,
};

/// Refuses a status of a route that is out of range; a text with tokens is judged when it is filled.
pub(super) fn route(checker: &mut Checker<'_>, site: Site, status: &RouteStatus) {
    let written = match status {
        RouteStatus::Number(count) => count.value.to_string(),
        RouteStatus::Text(text) if token::roots(&text.text).is_empty() => text.text.clone(),
        RouteStatus::Text(_) => return,
    };
    if ROUTE.read(&written).is_none() {
        let message = format!("`using status` {ROUTE}, not `{written}`");
        add(checker, site, status.span(), &message);
    }
}

/// Refuses a deadline of a route that is out of range.
pub(super) fn deadline(checker: &mut Checker<'_>, site: Site, deadline: &Count) {
    if !(1..=ROUTE_DEADLINE_MS_MAX).contains(&deadline.value) {
        let message = format!(
            "`using deadline` takes 1 to {ROUTE_DEADLINE_MS_MAX} milliseconds, not `{}`",
            deadline.value
        );
        checker.add(site, codes::BAD_DEADLINE, deadline.span, &message);
    }
}

/// Refuses a limit of a route that allows nothing.
pub(super) fn limit(checker: &mut Checker<'_>, site: Site, limit: &RouteLimit) {
    if limit.most.value == 0 {
        let message = format!("`using limits {} = 0` allows nothing", limit.limit.name());
        checker.add(site, codes::BAD_LIMIT, limit.most.span, &message);
    }
}

/// Refuses statuses of `pass status` that are no failures, and such as stand twice.
pub(super) fn passed(checker: &mut Checker<'_>, site: Site, verb: &Verb) {
    for (position, Count { value, span }) in verb.passed_statuses.iter().enumerate() {
        let text = value.to_string();
        if PASSED.read(&text).is_none() {
            add(checker, site, *span, &format!("`pass status` {PASSED}, not `{text}`"));
        } else if verb.passed_statuses[..position].iter().any(|other| other.value == *value) {
            add(checker, site, *span, &format!("`pass status` names {text} twice"));
        }
    }
}

fn add(checker: &mut Checker<'_>, site: Site, span: Span, message: &str) {
    checker.add(site, codes::BAD_STATUS, span, message);
}
