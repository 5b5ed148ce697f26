//! What the scripted upstream has seen: which expectation each request met, how often, how many at
//! once, who hung up.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use qlio_data::percent::decode_form_lossy;
use serde_json::Value;

use super::{Calls, Expectation, Respond, http2};
use crate::{case::equality::difference, headers::joined_header};

/// One request as it was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The method.
    pub method: String,
    /// The raw request target.
    pub target: String,
    /// Header names as sent, and values, in their order.
    pub headers: Vec<(String, String)>,
    /// The body without its transfer coding.
    pub body: Vec<u8>,
    /// The number of the connection it came on, from zero.
    pub connection: usize,
    /// The place of the expectation that it met; none if it was not expected.
    pub met: Option<usize>,
}

impl Received {
    /// The value of a header, whatever the case of its name; repeated ones joined by commas.
    pub fn header(&self, name: &str) -> Option<String> {
        joined_header(&self.headers, name)
    }

    /// The body as text; bytes that are no UTF-8 become U+FFFD.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON, if it is that.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    fn query(&self) -> Vec<(String, String)> {
        let query = self.target.split_once('?').map_or("", |(_, query)| query);
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        pairs
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                (decode_form_lossy(name).into_owned(), decode_form_lossy(value).into_owned())
            })
            .collect()
    }

    fn meets(&self, expectation: &Expectation) -> bool {
        let method = expectation.method.as_ref().is_none_or(|method| *method == self.method);
        let path = expectation.path.as_ref().is_none_or(|path| *path == self.target);
        let prefix = expectation.prefix.as_ref().is_none_or(|start| self.target.starts_with(start));
        let body = expectation.body.as_ref().is_none_or(|body| body.as_bytes() == self.body);
        method && path && prefix && body && self.meets_rest(expectation)
    }

    fn meets_rest(&self, expectation: &Expectation) -> bool {
        let headers = expectation.headers.iter().all(|(name, value)| self.header(name) == *value);
        let json = expectation.json.as_ref().is_none_or(|wanted| {
            self.json().is_some_and(|actual| difference(wanted, &actual).is_none())
        });
        let query = expectation.query.as_ref().is_none_or(|wanted| {
            let mut pairs: Vec<(String, String)> = Vec::new();
            for (name, value) in wanted {
                match value {
                    Value::Array(items) => {
                        pairs.extend(items.iter().map(|item| (name.clone(), plain(item))));
                    }
                    other => pairs.push((name.clone(), plain(other))),
                }
            }
            let mut actual = self.query();
            pairs.sort();
            actual.sort();
            pairs == actual
        });
        let bytes = expectation.base64.as_ref();
        let bytes = bytes.is_none_or(|wanted| STANDARD.encode(&self.body) == *wanted);
        let message = expectation.message.as_ref().is_none_or(|wanted| {
            let actual = http2::message_of(&self.body).map(|message| STANDARD.encode(message));
            actual.as_ref() == Some(wanted)
        });
        headers && json && query && bytes && message
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Everything the upstream has seen so far.
#[derive(Debug, Default)]
pub struct Ledger {
    expectations: Vec<Expectation>,
    counts: Vec<usize>,
    requests: Vec<Received>,
    in_flight: usize,
    in_flight_max: usize,
    connections: usize,
    connections_open: usize,
    hang_ups: usize,
    malformed: Vec<String>,
}

impl Ledger {
    /// All requests in the order of their arrival.
    pub fn requests(&self) -> &[Received] {
        &self.requests
    }

    /// The number of requests that met each expectation.
    pub fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// Requests that met no expectation.
    pub fn unexpected(&self) -> impl Iterator<Item = &Received> {
        self.requests.iter().filter(|request| request.met.is_none())
    }

    /// The number of requests that are being answered.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// The highest number of requests that were being answered at once.
    pub fn in_flight_max(&self) -> usize {
        self.in_flight_max
    }

    /// The number of connections accepted.
    pub fn connections(&self) -> usize {
        self.connections
    }

    /// The number of connections that are open.
    pub fn connections_open(&self) -> usize {
        self.connections_open
    }

    /// How often the other side ended its connection before it had its answer.
    pub fn hang_ups(&self) -> usize {
        self.hang_ups
    }

    /// What came that was no HTTP request.
    pub fn malformed(&self) -> &[String] {
        &self.malformed
    }

    /// Every way in which what came differs from what was expected; empty if all is well.
    pub fn problems(&self) -> Vec<String> {
        let mut problems: Vec<String> = self
            .unexpected()
            .map(|request| {
                let body = if request.body.is_empty() {
                    String::new()
                } else {
                    format!(" with `{}`", request.text())
                };
                format!("unexpected upstream request {} {}{body}", request.method, request.target)
            })
            .collect();
        for (expectation, count) in self.expectations.iter().zip(&self.counts) {
            if let Calls::Exactly(wanted) = expectation.calls
                && wanted != *count
            {
                let what = expectation.described();
                problems.push(format!("upstream saw {what} {count} times, expected {wanted}"));
            }
        }
        problems.extend(self.malformed.iter().map(|what| format!("upstream received {what}")));
        problems
    }

    pub(super) fn expect(&mut self, expectation: Expectation) {
        self.expectations.push(expectation);
        self.counts.push(0);
    }

    /// Books a request; gives the answer of the expectation it met.
    pub(super) fn receive(&mut self, mut request: Received) -> Option<Respond> {
        let meeting: Vec<usize> = (0..self.expectations.len())
            .filter(|i| request.meets(&self.expectations[*i]))
            .collect();
        let lacking = meeting.iter().find(|i| match self.expectations[**i].calls {
            Calls::Exactly(wanted) => self.counts[**i] < wanted,
            Calls::Any => true,
        });
        // A surplus request still counts, so that the report can say how many came.
        request.met = lacking.or(meeting.last()).copied();
        let respond = request.met.map(|index| {
            self.counts[index] += 1;
            self.expectations[index].respond.clone()
        });
        self.requests.push(request);
        self.in_flight += 1;
        self.in_flight_max = self.in_flight_max.max(self.in_flight);
        respond
    }

    pub(super) fn answered(&mut self, hung_up: bool) {
        self.in_flight -= 1;
        self.hang_ups += usize::from(hung_up);
    }

    pub(super) fn connected(&mut self) -> usize {
        self.connections += 1;
        self.connections_open += 1;
        self.connections - 1
    }

    pub(super) fn disconnected(&mut self) {
        self.connections_open -= 1;
    }

    pub(super) fn reject(&mut self, what: String) {
        self.malformed.push(what);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        #[test]
        fn any_target_can_be_taken_apart(target in "[/?&=%+a-f0-9é]{0,40}") {
            let pairs = request("GET", &target, &[], "").query();
            prop_assert!(pairs.len() <= target.matches('&').count() + 1);
        }

        #[test]
        fn encoded_bytes_are_decoded(text in "\\PC{0,20}") {
            let coded: Vec<String> = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
            let coded = coded.concat();
            prop_assert_eq!(decode_form_lossy(&coded), text);
        }
    }

    fn request(method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Received {
        Received {
            method: method.to_owned(),
            target: target.to_owned(),
            headers: headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            body: body.as_bytes().to_vec(),
            connection: 0,
            met: None,
        }
    }

    fn expectation(json: Value) -> Expectation {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn the_raw_target_must_be_equal() {
        let wanted = expectation(json!({"method": "GET", "path": "/a?b=c%20d"}));
        assert!(request("GET", "/a?b=c%20d", &[], "").meets(&wanted));
        assert!(!request("GET", "/a?b=c+d", &[], "").meets(&wanted));
        assert!(!request("POST", "/a?b=c%20d", &[], "").meets(&wanted));
    }

    #[test]
    fn a_decoded_query_matches_in_any_order() {
        let wanted = expectation(json!({"prefix": "/a", "query": {"x": "ø 1", "y": ["1", "2"]}}));
        assert!(request("GET", "/a?y=1&x=%C3%B8+1&y=2", &[], "").meets(&wanted));
        assert!(!request("GET", "/a?y=1&x=%C3%B8+1", &[], "").meets(&wanted));
        assert!(!request("GET", "/a?y=1&x=%C3%B8+1&y=2&z=", &[], "").meets(&wanted));
    }

    #[test]
    fn headers_match_without_case_and_null_means_absent() {
        let wanted = expectation(json!({"path": "/", "headers": {"x-a": "1", "cookie": null}}));
        assert!(request("GET", "/", &[("X-A", "1")], "").meets(&wanted));
        assert!(!request("GET", "/", &[("X-A", "1"), ("Cookie", "c")], "").meets(&wanted));
        assert!(!request("GET", "/", &[], "").meets(&wanted));
    }

    #[test]
    fn a_body_matches_exactly_or_as_json() {
        let exact = expectation(json!({"path": "/", "body": "{\"a\":1}"}));
        let loose = expectation(json!({"path": "/", "json": {"a": 1}}));
        assert!(request("POST", "/", &[], "{\"a\":1}").meets(&exact));
        assert!(!request("POST", "/", &[], "{\"a\": 1}").meets(&exact));
        assert!(request("POST", "/", &[], "{\"a\": 1.0}").meets(&loose));
    }

    #[test]
    fn of_several_matching_entries_the_first_that_lacks_calls_is_taken() {
        let mut ledger = Ledger::default();
        ledger.expect(expectation(json!({"path": "/", "respond": {"body": "first"}})));
        ledger.expect(expectation(json!({"path": "/", "respond": {"body": "second"}})));
        let mut body = || ledger.receive(request("GET", "/", &[], "")).unwrap().body.unwrap();
        assert_eq!([body(), body(), body()], ["first", "second", "second"]);
        assert_eq!(ledger.counts(), [1, 2]);
        assert_eq!(ledger.problems(), ["upstream saw * / 2 times, expected 1"]);
    }

    #[test]
    fn an_entry_with_no_calls_reports_a_call() {
        let mut ledger = Ledger::default();
        ledger.expect(expectation(json!({"path": "/", "calls": 0})));
        assert!(ledger.problems().is_empty());
        ledger.receive(request("GET", "/", &[], ""));
        assert_eq!(ledger.problems(), ["upstream saw * / 1 times, expected 0"]);
    }

    #[test]
    fn a_request_that_matches_nothing_is_reported() {
        let mut ledger = Ledger::default();
        ledger.expect(expectation(json!({"path": "/", "calls": "any"})));
        assert!(ledger.receive(request("PUT", "/x", &[], "b")).is_none());
        assert_eq!(ledger.problems(), ["unexpected upstream request PUT /x with `b`"]);
    }

    #[test]
    fn broken_percent_sequences_stay_as_they_are() {
        assert_eq!(decode_form_lossy("%zz%4"), "%zz%4");
        assert_eq!(decode_form_lossy("%ff%41"), "\u{fffd}A");
    }
}
