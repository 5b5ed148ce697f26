//! What a statement does while its exchange is under way: it tells of further attempts, and reads the rows
//! of a large answer as they arrive (`ADR 0016`).
//!
//! Out: a reader of rows that has seen the beginning of the reply's body, and of no other. Whether the reply
//! is one whose rows are read that way is judged when it is complete, as for any other.

use qlio_data::codec::json::RowReader;

use super::{Call, hooks::Hooks};
use crate::{
    event::Announced,
    transport::{ErrorKind, Turn, Watcher},
};

/// Smaller bodies are read when they are complete, in bytes: they stay in the processor's cache as a whole.
const BODY_BYTES_MIN: u64 = 64 * 1024;

pub(super) struct Onlooker<'c, 'a> {
    call: &'c Call<'a>,
    /// What was told of the request, if somebody watches the run.
    pub(super) announced: Option<Box<Announced>>,
    may_have_rows: bool,
    rows: Option<Box<RowReader<'c>>>,
}

impl<'c, 'a> Onlooker<'c, 'a> {
    /// Of a request that the statement is made for.
    pub(super) fn of_statement(
        call: &'c Call<'a>,
        announced: Option<Box<Announced>>,
        hooks: Option<&Hooks>,
    ) -> Self {
        Self {
            may_have_rows: !hooks.is_some_and(Hooks::may_replace_answers)
                && call.verb.format.is_none(),
            ..Self::new(call, announced)
        }
    }

    /// Of any other request.
    pub(super) fn new(call: &'c Call<'a>, announced: Option<Box<Announced>>) -> Self {
        Self { call, announced, may_have_rows: false, rows: None }
    }

    /// The rows of the reply as far as they have been read; `None` if it is to be read from the start.
    pub(super) fn into_rows(self) -> Option<Box<RowReader<'c>>> {
        self.rows
    }
}

impl Watcher for Onlooker<'_, '_> {
    fn on_attempt(&mut self, failure: Option<&ErrorKind>) {
        self.rows = None;
        if let (Some(failure), Some(announced)) = (failure, &mut self.announced) {
            self.call.announce_again(Some(announced), &failure.to_string());
        }
    }

    fn on_redirect(&mut self, turn: &Turn<'_>) {
        self.call.announce_redirect(self.announced.as_deref_mut(), turn);
    }

    fn wants_body(&mut self, bytes: u64) -> bool {
        let limits = self.call.row_limits();
        if !self.may_have_rows || bytes < BODY_BYTES_MIN || bytes > limits.decoded_bytes_max as u64
        {
            return false;
        }
        let Some(columns) = &self.call.plain_columns else { return false };
        self.rows = Some(Box::new(RowReader::new(&self.call.verb.resultset, columns, &limits)));
        true
    }

    fn on_body(&mut self, beginning: &[u8]) {
        if let Some(rows) = &mut self.rows {
            rows.read(beginning);
        }
    }
}
