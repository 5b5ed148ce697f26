//! Limits of requests, scripts and answers.

use qlio_syntax::limits::ROUTE_DEADLINE_MS_MAX;

use super::{Setting, TIME_MAX};

/// Most servers of this kind in a row that may be allowed.
const HOPS_MAX: u64 = 100;

/// Most pages that may be set.
const PAGES_MAX: u64 = 1_000_000;

pub(super) const SETTINGS: &[Setting] = &[
            Setting::new(
                "maxNestedRequests",
                |draft| &mut draft.settings.nested_requests_max,
                "Most upstream requests of one statement. A statement that would make more fails before anything is sent.",
            )
            .limit("a statement", "400, Q7001; nothing is sent")
            .alias(&["maxRequests"]),
            Setting::new(
                "maxPages",
                |draft| &mut draft.settings.pages_max,
                "Most pages that one request of a select goes on to, where its table has `paginate by` without `up to`.",
            )
            .limit("a request of a select", "400, Q7017")
            .closer("`up to` of a table")
            .within(1, PAGES_MAX),
            Setting::new(
                "maxResponseLength",
                |draft| &mut draft.settings.response_bytes_max,
                "Most bytes of one upstream answer as it is sent; a longer one fails its statement.",
            )
            .limit("an upstream answer", "502, Q5007")
            .alias(&["maxResponseSize"]),
            Setting::new(
                "maxDecodedLength",
                |draft| &mut draft.decoded_bytes_max,
                "Most bytes of one upstream answer when it is decompressed.",
            )
            .limit("an upstream answer", "502, Q5007")
            .default_is("ten times `maxResponseLength`"),
            Setting::new(
                "maxRequestLength",
                |draft| &mut draft.request_bytes_max,
                "Most bytes of the body of a client's request; a longer one is answered with 413.",
            )
            .limit("a request", "413, Q7003"),
            Setting::new(
                "maxJoinRows",
                |draft| &mut draft.settings.join_rows_max,
                "Most rows that one join may give.",
            )
            .limit("a join", "400, Q7010"),
            Setting::new(
                "timeout",
                |draft| &mut draft.settings.timeout,
                "How long an upstream may be silent when the statement sets no timeout of its own.",
            )
            .limit("an exchange", "504, Q5003")
            .closer("`timeout` of a statement")
            .within(1, TIME_MAX),
            Setting::new(
                "deadline",
                |draft| &mut draft.settings.deadline,
                "How long the run of a route or script may take in all; going over is answered with 504. `using deadline` of a route says another.",
            )
            .limit("a run", "504, Q7004")
            .closer("`using deadline` of a route, `deadline` of a statement")
            .within(1, ROUTE_DEADLINE_MS_MAX),
            Setting::new(
                "maxHops",
                |draft| &mut draft.settings.hops_max,
                "Most servers of this kind that a request may have passed, so that routes which call each other come to an end; going over is answered with 508.",
            )
            .limit("a request", "508, Q7020")
            .within(0, HOPS_MAX),
        ];
