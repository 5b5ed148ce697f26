//! The HTTP connector: a statement on a table to upstream exchanges and back (CON-23).
//!
//! ```text
//! own values ─ params ─▶ [prepare] URIs, headers, bodies ─▶ [send] exchanges, equal ones once
//!    ─▶ [answer] status, decode with projection, resultset ─▶ project ─▶ gather
//! ```
//!
//! Everything is prepared before the first exchange is sent, so a statement that asks for too many
//! or lacks a token sends nothing. A request that a hook fails is not sent and counts as failed.

mod ahead;
mod announce;
mod answer;
mod body;
mod cached;
mod connector;
mod decoding;
mod failure;
mod given;
mod grpc;
mod headers;
mod hooked_body;
mod hooks;
mod large;
mod oauth2;
mod onlooker;
mod paging;
mod prepare;
mod remote;
mod rendering;
mod request_id;
mod send;
mod view;

use std::{cell::Cell, rc::Rc, sync::Arc};

use qlio_data::{Text, Value, projection::Projection};
use qlio_plan::{
    catalog::{Table, Verb},
    operator::{Delays, Output, Scan, ScanColumns, Select},
};
use qlio_syntax::{ast::VerbKind, diagnostic::codes};

use crate::{
    deadline::Deadline,
    error::{Fact, RunError},
    heavy::Wanted,
    lookups::{FoundToken, is_large},
    operator::{
        gather::{self, Merge},
        limit,
        project::{self, Decoded},
        rows::{Relation, bounds},
        shape,
    },
    own::Own,
    run::Run,
    sandbox::{Sandbox, with_own_sandbox},
    verb_scripts::{ScriptFiles, VerbScripts},
};

pub(crate) use body::Payload;
use prepare::{Preparation, Task};

/// One statement on one verb of one table.
pub(crate) struct Call<'a> {
    pub(crate) run: &'a Run<'a>,
    pub(crate) table: &'a Arc<Table>,
    pub(crate) verb: &'a Verb,
    pub(crate) kind: VerbKind,
    pub(crate) delays: &'a Delays,
    /// When it has to be done.
    pub(crate) deadline: Deadline,
    /// What a decoder must keep of a successful answer.
    pub(crate) projection: &'a Projection,
    /// The columns if each is a plain member of its row: such rows may stay text.
    pub(crate) plain_columns: Option<Vec<&'a str>>,
    /// What is read of the table, for hooks.
    pub(crate) scan: Option<&'a Scan>,
    /// The columns that the statement shows, unless the table is one half of a join.
    pub(crate) output: Option<&'a Output>,
    /// The variable that the statement binds, for hooks.
    pub(crate) assign: Option<&'a Text>,
    /// 1-based line of the statement.
    pub(crate) line: u32,
    /// `limit` and `offset` of the statement, for hooks.
    pub(crate) limit: Option<u64>,
    pub(crate) offset: Option<u64>,
    /// The verb's JavaScript and templates, if it has any.
    pub(crate) scripts: Option<Rc<VerbScripts>>,
    /// Requests so far, pages among them.
    requests: Cell<usize>,
    /// What tokens of the verb read of large variables.
    found: Vec<FoundToken>,
}

impl<'a> Call<'a> {
    async fn new(
        run: &'a Run<'a>,
        kind: VerbKind,
        table: &'a Arc<Table>,
        delays: &'a Delays,
        projection: &'a Projection,
    ) -> Result<Self, RunError> {
        let verb = table.verb(kind).ok_or_else(|| {
            let message = format!("Table {} does not support {}", table.name, kind.as_str());
            RunError::client(codes::UNSUPPORTED_VERB, message).in_table(&table.name)
        })?;
        let scripts = if VerbScripts::is_needed(verb) {
            Some(match run.engine.verb_scripts(table, kind)? {
                Some(scripts) => scripts,
                None => Box::pin(load_scripts(run, table, kind)).await?,
            })
        } else {
            None
        };
        let mut call = Self {
            run,
            table,
            verb,
            kind,
            delays,
            deadline: run.deadline.of_statement(delays.deadline_ms),
            projection,
            plain_columns: None,
            scan: None,
            output: None,
            assign: None,
            line: 0,
            limit: None,
            offset: None,
            scripts,
            requests: Cell::new(0),
            found: Vec::new(),
        };
        if run.slots.borrow().iter().any(is_large) {
            call.found = Box::pin(call.find_ahead()).await?;
        }
        Ok(call)
    }
}

/// The scripts of a verb whose files take so long to load that a heavy thread does it.
async fn load_scripts(
    run: &Run<'_>,
    table: &Arc<Table>,
    kind: VerbKind,
) -> Result<Rc<VerbScripts>, RunError> {
    let (limits, of_table) = (run.engine.sandbox().limits().clone(), Arc::clone(table));
    let load = move |wanted: &Wanted| {
        let verb = of_table.verb(kind)?;
        let load = |sandbox: &Sandbox| ScriptFiles::load(sandbox, verb);
        Some(with_own_sandbox(&limits, wanted.stop(), load))
    };
    let done = run.engine.heavy().run_script(load).await?;
    run.budget.charge_time(done.time)?;
    let missing = || RunError::internal("scripts of a verb that is not there");
    let files = done.value.ok_or_else(missing)?;
    run.engine.take_scripts(table, kind, files)
}

impl<'a> Call<'a> {
    /// What hooks are told of a half of a join.
    fn is_half_of(&mut self, select: &'a Select, scan: &'a Scan) {
        (self.line, self.scan, self.assign) = (select.line, Some(scan), select.assign.as_ref());
    }
}

/// A select from one table: its rows, merged and cut.
pub(crate) async fn select(
    run: &Run<'_>,
    select: &Select,
    table: &Arc<Table>,
    own: Own,
) -> Result<Selected, RunError> {
    let mut call =
        Call::new(run, VerbKind::Select, table, &select.scan.delays, &select.scan.answer).await?;
    (call.line, call.limit, call.offset) = (select.line, select.limit, select.offset);
    (call.scan, call.output) = (Some(&select.scan), Some(&select.output));
    call.assign = select.assign.as_ref();
    call.plain_columns = project::plain_columns(&select.scan);
    let wanted = select.limit.map(|limit| limit.saturating_add(select.offset.unwrap_or(0)));
    let paged = call.paged(&own, wanted);
    let is_paged = paged.is_some();
    let outcome = async {
        if let Some(paged) = &paged {
            return Box::pin(paged.answers()).await;
        }
        // Connectors out of process are told of both by name.
        let own = match call.verb.remote {
            Some(_) => own,
            None => with_paging(own, call.verb, select.limit, select.offset),
        };
        if call.verb.connector.is_some() {
            return Box::pin(call.connected(&own, &Payload::Template, &[])).await;
        }
        let prepared = call.prepare(&own, &Payload::Template, &[]).await?;
        call.answers(prepared).await
    };
    let (answers, merge) = outcome.await.map_err(|error: RunError| error.in_table(&table.name))?;
    // What the upstream was told to cut is not cut again (SEL-23); pages are cut here.
    let limit = select.limit.filter(|_| is_paged || !call.verb.takes_limit);
    let offset = select.offset.filter(|_| is_paged || !call.verb.takes_offset);
    if merge == Merge::Blocks && (select.calls_row_functions() || select.steps.is_some()) {
        let (skip, take) = bounds(limit, offset);
        return Ok(Selected::Blocks(answers.into_iter().skip(skip).take(take).collect()));
    }
    let shape =
        async |answer| Box::pin(shape::shape_answer(&run.budget, &select.output, answer)).await;
    let rows = gather::gather(&run.budget, answers, select.scan.width(), merge, shape).await?;
    Ok(Selected::Rows(match rows {
        Relation::Rows(mut rows) => {
            rows.cut(limit, offset);
            Relation::Rows(rows)
        }
        Relation::Value(value) => Relation::Value(limit::cut(run, value, limit, offset).await?),
    }))
}

/// What a select on a table gives.
pub(crate) enum Selected {
    /// The merged rows.
    Rows(Relation),
    /// The rows of each answer, where answers are kept apart and something is done with their rows.
    Blocks(Vec<Relation>),
}

/// The rows of one of several sources.
pub(crate) async fn scan_source(
    run: &Run<'_>,
    select: &Select,
    scan: &Scan,
    deadline: Deadline,
    table: &Arc<Table>,
    own: Own,
) -> Result<Relation, RunError> {
    let mut call = Call::new(run, VerbKind::Select, table, &scan.delays, &scan.answer).await?;
    call.is_half_of(select, scan);
    call.deadline = deadline;
    call.plain_columns = project::plain_columns(scan);
    let paged = call.paged(&own, None);
    let outcome = async {
        if let Some(paged) = &paged {
            return Box::pin(paged.answers()).await;
        }
        if call.verb.connector.is_some() {
            return Box::pin(call.connected(&own, &Payload::Template, &[])).await;
        }
        let prepared = call.prepare(&own, &Payload::Template, &[]).await?;
        call.answers(prepared).await
    };
    let (answers, merge) = outcome.await.map_err(|error: RunError| error.in_table(&table.name))?;
    Ok(gather::gather_rows(answers, scan.width(), merge))
}

/// The rows of a joined source, one set for each of several statements. All requests are prepared and
/// counted before the first is sent. If failures are partial, those of some are told and have no rows.
pub(crate) async fn scan_each(
    run: &Run<'_>,
    select: &Select,
    scan: &Scan,
    deadline: Deadline,
    table: &Arc<Table>,
    owns: Vec<Own>,
    are_failures_partial: bool,
) -> Result<Vec<Relation>, RunError> {
    let mut call = Call::new(run, VerbKind::Select, table, &scan.delays, &scan.answer).await?;
    call.is_half_of(select, scan);
    call.deadline = deadline;
    call.plain_columns = project::plain_columns(scan);
    if call.verb.paging.is_some() {
        let paged = Box::pin(call.paged_rows(owns, scan.width()));
        return paged.await.map_err(|error: RunError| error.in_table(&table.name));
    }
    let outcome = async {
        if call.verb.connector.is_some() {
            return Box::pin(call.connected_each(&owns, scan.width())).await;
        }
        let mut prepared = Vec::with_capacity(owns.len());
        for own in owns {
            prepared.push(call.prepare(&own, &Payload::Template, &[]).await?);
        }
        let parts: Vec<_> =
            prepared.iter().map(|prepared| (prepared.tasks.len(), prepared.merge)).collect();
        let all: Vec<Task> = prepared.into_iter().flat_map(|prepared| prepared.tasks).collect();
        call.count_requests(all.len())?;
        let mut answers = call.send_all(all).await;
        if are_failures_partial {
            call.drop_failures(&mut answers)?;
        }
        let mut answers = answers.into_iter();
        let mut result = Vec::with_capacity(parts.len());
        for (count, merge) in parts {
            let rows = answers.by_ref().take(count).collect::<Result<Vec<_>, _>>()?;
            result.push(gather::gather_rows(rows, scan.width(), merge));
        }
        Ok(result)
    };
    outcome.await.map_err(|error: RunError| error.in_table(&table.name))
}

/// An insert, update or delete on a table.
pub(crate) struct WriteRequest<'a> {
    pub(crate) kind: VerbKind,
    pub(crate) own: Own,
    pub(crate) payload: Payload,
    /// The client's attachments to send on, by position.
    pub(crate) parts: Vec<usize>,
    pub(crate) delays: &'a Delays,
    pub(crate) line: u32,
    pub(crate) assign: Option<&'a Text>,
}

/// Writes to a table: the merged answer, not projected.
pub(crate) async fn write(
    run: &Run<'_>,
    table: &Arc<Table>,
    request: WriteRequest<'_>,
) -> Result<Value, RunError> {
    let mut call = Call::new(run, request.kind, table, request.delays, &Projection::All).await?;
    (call.line, call.assign) = (request.line, request.assign);
    let outcome = async {
        let (answers, merge) = if call.verb.connector.is_some() {
            Box::pin(call.connected(&request.own, &request.payload, &request.parts)).await?
        } else {
            let prepared = call.prepare(&request.own, &request.payload, &request.parts).await?;
            call.answers(prepared).await?
        };
        let shape = async |answer: Relation| Ok(answer.into_lists());
        Ok(gather::gather(&run.budget, answers, 0, merge, shape).await?.into_lists())
    };
    outcome.await.map_err(|error: RunError| error.in_table(&table.name))
}

impl Call<'_> {
    /// The rows of an answer; all of it where nothing is read of the table.
    async fn project(&self, decoded: Decoded) -> Result<Relation, RunError> {
        let (value, reserved) = match decoded {
            Decoded::Cells(cells) => return project::project_cells(self.run, self.scan, cells),
            Decoded::Value(value) => (value, None),
            Decoded::Large(value, reserved) => (value, Some(reserved)),
        };
        self.run.budget.charge_value(&value).await?;
        drop(reserved);
        match self.scan {
            // Boxed because a fan-out holds as many of these futures as it has requests.
            Some(scan) if matches!(scan.columns, ScanColumns::List(_)) => {
                Box::pin(project::project(self.run, scan, value)).await
            }
            _ => Ok(Relation::Value(value)),
        }
    }

    /// Sends what was prepared; failed ones of several are dropped with a warning (URI-14).
    async fn answers(&self, prepared: Preparation) -> Result<(Vec<Relation>, Merge), RunError> {
        let Preparation { tasks, merge } = prepared;
        if tasks.is_empty() {
            return Ok((Vec::new(), merge));
        }
        self.count_requests(tasks.len())?;
        let answers = self.send_all(tasks).await;
        Ok((self.received_rows(answers)?, merge))
    }

    /// The answers that came; if all failed, why the first did.
    fn received_rows(
        &self,
        answers: Vec<Result<Relation, RunError>>,
    ) -> Result<Vec<Relation>, RunError> {
        let attempted = answers.len();
        let mut first_error = None;
        let mut rows = Vec::with_capacity(attempted);
        for answer in answers {
            match answer {
                Ok(answer) => rows.push(answer),
                Err(error) => {
                    first_error.get_or_insert(error);
                }
            }
        }
        if let Some(error) = first_error {
            if rows.is_empty() {
                return Err(error);
            }
            let failed = attempted - rows.len();
            let table = &self.table.name;
            let message =
                format!("Partial failure: {failed} of {attempted} requests of table {table}");
            self.run.warn_of(message, &error);
            self.run.add_partial(rows.len(), attempted);
        }
        Ok(rows)
    }

    /// Puts nothing in the place of what failed, and tells it, unless all has failed.
    fn drop_failures(&self, answers: &mut [Result<Relation, RunError>]) -> Result<(), RunError> {
        let attempted = answers.len();
        let failed = answers.iter().filter(|answer| answer.is_err()).count();
        let Some(Err(error)) = answers.iter().find(|answer| answer.is_err()) else { return Ok(()) };
        if failed == attempted {
            return Err(error.clone());
        }
        let table = &self.table.name;
        let message = format!("Partial failure: {failed} of {attempted} requests of table {table}");
        self.run.warn_of(message, error);
        self.run.add_partial(attempted - failed, attempted);
        for answer in answers.iter_mut().filter(|answer| answer.is_err()) {
            *answer = Ok(Relation::Value(Value::array(Vec::new())));
        }
        Ok(())
    }

    /// Fails if the statement asks for more requests than it may, or than the run may, with so many further
    /// ones.
    fn count_requests(&self, further: usize) -> Result<(), RunError> {
        let limit = self.run.engine.settings().nested_requests_max;
        let count = self.requests.get() + further;
        self.requests.set(count);
        if count <= limit {
            return self.run.budget.charge_requests(further);
        }
        let message = format!(
            "the statement asks for {count} requests, more than maxNestedRequests = {limit}; \
             raise the setting, or let a token take several values with `{{20|name}}`"
        );
        let error = RunError::client(codes::MAX_NESTED_REQUESTS, message);
        Err(error.with(Fact::Limit(limit as u64)).with(Fact::Asked(count as u64)))
    }
}

/// Adds `limit` and `offset` under the names that the verb gives them.
fn with_paging(mut own: Own, verb: &Verb, limit: Option<u64>, offset: Option<u64>) -> Own {
    for (name, count) in [(&verb.limit_name, limit), (&verb.offset_name, offset)] {
        if let Some(count) = count {
            own.push((name.clone(), Value::from(count)));
        }
    }
    own
}
