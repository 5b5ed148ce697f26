//! What one run may use, counted where it is made (SAF-25 to SAF-27).
//!
//! In: charges for memory, rows, pairs, requests and work, from all that the run does. Out: an error as
//! soon as a limit is exceeded, and pauses that let other runs go first. What a limit has refused stays
//! refused: neither a fallback nor a `try` nor a partial failure makes an answer of it, so a run gives
//! the value that it gives without limits, or the error of a limit.
//!
//! Work is counted in units, one for about as much as a row costs, and the clock is read only after
//! many of them: what is small pays an addition.

mod reservation;

use std::{
    cell::{Cell, OnceCell},
    rc::Rc,
    time::Duration,
};

use qlio_data::Value;
use qlio_plan::RouteSpec;
use qlio_syntax::{ast::RunLimit, diagnostic::codes};

use self::reservation::Reservations;
pub(crate) use self::reservation::Reserved;
use crate::{
    clock,
    error::{Fact, RunError},
    meter::Meter,
    request::Caller,
    settings::{Limits, Settings},
    transport::Room,
    turnstile::give_way,
};

/// Units of work between two looks at the clock: far less than a slice takes.
const LOOK_UNITS: u32 = 1024;

/// How long a run works before others have their turn, in microseconds.
const SLICE_US: u64 = 1_000;

/// Parts of a value that are weighed before others may have their turn; together they cost about
/// [`WEIGHED_UNITS`].
const WEIGHED_PARTS: usize = 1_024;

/// The work of weighing [`WEIGHED_PARTS`].
const WEIGHED_UNITS: usize = 256;

/// Bytes of a text that are decoded for a unit of work.
const DECODED_BYTES_PER_UNIT: usize = 128;

/// Units of a call of a script that is too short to be measured.
const SCRIPT_UNITS: usize = 512;

/// What a unit costs at least, in nanoseconds, for the work before the first look of a turn.
const UNIT_NS: u64 = 30;

/// About what an element of a list or a member of an object takes that a decoder builds, without its text.
const ELEMENT_BYTES: usize = 64;

/// Bytes of the place of a cell in a text.
pub(crate) const CELL_BYTES: usize = 8;

/// Elements and members that a decoder may build in so much memory.
pub(crate) fn elements_in(bytes: usize) -> usize {
    bytes / ELEMENT_BYTES
}

/// The most that a decoder may build of so many bytes: in the densest format each of them is an element.
pub(crate) fn most_built_of(bytes: usize) -> usize {
    bytes.saturating_mul(ELEMENT_BYTES)
}

/// Bytes that a value takes beside its text.
pub(crate) const VALUE_BYTES: usize = size_of::<Value>();

/// What a run needs too much of, and how many of what is counted make one of the limit's own unit.
fn describe(limit: RunLimit) -> (&'static str, u64) {
    match limit {
        RunLimit::Memory => ("MiB of memory", 1 << 20),
        RunLimit::Cpu => ("ms of processor time", 1_000),
        RunLimit::Rows => ("rows", 1),
        RunLimit::Pairs => ("pairs of rows to compare", 1),
        RunLimit::Requests => ("upstream requests", 1),
        RunLimit::Upstream => ("MiB of upstream answers", 1 << 20),
    }
}

/// The budget of one run.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    is_adhoc: bool,
    memory: Room,
    reservations: Rc<Reservations>,
    rows: Cell<u64>,
    pairs: Cell<u64>,
    requests: Cell<u64>,
    upstream_bytes: Cell<u64>,
    /// Processor time in microseconds.
    cpu: Cell<u64>,
    /// Work since the last look at the clock.
    units: Cell<u32>,
    /// How often the run was polled: between two polls others have had their turn.
    turn: Cell<u64>,
    slice: Cell<Slice>,
    /// What was refused first, and the error that says so.
    refused: OnceCell<(RunLimit, RunError)>,
    /// Processor time of scripts in microseconds.
    scripts: Cell<u64>,
}

/// What is known of the time since the run was given its turn.
#[derive(Debug, Clone, Copy, Default)]
struct Slice {
    turn: u64,
    /// Times of the thread, in microseconds.
    began: u64,
    looked: u64,
}

impl Budget {
    /// That of a run; a route may say what its runs may use.
    pub(crate) fn new(settings: &Settings, route: Option<&RouteSpec>, caller: Caller) -> Self {
        let is_adhoc = matches!(caller, Caller::AdHoc { .. });
        let mut limits = if is_adhoc { settings.adhoc_limits } else { settings.limits };
        let of_route = route.filter(|_| !is_adhoc);
        for (limit, most) in of_route.iter().flat_map(|route| &route.limits) {
            *limits.limit_mut(*limit) = *most;
        }
        if caller == Caller::Operator {
            // Nobody else waits for the thread of a command.
            limits.cpu_ms = u64::MAX / 1_000;
        }
        Self::of(limits, is_adhoc)
    }

    fn of(limits: Limits, is_adhoc: bool) -> Self {
        Self {
            limits,
            is_adhoc,
            memory: Room::new(limits.memory_mib.saturating_mul(1 << 20)),
            reservations: Rc::default(),
            rows: Cell::default(),
            pairs: Cell::default(),
            requests: Cell::default(),
            upstream_bytes: Cell::default(),
            cpu: Cell::default(),
            units: Cell::default(),
            turn: Cell::default(),
            slice: Cell::default(),
            refused: OnceCell::new(),
            scripts: Cell::default(),
        }
    }

    /// Charges bytes that the run keeps: of texts, values, bodies. They are not given back, because most
    /// of what a run makes lives until its end.
    pub(crate) fn charge_memory(&self, bytes: usize) -> Result<(), RunError> {
        let asked = self.memory.take(bytes as u64);
        if asked > self.memory.bytes_max() {
            return Err(self.refuse(RunLimit::Memory, self.memory.bytes_max(), asked));
        }
        Ok(())
    }

    /// Bytes that may still be charged.
    pub(crate) fn memory_left(&self) -> usize {
        self.memory.left()
    }

    /// The memory of the run, for those who use it meanwhile.
    pub(crate) fn room(&self) -> &Room {
        &self.memory
    }

    /// Memory for a decoder that may build `most` bytes at once with others of the run. It waits until that much is
    /// left beside what others may fill; with nobody to wait for, it has all that is left. Nobody who holds
    /// a reservation may ask for another.
    pub(crate) async fn reserve(&self, most: usize) -> Reserved {
        self.reservations.reserve(most, || self.memory_left()).await
    }

    /// More memory is needed than is left.
    pub(crate) fn refuse_memory(&self) -> RunError {
        let limit = self.memory.bytes_max();
        self.refuse(RunLimit::Memory, limit, limit.saturating_add(1))
    }

    /// A decoder has built as much as there was memory for, and has read `offset` of `length` bytes by then; the
    /// rest is taken to be alike.
    pub(crate) fn refuse_decoded(&self, offset: usize, length: usize) -> RunError {
        let whole = self.memory_left() as u128 * length as u128 / offset.max(1) as u128;
        let asked = self.memory.used().saturating_add(u64::try_from(whole).unwrap_or(u64::MAX));
        let limit = self.memory.bytes_max();
        self.refuse(RunLimit::Memory, limit, asked.max(limit.saturating_add(1)))
    }

    /// Charges a value that was made of others. Parts that it shares with them count again: whoever
    /// writes it out or looks for something in it meets them as often.
    pub(crate) async fn charge_value(&self, value: &Value) -> Result<(), RunError> {
        let bytes = self.weigh(value).await?;
        self.charge_memory(bytes)
    }

    /// What a value weighs; more than is left for one that weighs more than that.
    ///
    /// # Errors
    /// The run has used its processor time.
    pub(crate) async fn weigh(&self, value: &Value) -> Result<usize, RunError> {
        let mut weighing = value.weighing(self.memory_left());
        while weighing.go_on(WEIGHED_PARTS) {
            if self.spend(WEIGHED_UNITS) {
                self.pause().await?;
            }
        }
        Ok(weighing.bytes())
    }

    /// [`charge_value`](Self::charge_value) for a value that a literal of the script makes.
    pub(crate) fn charge_literal(&self, value: &Value) -> Result<(), RunError> {
        let mut weighing = value.weighing(self.memory_left());
        while weighing.go_on(WEIGHED_PARTS) {
            self.work(WEIGHED_UNITS);
        }
        self.charge_memory(weighing.bytes())
    }

    /// Counts the work of decoding so many bytes.
    pub(crate) fn work_of_decoding(&self, bytes: usize) {
        self.work(bytes / DECODED_BYTES_PER_UNIT);
    }

    pub(crate) fn charge_rows(&self, count: usize) -> Result<(), RunError> {
        self.charge(RunLimit::Rows, &self.rows, count as u64, self.limits.rows)
    }

    /// Charges pairs of rows that are compared, or put together without a comparison.
    pub(crate) fn charge_pairs(&self, count: u64) -> Result<(), RunError> {
        self.charge(RunLimit::Pairs, &self.pairs, count, self.limits.pairs)
    }

    /// Charges requests that are about to be sent.
    pub(crate) fn charge_requests(&self, count: usize) -> Result<(), RunError> {
        self.charge(RunLimit::Requests, &self.requests, count as u64, self.limits.requests)
    }

    /// Charges bytes that an upstream has sent, as they came.
    pub(crate) fn charge_upstream(&self, bytes: usize) -> Result<(), RunError> {
        let limit = self.limits.upstream_mib.saturating_mul(1 << 20);
        self.charge(RunLimit::Upstream, &self.upstream_bytes, bytes as u64, limit)
    }

    fn charge(
        &self,
        limited: RunLimit,
        used: &Cell<u64>,
        more: u64,
        limit: u64,
    ) -> Result<(), RunError> {
        let asked = used.get().saturating_add(more);
        used.set(asked);
        if asked > limit { Err(self.refuse(limited, limit, asked)) } else { Ok(()) }
    }

    /// The error of a limit; the first one is that of the run.
    #[cold]
    fn refuse(&self, limited: RunLimit, limit: u64, asked: u64) -> RunError {
        let make = || {
            let (what, unit) = describe(limited);
            let name = limited.name();
            let (limit, asked) = (limit / unit, asked.div_ceil(unit));
            let prefix = if self.is_adhoc { "adhoc." } else { "" };
            let or_clause = if self.is_adhoc {
                String::new()
            } else {
                format!(", or say `using limits {name} = {asked}` in the route")
            };
            let message = format!(
                "the run asks for {asked} {what}, more than {prefix}limits.{name} = {limit}; ask for less, or raise the setting{or_clause}"
            );
            let error = RunError::client(codes::RUN_LIMIT, message);
            (limited, error.with(Fact::Limit(limit)).with(Fact::Asked(asked)))
        };
        self.refused.get_or_init(make).1.clone()
    }

    /// What a limit has refused, whatever was made of it since.
    pub(crate) fn check(&self) -> Result<(), RunError> {
        match self.refused.get() {
            None => Ok(()),
            Some((_, error)) => Err(error.clone()),
        }
    }

    /// Counts what was refused, and what scripts have taken.
    pub(crate) fn tell(&self, meter: &Meter) {
        if let Some((limit, _)) = self.refused.get() {
            meter.refused(*limit);
        }
        if self.scripts.get() > 0 {
            meter.script_us.add(self.scripts.get());
        }
    }

    /// The run has its turn again.
    #[inline]
    pub(crate) fn begin_turn(&self) {
        self.turn.set(self.turn.get() + 1);
    }

    /// Counts work that is done in one go.
    #[inline]
    pub(crate) fn work(&self, units: usize) {
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        self.units.set(self.units.get().saturating_add(units));
    }

    /// Counts work, before it or after it; whether a [`pause`](Self::pause) is due. Loops ask that for each row, so it
    /// is no future of its own.
    #[inline]
    #[must_use]
    pub(crate) fn spend(&self, units: usize) -> bool {
        self.work(units);
        self.is_due()
    }

    /// Whether a [`pause`](Self::pause) is due for work that was counted before.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.units.get() >= LOOK_UNITS
    }

    /// Lets others go first if the run has worked for a slice.
    ///
    /// # Errors
    /// The run has used its processor time.
    #[cold]
    pub(crate) async fn pause(&self) -> Result<(), RunError> {
        if self.is_due() && self.take_time()? >= SLICE_US {
            give_way().await;
            // What follows is not seen as work if it is short.
            self.restart_slice();
        }
        Ok(())
    }

    /// Charges the time since the last look; how long the turn has lasted so far.
    fn take_time(&self) -> Result<u64, RunError> {
        let units = u64::from(self.units.replace(0));
        let now = clock::thread_us();
        let turn = self.turn.get();
        let mut slice = self.slice.get();
        let used = if slice.turn == turn {
            now.saturating_sub(slice.looked)
        } else {
            let guess = units * UNIT_NS / 1_000;
            slice = Slice { turn, began: now.saturating_sub(guess), looked: now };
            guess
        };
        slice.looked = now;
        self.slice.set(slice);
        self.charge_cpu(used)?;
        Ok(now.saturating_sub(slice.began))
    }

    /// Charges processor time, in microseconds.
    fn charge_cpu(&self, microseconds: u64) -> Result<(), RunError> {
        let limit = self.limits.cpu_ms.saturating_mul(1_000);
        self.charge(RunLimit::Cpu, &self.cpu, microseconds, limit)
    }

    /// Charges time of the processor that another thread has spent for the run.
    pub(crate) fn charge_time(&self, time: Duration) -> Result<(), RunError> {
        self.charge_cpu(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
    }

    /// The processor time that may still be charged, in microseconds.
    pub(crate) fn time_left(&self) -> u64 {
        self.limits.cpu_ms.saturating_mul(1_000).saturating_sub(self.cpu.get())
    }

    /// Charges a call of a script that has taken so many microseconds, 0 for one that is too short to be
    /// measured.
    pub(crate) fn charge_script(&self, used_us: u64) -> Result<(), RunError> {
        self.note_script(used_us);
        let units = used_us.saturating_mul(1_000) / UNIT_NS;
        self.work(usize::try_from(units).unwrap_or(usize::MAX).max(SCRIPT_UNITS));
        if self.units.get() < LOOK_UNITS {
            return Ok(());
        }
        self.take_time()?;
        // The next pause may be due.
        self.units.set(LOOK_UNITS);
        Ok(())
    }

    /// Remembers time that a script has taken, for those who count it.
    pub(crate) fn note_script(&self, used_us: u64) {
        self.scripts.set(self.scripts.get().saturating_add(used_us));
    }

    fn restart_slice(&self) {
        let now = clock::thread_us();
        self.slice.set(Slice { turn: self.turn.get(), began: now, looked: now });
    }

    /// Runs something that cannot be counted in units, such as a script, and charges its time.
    pub(crate) fn measure<T>(&self, call: impl FnOnce() -> T) -> Result<T, RunError> {
        self.take_time()?;
        let outcome = call();
        self.take_time()?;
        // The next pause is due if that took long.
        self.units.set(LOOK_UNITS);
        Ok(outcome)
    }
}

#[cfg(test)]
pub(crate) mod turns {
    use super::{Budget, RunError};

    /// What work gives, and how many turns it takes.
    pub(crate) fn turns_of<T>(
        work: impl AsyncFnOnce(&Budget) -> Result<T, RunError>,
    ) -> (T, usize) {
        let budget = Budget::unlimited();
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let mut turns = 0;
        let outcome = runtime.block_on(async {
            let mut work = std::pin::pin!(work(&budget));
            std::future::poll_fn(|context| {
                budget.begin_turn();
                turns += 1;
                work.as_mut().poll(context)
            })
            .await
        });
        (outcome.expect("no limit"), turns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Budget {
        /// A budget that refuses nothing.
        pub(crate) fn unlimited() -> Self {
            let most = u64::MAX;
            let limits = Limits {
                memory_mib: most,
                cpu_ms: most,
                rows: most,
                pairs: most,
                requests: most,
                upstream_mib: most,
            };
            Self::of(limits, false)
        }
    }

    fn adhoc() -> Budget {
        let caller = Caller::AdHoc { may_call_private: false };
        Budget::new(&Settings::default(), None, caller)
    }

    #[test]
    fn charges_add_up_to_the_limit_and_what_is_refused_stays_refused() {
        let budget = adhoc();
        budget.charge_requests(150).expect("within");
        budget.charge_requests(50).expect("just within");
        budget.check().expect("nothing was refused");
        let error = budget.charge_requests(1).expect_err("one more");
        assert_eq!(
            error.message,
            "the run asks for 201 upstream requests, more than adhoc.limits.requests = 200; ask for less, or raise the setting"
        );
        assert_eq!(error.facts, [Fact::Limit(200), Fact::Asked(201)]);
        budget.charge_rows(usize::MAX).expect_err("a second limit");
        assert_eq!(budget.check().expect_err("the first one counts").message, error.message);
    }

    #[test]
    fn memory_is_told_in_the_unit_of_the_setting() {
        let budget = adhoc();
        budget.charge_memory(64 << 20).expect("just within");
        assert_eq!(budget.memory_left(), 0);
        let error = budget.charge_memory(1).expect_err("one byte more");
        assert_eq!(error.facts, [Fact::Limit(64), Fact::Asked(65)]);
    }

    #[test]
    fn a_body_of_too_many_elements_asks_for_what_all_of_it_would_take() {
        let budget = adhoc();
        budget.charge_memory(4 << 20).expect("within");
        let error = budget.refuse_decoded(25, 100);
        assert_eq!(error.facts, [Fact::Limit(64), Fact::Asked(4 + 60 * 4)]);
        let error = adhoc().refuse_decoded(100, 100);
        assert_eq!(error.facts, [Fact::Limit(64), Fact::Asked(65)]);
    }

    #[tokio::test]
    async fn decoders_at_once_share_what_is_left() {
        let budget = adhoc();
        budget.charge_memory(4 << 20).expect("within");
        let (first, second) = (budget.reserve(20 << 20).await, budget.reserve(30 << 20).await);
        assert_eq!((first.bytes(), second.bytes()), (20 << 20, 30 << 20));
        let third = async {
            let third = budget.reserve(30 << 20).await;
            (third.bytes(), budget.memory_left())
        };
        let others = async {
            tokio::task::yield_now().await;
            // The first has made less than it might have, and has charged it.
            budget.charge_memory(1 << 20).expect("within");
            drop(first);
            tokio::task::yield_now().await;
            drop(second);
        };
        // 60 MiB were left: with 59 beside 30 that are reserved there is no room for 30 more.
        let ((bytes, left), ()) = tokio::join!(third, others);
        assert_eq!((bytes, left), (30 << 20, 59 << 20));
    }

    #[tokio::test]
    async fn a_decoder_alone_has_all_that_is_left() {
        let budget = adhoc();
        let all = budget.reserve(usize::MAX).await;
        assert_eq!(all.bytes(), 64 << 20);
        let waiting = budget.reserve(1);
        let mut waiting = std::pin::pin!(waiting);
        let is_pending = std::future::poll_fn(|context| {
            std::task::Poll::Ready(waiting.as_mut().poll(context).is_pending())
        });
        assert!(is_pending.await);
        drop(all);
        budget.charge_memory(64 << 20).expect("just within");
        assert_eq!(waiting.await.bytes(), 0, "what is left is all that there is to have");
    }

    #[tokio::test]
    async fn what_a_decoder_has_made_is_held_until_it_is_charged() {
        let budget = adhoc();
        let mut first = budget.reserve(usize::MAX).await;
        let second = async {
            let second = budget.reserve(20 << 20).await;
            (second.bytes(), budget.memory_left())
        };
        let third = async {
            let third = budget.reserve(40 << 20).await;
            (third.bytes(), budget.memory_left())
        };
        let decoder = async {
            tokio::task::yield_now().await;
            first.settle(30 << 20);
            tokio::task::yield_now().await;
            budget.charge_memory(30 << 20).expect("within");
            drop(first);
        };
        // Of 64 MiB 30 are held: there is room for 20 at once, for 40 only when nobody is to wait for.
        let (second, third, ()) = tokio::join!(second, third, decoder);
        assert_eq!((second, third), ((20 << 20, 64 << 20), (34 << 20, 34 << 20)));
    }

    #[test]
    fn a_command_has_no_limit_of_time() {
        let budget = Budget::new(&Settings::default(), None, Caller::Operator);
        budget.charge_cpu(u64::MAX / 2_000).expect("no limit");
        adhoc().charge_cpu(200_001).expect_err("more than 200 ms");
    }

    #[tokio::test]
    async fn work_pauses_once_in_a_slice() {
        let budget = Budget::unlimited();
        budget.begin_turn();
        let work = async {
            let began = clock::thread_us();
            while clock::thread_us() < began + 10 * SLICE_US {
                assert!(budget.spend(LOOK_UNITS as usize));
                budget.pause().await.expect("no limit");
            }
        };
        let mut work = std::pin::pin!(work);
        let mut turns = 0;
        std::future::poll_fn(|context| {
            budget.begin_turn();
            turns += 1;
            work.as_mut().poll(context)
        })
        .await;
        assert!(turns >= 5, "{turns} turns");
    }
}
