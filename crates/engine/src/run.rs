//! One run of one plan: what its statements share.

use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::HashMap,
    sync::Arc,
};

use qlio_data::{Text, Value, compute::function::Context};
use qlio_plan::{Catalog, Plan, SlotId};

use crate::{
    budget::Budget,
    clock,
    deadline::Deadline,
    error::RunError,
    event::{Event, Observation, Watch},
    heavy::{Heavy, LetGo, Wanted},
    hops,
    lookups::Lookups,
    request::{Caller, ClientRequest},
    sandbox::FunctionModule,
    services::Services,
    transport::OwnHeader,
};

/// The state of one run. It lives on the stack of the run's task; statements borrow it.
pub(crate) struct Run<'a> {
    pub(crate) engine: &'a Services,
    pub(crate) plan: &'a Plan,
    pub(crate) catalog: &'a Catalog,
    pub(crate) request: &'a ClientRequest,
    pub(crate) caller: Caller,
    /// Its number among the runs of this thread.
    pub(crate) number: u64,
    /// The servers like this one that its request has passed.
    pub(crate) hops: u64,
    /// When it has to be done.
    pub(crate) deadline: Deadline,
    /// The variables, by slot.
    pub(crate) slots: RefCell<Vec<Value>>,
    /// The script modules that variables hold.
    pub(crate) modules: RefCell<HashMap<SlotId, FunctionModule>>,
    /// The errors that `try`s caught, by the variable that shows them to the script.
    pub(crate) caught: RefCell<HashMap<SlotId, RunError>>,
    /// The inline tables of blocks that have run, by their place in the plan.
    pub(crate) created: RefCell<Vec<usize>>,
    /// The ids of all upstream calls so far, if a trail of them is asked for.
    pub(crate) request_ids: RefCell<String>,
    /// The id that upstream calls are sent with, made when the first one needs it.
    pub(crate) request_id: OnceCell<Text>,
    /// The header that tells it, for the number of a call to follow; nothing if it cannot be sent.
    pub(crate) own_header: OnceCell<Option<OwnHeader>>,
    /// Milliseconds since 1970, read when the first select with expressions needs it.
    moment_ms: OnceCell<u64>,
    /// How many upstream calls were made.
    pub(crate) sent: Cell<u64>,
    /// How many upstream calls were given a number.
    pub(crate) calls: Cell<u32>,
    pub(crate) warnings: RefCell<Vec<String>>,
    /// The answer that was given with the request has been taken.
    pub(crate) has_taken_given: Cell<bool>,
    /// What the run may still use.
    pub(crate) budget: Budget,
    /// What templates read of large variables.
    pub(crate) lookups: Lookups,
    /// Some values may be so large that to drop them takes long.
    pub(crate) has_large_values: Cell<bool>,
    partial: Cell<Option<(usize, usize)>>,
    /// The settings that the script may read.
    script_config: Value,
    /// What functions can read besides the variables, made for the first of them.
    outer_layers: OnceCell<Arc<[Value]>>,
    /// The client's attachments as scripts see them, made for the first that asks.
    pub(crate) parts: OnceCell<Value>,
    /// Who watches this run; `None` for nearly all.
    pub(crate) observation: Option<Observation<'a>>,
}

/// Large variables are let go where that holds nobody up; what was refused and taken is counted.
impl Drop for Run<'_> {
    fn drop(&mut self) {
        if self.has_large_values.get() {
            self.engine.heavy().drop_apart((self.lookups.take(), self.slots.take()));
        }
        if let Some(meter) = self.engine.meter() {
            self.budget.tell(meter);
        }
    }
}

/// Lists with more elements than these are dropped by another thread.
const DROPPED_HERE_MAX: usize = 4_096;

/// Most warnings that one run keeps; further ones are counted by nobody, they all say the same.
const WARNINGS_MAX: usize = 100;

impl<'a> Run<'a> {
    pub(crate) fn new(
        engine: &'a Services,
        plan: &'a Plan,
        catalog: &'a Catalog,
        request: &'a ClientRequest,
        caller: Caller,
        watch: Option<&'a Watch<'a>>,
    ) -> Self {
        let script_config = match caller {
            Caller::AdHoc { .. } => engine.settings().adhoc_view(catalog.config()),
            Caller::Route | Caller::Operator => catalog.config().clone(),
        };
        let observation = watch.map(|watch| Observation::new(watch, plan));
        let is_stepped = observation.as_ref().is_some_and(|watching| watching.stepper().is_some());
        let setting = engine.settings().deadline;
        Self {
            deadline: Deadline::of_run(plan, caller, setting, is_stepped),
            number: engine.number_run(),
            hops: hops::passed(&request.headers),
            engine,
            plan,
            catalog,
            request,
            caller,
            slots: RefCell::new(vec![Value::Absent; plan.symbols.len()]),
            modules: RefCell::default(),
            caught: RefCell::default(),
            created: RefCell::default(),
            request_ids: RefCell::default(),
            request_id: OnceCell::new(),
            own_header: OnceCell::new(),
            moment_ms: OnceCell::new(),
            sent: Cell::default(),
            calls: Cell::default(),
            has_taken_given: Cell::default(),
            warnings: RefCell::default(),
            budget: Budget::new(engine.settings(), plan.route.as_ref(), caller),
            lookups: Lookups::default(),
            has_large_values: Cell::new(false),
            partial: Cell::new(None),
            script_config,
            outer_layers: OnceCell::new(),
            parts: OnceCell::new(),
            observation,
        }
    }

    /// What work gives that would hold this thread too long.
    pub(crate) async fn heavy<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Wanted) -> T + Send + 'static,
    ) -> Result<T, RunError> {
        let done = self.engine.heavy().run(work).await?;
        self.budget.charge_time(done.time)?;
        Ok(done.value)
    }

    /// A list that this thread need not drop if it is large.
    pub(crate) fn let_go(&self, value: Value) -> LetGo<'_, Value> {
        let elements = if let Value::Array(elements) = &value { elements.len() } else { 0 };
        LetGo::new(value, self.apart(elements))
    }

    /// Who drops so many values, if it is not this thread.
    pub(crate) fn apart(&self, values: usize) -> Option<&Heavy> {
        (values > DROPPED_HERE_MAX).then(|| self.engine.heavy())
    }

    pub(crate) fn script_config(&self) -> &Value {
        &self.script_config
    }

    /// The layers of names behind the script's variables (SCP-10), as objects.
    pub(crate) fn outer_layers(&self) -> Arc<[Value]> {
        Arc::clone(self.outer_layers.get_or_init(|| self.make_outer_layers()))
    }

    pub(crate) fn set_slot(&self, slot: SlotId, value: Value) {
        self.slots.borrow_mut()[slot.index()] = value;
    }

    /// What functions of expressions need; the time is the same for all of the run.
    pub(crate) fn function_context(&self) -> Context<'a> {
        let milliseconds = *self.moment_ms.get_or_init(clock::epoch_ms);
        let seconds = i64::try_from(milliseconds / 1000).unwrap_or(i64::MAX);
        let nanoseconds = (milliseconds % 1000) as u32 * 1_000_000;
        let random: &dyn Fn() -> u128 = &|| uuid::Uuid::new_v4().as_u128();
        Context::new((seconds, nanoseconds), random, self.engine.patterns())
    }

    pub(crate) fn warn(&self, message: impl Into<String>) {
        self.keep_warning(message.into(), None);
    }

    /// Warns of a failure that did not fail its statement.
    pub(crate) fn warn_of(&self, message: impl Into<String>, failure: &RunError) {
        self.keep_warning(message.into(), Some(&failure.message));
    }

    fn keep_warning(&self, mut message: String, cause: Option<&str>) {
        let mut warnings = self.warnings.borrow_mut();
        if warnings.len() < WARNINGS_MAX {
            if let Some(observation) = &self.observation {
                let place = observation.place();
                observation.tell(Event::Warned { place, message: &message, cause });
            }
            if let Some(cause) = cause {
                message.extend([": ", cause]);
            }
            warnings.push(message);
        }
    }

    /// Adds the outcome of a fan-out that lost some of its exchanges.
    pub(crate) fn add_partial(&self, answered: usize, attempted: usize) {
        let (before_answered, before_attempted) = self.partial.get().unwrap_or_default();
        self.partial.set(Some((before_answered + answered, before_attempted + attempted)));
    }

    pub(crate) fn partial(&self) -> Option<(usize, usize)> {
        self.partial.get()
    }
}
