//! The sandbox of one thread: the interpreter, its realms, and the way in.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use foldhash::quality::RandomState;
use qlio_data::{Object, Value, codec::Stop};
use rquickjs::{Ctx, Runtime, Value as JsValue};

use super::{
    arguments::Inputs,
    convert::{self, Bounds},
    error::{Activity, Fault, ScriptError, ScriptErrorKind, explain},
    function::Scope,
    imports::NoImports,
    instance::{Decode, Entry, HostState, Instance, Kernel},
    limits::{Meter, SandboxLimits},
    log::{LogBuffer, LogLine},
    realm::{Realm, WeakRealm},
    slow::SlowScripts,
};
use crate::clock;

/// About what a realm takes before anything is loaded into it, in bytes.
const REALM_BYTES: usize = 256 << 10;

/// About what a call takes, where it only matters that many do.
const CALL_TIME: Duration = Duration::from_micros(20);

/// How many slices the loading of a file has where others wait, because that is done once.
const LOADING_SLICES: u32 = 4;

/// Runs scripts on one thread. Cheap to clone; the interpreter is made when the first script runs.
///
/// A script that runs over its time or memory fails its call; its realm is then built anew for the
/// next one. Nothing a script does ends the process.
#[derive(Clone)]
pub struct Sandbox {
    state: Rc<State>,
}

struct State {
    limits: SandboxLimits,
    meter: Meter,
    host: Rc<HostState>,
    machine: RefCell<Option<Machine>>,
    /// Sessions dropped since the interpreter was last entered, with their realm.
    closed: RefCell<Vec<(u64, u64)>>,
    /// Bytes that live sessions hold inside the interpreter.
    held: Cell<usize>,
    /// What executions of connectors were given, by their realms; part of `held`.
    given: RefCell<HashMap<u64, (WeakRealm, usize), RandomState>>,
    next_session: Cell<u64>,
    calls: Cell<u32>,
    /// A call for rows lets others go first.
    is_parked: Cell<bool>,
    /// Microseconds of the processor that calls have taken since this was last asked.
    used_us: Cell<u64>,
    slow: RefCell<SlowScripts>,
}

/// Fields are dropped in order: the contexts before their runtime.
struct Machine {
    instances: HashMap<u64, Slot, RandomState>,
    /// Heap in use by loaded modules, when it was last measured, and by the realms made since.
    floor: usize,
    /// How long it took to measure, which grows with the heap.
    measuring: Duration,
    /// How long making realms and loading modules has taken since, and calls about have; nothing if nothing was loaded.
    unmeasured: Duration,
    uses: u64,
    runtime: Runtime,
}

struct Slot {
    instance: Rc<Instance>,
    realm: WeakRealm,
    last_use: u64,
}

/// What one entry into the interpreter works with.
pub(super) struct Entered<'a, 'js> {
    pub(super) ctx: &'a Ctx<'js>,
    pub(super) instance: &'a Instance,
    pub(super) kernel: Kernel<'js>,
    pub(super) limits: &'a SandboxLimits,
    meter: &'a Meter,
}

impl<'js> Entered<'_, 'js> {
    pub(super) fn to_js(&self, value: &Value) -> Result<JsValue<'js>, Fault> {
        convert::to_js(self.ctx, value, self.limits.depth)
    }

    pub(super) fn object_to_js(&self, object: &Object) -> Result<JsValue<'js>, Fault> {
        self.to_js(&Value::object(object.clone()))
    }

    pub(super) fn to_value(&self, value: &JsValue<'js>) -> Result<Value, Fault> {
        convert::from_js(self.ctx, value, &Bounds::of(self.limits))
    }

    /// Gives the next part of a long call its own time. A slice is for all that the thread does at once.
    pub(super) fn rearm(&self) {
        if self.limits.slice.is_none() {
            self.meter.arm(Duration::from_millis(self.limits.time_ms), false);
        }
    }

    /// Runs promise jobs and timers until the call has an outcome. `deadline_ms` is how far the
    /// script's timers may reach; nobody waits for them.
    pub(super) fn drive(
        &self,
        first: JsValue<'js>,
        deadline_ms: u64,
        silence: &str,
    ) -> Result<JsValue<'js>, Fault> {
        if !first.is_symbol() {
            return Ok(first);
        }
        loop {
            self.run_jobs()?;
            let answer: JsValue<'js> = self.kernel.call("poll", ())?;
            if !answer.is_symbol() {
                return Ok(answer);
            }
            #[expect(clippy::cast_precision_loss, reason = "milliseconds of a deadline")]
            let has_more: bool = self.kernel.call("tick", (deadline_ms as f64,))?;
            if !has_more {
                return Err(Fault::Own(ScriptErrorKind::Unanswered, silence.to_owned()));
            }
        }
    }

    /// Runs promise jobs until none is left.
    pub(super) fn run_jobs(&self) -> Result<(), Fault> {
        while self.ctx.execute_pending_job() {
            if self.meter.is_over() {
                return Err(Fault::Own(ScriptErrorKind::Time, String::new()));
            }
        }
        Ok(())
    }
}

impl Sandbox {
    /// A sandbox for this thread.
    pub fn new(limits: SandboxLimits) -> Self {
        let host = Rc::new(HostState {
            log: RefCell::new(LogBuffer::new(&limits)),
            scope: RefCell::new(None),
            inputs: RefCell::new(None),
            decode: RefCell::new(None),
            servers: RefCell::new(None),
            depth_max: limits.depth,
            elements_max: limits.result_elements,
        });
        Self {
            state: Rc::new(State {
                limits,
                meter: Meter::new(),
                host,
                machine: RefCell::new(None),
                closed: RefCell::default(),
                held: Cell::new(0),
                given: RefCell::default(),
                next_session: Cell::new(1),
                calls: Cell::new(0),
                is_parked: Cell::new(false),
                used_us: Cell::new(0),
                slow: RefCell::default(),
            }),
        }
    }

    /// The limits it was made with.
    pub fn limits(&self) -> &SandboxLimits {
        &self.state.limits
    }

    /// What host functions share.
    pub(super) fn host(&self) -> &HostState {
        &self.state.host
    }

    /// Ends calls when this is asked for.
    pub(super) fn end_at(&self, stop: Stop) {
        self.state.meter.end_at(stop);
    }

    /// The lines that scripts have logged since this was last asked.
    pub fn take_log(&self) -> Vec<LogLine> {
        self.state.host.log.borrow_mut().take()
    }

    /// Runs `work` in the realm's context under the limits. `weight` is about how many bytes the
    /// call's arguments take.
    pub(super) fn enter<R>(
        &self,
        realm: &Realm,
        activity: Activity<'_>,
        weight: usize,
        work: impl FnOnce(&Entered<'_, '_>) -> Result<R, Fault>,
    ) -> Result<R, ScriptError> {
        let state = &*self.state;
        let (time, is_slice) = match state.limits.slice {
            Some(slice) if activity.is_load => (slice * LOADING_SLICES, true),
            Some(slice) => (slice, true),
            None if activity.is_load => (Duration::from_millis(state.limits.load_time_ms), false),
            None => (Duration::from_millis(state.limits.time_ms), false),
        };
        let instance = self.instance(realm, activity)?;
        self.set_memory(weight);
        let (result, is_idle) = instance.context().with(|ctx| {
            state.meter.arm(time, is_slice);
            let result = Self::work(&ctx, state, &instance, work);
            // Jobs that nobody waits for run now or never.
            let rest = match &result {
                Ok(_) => run_rest(&ctx, &state.meter),
                Err(_) => true,
            };
            let result = result.map_err(|fault| explain(&ctx, fault, activity, &state.meter));
            let is_limit = result.as_ref().err().is_some_and(ScriptError::is_limit);
            (result, rest && !is_limit)
        });
        state.used_us.set(state.used_us.get().saturating_add(state.meter.used_us()));
        // The interpreter asks the meter whatever it runs, also when it only makes the next realm.
        state.meter.disarm();
        state.host.scope.borrow_mut().take();
        state.host.inputs.borrow_mut().take();
        if !activity.is_load {
            self.measure(Duration::ZERO);
        }
        if !is_idle {
            drop(instance);
            self.rebuild(realm.id());
        } else if result.is_err() {
            // What a failed call left in the queue must not run in the next one.
            drop(instance);
            if self.has_jobs() {
                self.rebuild(realm.id());
            }
        }
        result
    }

    fn work<R>(
        ctx: &Ctx<'_>,
        state: &State,
        instance: &Instance,
        work: impl FnOnce(&Entered<'_, '_>) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        let kernel = instance.kernel(ctx)?;
        let entered = Entered { ctx, instance, kernel, limits: &state.limits, meter: &state.meter };
        work(&entered)
    }

    fn has_jobs(&self) -> bool {
        let machine = self.state.machine.borrow();
        machine.as_ref().is_some_and(|machine| machine.runtime.is_job_pending())
    }

    /// The realm's instance on this thread, made if there is none.
    fn instance(&self, realm: &Realm, activity: Activity<'_>) -> Result<Rc<Instance>, ScriptError> {
        let state = &*self.state;
        let failed =
            || ScriptError::new(ScriptErrorKind::Memory, activity.name, "no memory for a realm");
        let mut machine = state.machine.borrow_mut();
        let machine = match &mut *machine {
            Some(machine) => machine,
            empty => empty.insert(Machine::new(state).ok_or_else(failed)?),
        };
        machine.close_sessions(state);
        machine.uses += 1;
        if let Some(slot) = machine.instances.get_mut(&realm.id()) {
            slot.last_use = machine.uses;
            return Ok(Rc::clone(&slot.instance));
        }
        let began = clock::instant();
        machine.make_room(state.limits.realms);
        machine.runtime.set_memory_limit(0);
        let instance = Instance::new(&machine.runtime, realm, &state.host).map_err(|_| failed())?;
        let instance = Rc::new(instance);
        machine.instances.insert(
            realm.id(),
            Slot {
                instance: Rc::clone(&instance),
                realm: realm.downgrade(),
                last_use: machine.uses,
            },
        );
        machine.floor = machine.floor.saturating_add(REALM_BYTES);
        machine.unmeasured += began.elapsed();
        Ok(instance)
    }

    /// Measures the heap of what was loaded when that is due; `took` is the time of something that was loaded now.
    fn measure(&self, took: Duration) {
        if let Some(machine) = &mut *self.state.machine.borrow_mut() {
            machine.unmeasured += took;
            machine.measure_when_due();
        }
    }

    fn set_memory(&self, weight: usize) {
        let state = &*self.state;
        if let Some(machine) = &*state.machine.borrow() {
            let limit = machine
                .floor
                .saturating_add(state.held.get())
                .saturating_add(weight)
                .saturating_add(state.limits.memory_bytes);
            machine.runtime.set_memory_limit(limit);
        }
    }

    /// Drops a realm's instance, or all if jobs of it are still queued.
    fn rebuild(&self, realm: u64) {
        let state = &*self.state;
        let Some(mut machine) = state.machine.borrow_mut().take() else { return };
        machine.runtime.set_memory_limit(0);
        let has_jobs = machine.runtime.is_job_pending();
        if !has_jobs {
            machine.instances.remove(&realm);
            machine.runtime.run_gc();
            machine.measure();
            *state.machine.borrow_mut() = Some(machine);
        }
    }

    /// The microseconds of the processor that calls have taken since this was last asked; calls that are too
    /// short to be looked at count nothing.
    pub fn take_used_us(&self) -> u64 {
        self.state.used_us.take()
    }

    /// What is known of scripts that are not done within a slice.
    pub(super) fn slow(&self) -> &RefCell<SlowScripts> {
        &self.state.slow
    }

    // ---- for sessions

    pub(super) fn next_session(&self) -> u64 {
        let id = self.state.next_session.get();
        self.state.next_session.set(id + 1);
        id
    }

    /// The number of a call that begins now.
    pub(super) fn next_call(&self) -> u32 {
        self.state.calls.set(self.state.calls.get().wrapping_add(1));
        self.state.calls.get()
    }

    /// What the running call may ask for until it ends.
    pub(super) fn set_inputs(&self, inputs: &Rc<Inputs>) {
        self.state.host.inputs.replace(Some(Rc::clone(inputs)));
    }

    pub(super) fn hold(&self, bytes: usize) {
        self.state.held.set(self.state.held.get().saturating_add(bytes));
    }

    /// Counts what an execution of a connector was given as held by its realm.
    pub(super) fn hold_for(&self, realm: &Realm, bytes: usize) {
        let mut given = self.state.given.borrow_mut();
        given.entry(realm.id()).or_insert_with(|| (realm.downgrade(), 0)).1 += bytes;
        self.hold(bytes);
    }

    /// The realm holds nothing any more.
    pub(super) fn hold_nothing_for(&self, realm: &Realm) {
        if let Some((_, bytes)) = self.state.given.borrow_mut().remove(&realm.id()) {
            self.state.held.set(self.state.held.get().saturating_sub(bytes));
        }
    }

    /// Drops what belongs to executions of connectors that nobody waits for any more.
    pub(super) fn release_dead(&self) {
        let mut given = self.state.given.borrow_mut();
        let before = given.len();
        given.retain(|_, (realm, bytes)| {
            let is_dead = realm.is_dead();
            if is_dead {
                self.state.held.set(self.state.held.get().saturating_sub(*bytes));
            }
            !is_dead
        });
        if given.len() < before
            && let Some(machine) = &mut *self.state.machine.borrow_mut()
        {
            machine.instances.retain(|_, slot| !slot.realm.is_dead());
        }
    }

    pub(super) fn close_session(&self, realm: u64, session: u64, bytes: usize) {
        self.state.held.set(self.state.held.get().saturating_sub(bytes));
        self.state.closed.borrow_mut().push((realm, session));
    }

    /// Makes a place for a call for rows that lets others go first, with all the memory that it may have;
    /// there is one, so that calls do not pile up their memory.
    pub(super) fn park(&self, realm: &Realm, serial: u64, weight: usize) -> Option<Parking> {
        if self.state.is_parked.replace(true) {
            return None;
        }
        let bytes = weight.saturating_add(self.state.limits.memory_bytes);
        self.hold(bytes);
        Some(Parking {
            sandbox: self.clone(),
            realm: realm.id(),
            id: self.next_session(),
            serial,
            bytes,
        })
    }

    /// What `args.decode()` calls until this is called again.
    pub(crate) fn set_decoder(&self, decode: Option<Decode>) {
        self.state.host.decode.replace(decode);
    }

    pub(super) fn set_scope(&self, scope: Option<&Scope>) {
        *self.state.host.scope.borrow_mut() = scope.cloned();
    }

    /// Whether an entry is loaded into its realm on this thread.
    pub(super) fn is_loaded(&self, realm: &Realm, entry: &Entry) -> bool {
        let machine = self.state.machine.borrow();
        let slot = machine.as_ref().and_then(|machine| machine.instances.get(&realm.id()));
        slot.is_some_and(|slot| slot.instance.is_loaded(entry))
    }

    /// Loads an entry into a realm and looks at its exports.
    pub(super) fn load<R>(
        &self,
        realm: &Realm,
        entry: &Entry,
        name: &str,
        look: impl for<'a, 'js> FnOnce(&Entered<'a, 'js>, JsValue<'js>) -> Result<R, Fault>,
    ) -> Result<R, ScriptError> {
        let activity = Activity { subject: "Module", name, is_load: true };
        let began = clock::instant();
        let result = self.enter(realm, activity, 0, |entered| {
            let exports = entered.instance.load(entered.ctx, entry)?;
            look(entered, exports)
        });
        self.measure(began.elapsed());
        result
    }
}

/// The place of a call for rows that lets others go first.
pub(super) struct Parking {
    sandbox: Sandbox,
    realm: u64,
    id: u64,
    /// Of the instance that the call began in.
    pub(super) serial: u64,
    bytes: usize,
}

impl Parking {
    /// Its number inside the interpreter.
    #[expect(clippy::cast_precision_loss, reason = "ids count up from 1")]
    pub(super) fn number(&self) -> f64 {
        self.id as f64
    }
}

impl Drop for Parking {
    fn drop(&mut self) {
        self.sandbox.state.is_parked.set(false);
        self.sandbox.close_session(self.realm, self.id, self.bytes);
    }
}

/// Runs left-over jobs; false if they do not come to an end in time.
fn run_rest(ctx: &Ctx<'_>, meter: &Meter) -> bool {
    while ctx.execute_pending_job() {
        if meter.is_over() {
            return false;
        }
    }
    true
}

impl Machine {
    fn new(state: &State) -> Option<Self> {
        let runtime = Runtime::new().ok()?;
        runtime.set_max_stack_size(state.limits.stack_bytes);
        runtime.set_loader(NoImports, NoImports);
        let meter = state.meter.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || meter.is_over())));
        // `new Promise` and async functions turn the interruption into a rejection and go on. The
        // interpreter asks at every so many steps, so in a loop it may hit the same harmless place
        // for ever; a few steps more each time make it hit another one.
        let meter = state.meter.clone();
        let shift = AtomicU32::new(0);
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |ctx: Ctx<'_>, _promise, _reason, is_handled| {
                if is_handled || !meter.is_expired() {
                    return;
                }
                let steps = shift.fetch_add(1, Ordering::Relaxed) % 97 + 1;
                if ctx.eval::<(), _>(format!("for (let i = 0; i < {steps}; i++) {{}}")).is_err() {
                    ctx.catch();
                }
            },
        )));
        Some(Self {
            instances: HashMap::default(),
            floor: 0,
            measuring: Duration::ZERO,
            unmeasured: Duration::ZERO,
            uses: 0,
            runtime,
        })
    }

    /// Measures the heap of what was loaded, which counts as taken for good. The interpreter walks over all of it for
    /// that, so it waits until other work has taken as long: many realms cost what each of them does.
    fn measure_when_due(&mut self) {
        if self.unmeasured.is_zero() {
            return;
        }
        self.unmeasured += CALL_TIME;
        if self.unmeasured >= self.measuring {
            self.measure();
        }
    }

    fn measure(&mut self) {
        let began = clock::instant();
        self.floor = usize::try_from(self.runtime.memory_usage().malloc_size).unwrap_or(0);
        self.measuring = began.elapsed();
        self.unmeasured = Duration::ZERO;
    }

    fn close_sessions(&self, state: &State) {
        let closed = std::mem::take(&mut *state.closed.borrow_mut());
        for (realm, session) in closed {
            let Some(slot) = self.instances.get(&realm) else { continue };
            slot.instance.context().with(|ctx| {
                #[expect(clippy::cast_precision_loss, reason = "ids count up from 1")]
                let id = session as f64;
                let kernel = slot.instance.kernel(&ctx);
                if kernel.and_then(|kernel| kernel.call::<_, ()>("closeSession", (id,))).is_err() {
                    ctx.catch();
                }
            });
        }
    }

    /// Drops instances of realms that nobody holds, and those that were least recently used above the limit.
    fn make_room(&mut self, realms_max: usize) {
        self.instances.retain(|_, slot| !slot.realm.is_dead());
        while self.instances.len() >= realms_max.max(1) {
            let oldest = self.instances.iter().min_by_key(|(_, slot)| slot.last_use);
            let Some(id) = oldest.map(|(id, _)| *id) else { break };
            self.instances.remove(&id);
        }
    }
}
