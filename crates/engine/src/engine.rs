//! The engine of one thread: plans in, answers out.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::Poll,
};

use qlio_data::Value;
use qlio_plan::{Catalog, Plan, RouteStatus};
use qlio_syntax::{diagnostic::codes, status::ROUTE};
use tokio::time::sleep_until;

use crate::{
    error::{Fact, RunError},
    evaluate::fill,
    event::Watch,
    executor,
    heavy::Heavy,
    hops,
    request::{Answer, Caller, ClientRequest},
    run::Run,
    services::{EngineOptions, Services},
    settings::Settings,
    transport::{SettingsError, TransportView},
};

/// An engine that cannot start, in words for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartError(pub SettingsError);

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for StartError {}

/// Runs plans on one thread.
pub struct Engine {
    services: Services,
}

impl Engine {
    /// Prepares an engine; connects to nothing.
    ///
    /// # Errors
    /// A certificate that cannot be read, a setting that cannot be sent.
    pub fn new(options: EngineOptions) -> Result<Self, StartError> {
        Services::new(options).map(|services| Self { services }).map_err(StartError)
    }

    /// Prepares the engine that takes the place of this one on the same thread: with the same connections to upstreams,
    /// unless these are called in another way from here on, and with nothing of what was compiled of scripts.
    ///
    /// # Errors
    /// As for [`Engine::new`].
    pub fn succeed(&self, options: EngineOptions) -> Result<Self, StartError> {
        let services = Services::after(options, Some(&self.services));
        services.map(|services| Self { services }).map_err(StartError)
    }

    /// How scripts run.
    pub fn settings(&self) -> &Settings {
        self.services.settings()
    }

    /// Where heavy work is done.
    pub fn heavy(&self) -> &Heavy {
        self.services.heavy()
    }

    /// Shows connections and failing upstreams, on any thread.
    pub fn transport_view(&self) -> TransportView {
        self.services.transport().view()
    }

    /// Runs a plan.
    ///
    /// # Errors
    /// The first error that no fallback of the script caught.
    ///
    /// # Cancellation
    /// Dropping the future drops every exchange it started.
    pub async fn run(
        &self,
        plan: &Plan,
        catalog: &Catalog,
        request: &ClientRequest,
        caller: Caller,
    ) -> Result<Answer, RunError> {
        self.run_watched(plan, catalog, request, caller, None).await
    }

    /// Runs a plan, and tells a watcher what happens meanwhile.
    ///
    /// # Errors
    /// The first error that no fallback of the script caught.
    ///
    /// # Cancellation
    /// Dropping the future drops every exchange it started; nothing is told any more.
    pub async fn run_watched(
        &self,
        plan: &Plan,
        catalog: &Catalog,
        request: &ClientRequest,
        caller: Caller,
        watch: Option<&Watch<'_>>,
    ) -> Result<Answer, RunError> {
        let run = Run::new(&self.services, plan, catalog, request, caller, watch);
        hops::check(run.hops, self.settings().hops_max)?;
        let value = {
            let mut work = pin!(executor::execute(&run));
            within(&run, work.as_mut()).await?
        };
        if self.settings().asserts_calls {
            check_calls(&run)?;
        }
        if let Some(route) = &plan.route {
            run.require_settings(&route.missing_settings)?;
        }
        let status = answer_status(&run)?;
        let headers = answer_headers(&run)?;
        if !matches!(value, Value::Raw(_)) {
            // It is about to be written out.
            run.budget.charge_value(&value).await?;
        }
        run.budget.check()?;
        let trail = run.request_ids.take();
        let id = run.request_id.get().map(ToString::to_string);
        Ok(Answer {
            value,
            status,
            headers,
            partial: run.partial(),
            warnings: run.warnings.take(),
            request_id: if trail.is_empty() { id } else { Some(trail) },
        })
    }

    /// Waits for what goes on behind the answers: entries that are still being stored in the cache.
    /// Bounded in time; to be called before the runtime ends.
    pub async fn end(&self) {
        if let Some(cache) = self.services.cache() {
            cache.settle().await;
        }
    }
}

/// Runs to the end, or to the deadline. What waits for nothing pays for no timer. A value that a fallback
/// has given because the time was over comes too late as well.
async fn within(
    run: &Run<'_>,
    mut work: Pin<&mut impl Future<Output = Result<Value, RunError>>>,
) -> Result<Value, RunError> {
    let deadline = run.deadline;
    let mut timer = pin!(None);
    poll_fn(|context| {
        run.budget.begin_turn();
        let outcome = work.as_mut().poll(context);
        if timer.is_none() && outcome.is_pending() {
            timer.set(Some(sleep_until(deadline.at)));
        }
        let Some(mut timer) = timer.as_mut().as_pin_mut() else { return outcome };
        match outcome {
            Poll::Ready(Ok(_)) if timer.is_elapsed() => Poll::Ready(Err(deadline.error())),
            Poll::Ready(outcome) => Poll::Ready(outcome),
            Poll::Pending => timer.as_mut().poll(context).map(|()| Err(deadline.error())),
        }
    })
    .await
}

/// Whether the run has made no more requests than its script says.
fn check_calls(run: &Run<'_>) -> Result<(), RunError> {
    let made = run.sent.get();
    let Some(most) = run.plan.calls_max.filter(|most| made > *most) else { return Ok(()) };
    let message =
        format!("the run made {made} requests, and its script says `assert calls <= {most}`");
    let error = RunError::gateway(codes::TOO_MANY_CALLS, message);
    Err(error.with(Fact::Limit(most)).with(Fact::Asked(made)))
}

/// The status of the route clause.
///
/// # Errors
/// A text that does not become a status: the route promises one, and a wrong status would tell the
/// client something that is not so.
fn answer_status(run: &Run<'_>) -> Result<u16, RunError> {
    let template = match run.plan.route.as_ref().and_then(|route| route.status.as_ref()) {
        None => return Ok(200),
        Some(RouteStatus::Fixed(status)) => return Ok(*status),
        Some(RouteStatus::Filled(template)) => template,
    };
    let filled = fill(run, template)?;
    let text = filled.scalar_text();
    text.as_deref().and_then(|text| ROUTE.read(text)).ok_or_else(|| {
        let found = match text {
            Some(text) => format!("`{text}`"),
            None if filled.is_nothing() => "no value".to_owned(),
            None => "a list or an object".to_owned(),
        };
        let message =
            format!("`using status '{}'` {ROUTE}, and it has become {found}", template.text());
        RunError::gateway(codes::BAD_STATUS, message)
    })
}

/// The response headers of the route clause; a value that does not resolve leaves its header out
/// (RET-10).
fn answer_headers(run: &Run<'_>) -> Result<Vec<(String, String)>, RunError> {
    let mut headers = Vec::new();
    let templates =
        run.plan.route.as_ref().map(|route| route.headers.as_slice()).unwrap_or_default();
    for (name, value) in templates {
        let name = fill(run, name)?.scalar_text();
        let value = match fill(run, value)? {
            Value::Absent | Value::Null => None,
            value if value.is_structure() => Some(qlio_data::codec::json::to_string(&value)),
            value => value.scalar_text().map(|text| text.to_string()),
        };
        if let (Some(name), Some(value)) = (name, value) {
            headers.push((name.to_string(), value));
        }
    }
    Ok(headers)
}
