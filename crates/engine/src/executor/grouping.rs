//! Groups: rows that have the same keys, and what is computed of them (GRP-1 to GRP-14).
//!
//! In: rows. Out: a row for each group, of its keys and its aggregates. Values are added as the rows come,
//! so a group holds no more than its aggregates need; only those with an order keep what they are given.

use std::collections::{HashMap, HashSet};

use foldhash::quality::RandomState;
use qlio_data::{
    Value,
    compute::{
        ComputeError,
        aggregate::{Accumulator, Aggregate},
        order::Key,
    },
};
use qlio_plan::operator::{AggregateCall, Grouping};
use qlio_syntax::diagnostic::codes;

use crate::{
    budget::VALUE_BYTES,
    error::RunError,
    heavy::LetGo,
    operator::{
        program::{Machine, do_apart, is_large, key_of},
        rows::{Rows, ValueRows},
        sort,
        sort_keys::SortKeys,
        tuples::{Tuple, Tuples},
    },
    run::Run,
};

/// Bytes that an aggregate takes over for a unit of work.
const BYTES_PER_UNIT: usize = 128;

/// An aggregate that holds more is finished by a heavy thread: the middle of so many numbers is not found at
/// once.
const FINISHED_HERE_BYTES_MAX: usize = 256 * 1024;

/// The groups of rows, in the order in which they first appear. If the rows belong to others, of which there are so
/// many, those of each are grouped by themselves, and there is the owner of each group.
pub(super) async fn group(
    run: &Run<'_>,
    machine: &Machine<'_>,
    grouping: &Grouping,
    rows: &Tuples,
    owners: Option<(&[u32], usize)>,
) -> Result<(Rows, Vec<u32>), RunError> {
    let apart = run.apart(rows.len());
    let mut places: LetGo<'_, HashMap<Box<[Key]>, usize, RandomState>> =
        LetGo::new(HashMap::default(), apart);
    let mut groups = LetGo::new(Groups::default(), apart);
    let units = 1 + grouping.units();
    let mut keys = Vec::with_capacity(grouping.keys.len());
    let mut stack = Vec::new();
    let mut owner_of_groups = Vec::new();
    // Without keys each owner has one group, also of no rows.
    let has_whole = grouping.keys.is_empty();
    if has_whole && owners.is_none() {
        groups.add(machine, grouping, &[])?;
    }
    let mut next_owner = 0;
    for number in 0..rows.len() {
        let tuple = rows.tuple(number);
        let owner = owners.map(|(owners, _)| owners[number]);
        if let Some(owner) = owner
            && owner >= next_owner
        {
            places.clear();
            for owner in (next_owner..=owner).filter(|_| has_whole) {
                groups.add(machine, grouping, &[])?;
                owner_of_groups.push(owner);
            }
            next_owner = owner + 1;
        }
        let mut values = Vec::with_capacity(grouping.keys.len());
        for program in &grouping.keys {
            let value = machine.run(program, &mut stack, tuple, number).await?;
            keys.push(key_of(machine.budget, machine.heavy, &value).await?);
            values.push(value);
        }
        let place = match places.get(keys.as_slice()) {
            _ if keys.is_empty() => groups.count - 1,
            Some(place) => *place,
            None => {
                let place = groups.add(machine, grouping, &values)?;
                owner_of_groups.extend(owner);
                machine.budget.charge_memory(keys.len() * size_of::<Key>() + size_of::<usize>())?;
                places.insert(keys.as_slice().into(), place);
                place
            }
        };
        keys.clear();
        let members = groups.members_of(place, grouping.aggregates.len());
        for (call, member) in grouping.aggregates.iter().zip(members) {
            if member.has_failed {
                continue;
            }
            match member.take(machine, call, &mut stack, tuple, number).await {
                Err(error) if call.is_guarded && error.code == codes::WRONG_OPERAND => {
                    member.has_failed = true;
                }
                outcome => outcome?,
            }
        }
        if machine.budget.spend(units) {
            machine.budget.pause().await?;
        }
    }
    if let Some((_, count)) = owners.filter(|_| has_whole) {
        for owner in next_owner..count as u32 {
            groups.add(machine, grouping, &[])?;
            owner_of_groups.push(owner);
            if machine.budget.spend(units) {
                machine.budget.pause().await?;
            }
        }
    }
    Ok((finish(run, machine, grouping, groups).await?, owner_of_groups))
}

/// Groups in the making.
#[derive(Default)]
struct Groups {
    count: usize,
    /// The keys of all groups, side by side.
    keys: Vec<Value>,
    /// The aggregates of all groups, side by side.
    members: Vec<Member>,
}

impl Groups {
    /// Adds a group of no rows; gives its place.
    fn add(
        &mut self,
        machine: &Machine<'_>,
        grouping: &Grouping,
        keys: &[Value],
    ) -> Result<usize, RunError> {
        let aggregates = &grouping.aggregates;
        // The keys and what becomes of the aggregates are a row in the end.
        machine.budget.charge_memory(
            keys.len() * VALUE_BYTES + aggregates.len() * (size_of::<Member>() + VALUE_BYTES),
        )?;
        self.keys.extend_from_slice(keys);
        self.members.extend(aggregates.iter().map(Member::new));
        self.count += 1;
        Ok(self.count - 1)
    }

    fn members_of(&mut self, group: usize, width: usize) -> &mut [Member] {
        &mut self.members[group * width..][..width]
    }
}

/// An aggregate of one group.
struct Member {
    accumulator: Accumulator,
    /// For `distinct`, `order by` and `limit`.
    selection: Option<Box<Selection>>,
    /// It stands inside of `try`, and something could not be computed.
    has_failed: bool,
}

/// What an aggregate is given, as far as it must be known later.
#[derive(Default)]
struct Selection {
    /// What it has been given.
    seen: HashSet<Vec<Key>, RandomState>,
    /// How often it has been given something.
    taken: u64,
    /// The arguments that wait for their order, and the rows they come from.
    waiting: Vec<(Arguments, usize)>,
    /// The keys of their order, side by side.
    keys: Vec<Key>,
}

/// The values of the arguments; what is not there is absent.
type Arguments = [Value; 2];

impl Member {
    fn new(call: &AggregateCall) -> Self {
        let is_plain = !call.is_distinct && call.order.is_empty() && call.limit.is_none();
        Self {
            accumulator: Accumulator::new(call.aggregate),
            selection: (!is_plain).then(Box::default),
            has_failed: false,
        }
    }

    /// Takes a row.
    async fn take(
        &mut self,
        machine: &Machine<'_>,
        call: &AggregateCall,
        stack: &mut Vec<Value>,
        tuple: Tuple<'_>,
        number: usize,
    ) -> Result<(), RunError> {
        if let Some(filter) = &call.filter
            && !machine.run(filter, stack, tuple, number).await?.is_truthy()
        {
            return Ok(());
        }
        if call.arguments.is_empty() {
            self.accumulator.add_row();
            return Ok(());
        }
        let mut arguments = Arguments::default();
        for (program, argument) in call.arguments.iter().zip(&mut arguments) {
            *argument = machine.run(program, stack, tuple, number).await?;
        }
        if call.order.is_empty() {
            return self.give(machine, call, &arguments, number).await;
        }
        // What is skipped anyway need not wait.
        let keeps_null = matches!(call.aggregate, Aggregate::First | Aggregate::Last);
        if arguments[0].is_nothing() && !keeps_null {
            return Ok(());
        }
        let Some(selection) = &mut self.selection else { return Ok(()) };
        for key in &call.order {
            let value = machine.run(&key.program, stack, tuple, number).await?;
            selection.keys.push(key_of(machine.budget, machine.heavy, &value).await?);
        }
        machine
            .budget
            .charge_memory(call.order.len() * size_of::<Key>() + size_of::<(Arguments, usize)>())?;
        selection.waiting.push((arguments, number));
        Ok(())
    }

    /// Gives the arguments to the aggregate, unless it has had them or has enough.
    async fn give(
        &mut self,
        machine: &Machine<'_>,
        call: &AggregateCall,
        arguments: &Arguments,
        number: usize,
    ) -> Result<(), RunError> {
        let [first, second] = arguments;
        if let Some(selection) = &mut self.selection {
            let keeps_null = matches!(call.aggregate, Aggregate::First | Aggregate::Last);
            let is_skipped = first.is_nothing() && !keeps_null;
            if is_skipped || call.limit.is_some_and(|limit| selection.taken >= limit) {
                return Ok(());
            }
            if call.is_distinct {
                let count = call.arguments.len();
                let mut keys = Vec::with_capacity(count);
                for value in &arguments[..count] {
                    keys.push(key_of(machine.budget, machine.heavy, value).await?);
                }
                if !selection.seen.insert(keys) {
                    return Ok(());
                }
                machine.budget.charge_memory((1 + count) * size_of::<Key>())?;
            }
            selection.taken += 1;
        }
        let before = self.accumulator.bytes();
        let is_compared = matches!(call.aggregate, Aggregate::Min | Aggregate::Max);
        let added = if is_compared && is_large(first) {
            let value = first.clone();
            let key = do_apart(machine.budget, machine.heavy, move |_| Key::of(&value)).await?;
            key.map(|key| self.accumulator.add_keyed(first, key))
        } else {
            self.accumulator.add_with(first, second)
        };
        added.map_err(|error| machine.refuse(&call.place, &error, number))?;
        let growth = self.accumulator.bytes().saturating_sub(before);
        if growth > 0 {
            machine.budget.work(growth / BYTES_PER_UNIT);
            machine.budget.charge_memory(growth)?;
        }
        Ok(())
    }

    /// Gives what waits to the aggregate, in its order.
    async fn give_in_order(
        &mut self,
        machine: &Machine<'_>,
        call: &AggregateCall,
    ) -> Result<(), RunError> {
        let Some(selection) = &mut self.selection else { return Ok(()) };
        let waiting = std::mem::take(&mut selection.waiting);
        let keys = std::mem::take(&mut selection.keys);
        // What is there already is known only behind the sort.
        let wanted = match call.limit {
            Some(limit) if !call.is_distinct => usize::try_from(limit).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        let width = call.order.len();
        let mut of_columns = SortKeys::new(machine.budget, width, waiting.len())?;
        for (place, key) in keys.into_iter().enumerate() {
            of_columns.push(machine.budget, place % width, key)?;
        }
        let rows = 0..waiting.len();
        let order = sort::sort(machine.budget, rows, &of_columns, &call.order, wanted).await?;
        for place in order {
            let (arguments, number) = &waiting[place as usize];
            self.give(machine, call, arguments, *number).await?;
            if machine.budget.spend(1) {
                machine.budget.pause().await?;
            }
        }
        Ok(())
    }
}

/// The groups as rows.
async fn finish(
    run: &Run<'_>,
    machine: &Machine<'_>,
    grouping: &Grouping,
    mut groups: LetGo<'_, Groups>,
) -> Result<Rows, RunError> {
    let width = grouping.keys.len() + grouping.aggregates.len();
    let count = groups.count;
    let mut finished = ValueRows::with_capacity(width, count);
    let mut keys = std::mem::take(&mut groups.keys).into_iter();
    let mut members = LetGo::new(
        std::mem::take(&mut groups.members).into_iter(),
        run.apart(count * grouping.aggregates.len()),
    );
    for number in 0..count {
        let mut row: Vec<Value> = keys.by_ref().take(grouping.keys.len()).collect();
        for (call, member) in grouping.aggregates.iter().zip(members.by_ref()) {
            row.push(match result(run, machine, call, member, number).await {
                Err(error) if call.is_guarded && error.code == codes::WRONG_OPERAND => Value::Null,
                outcome => outcome?,
            });
        }
        finished.push(row);
        if machine.budget.spend(1 + width) {
            machine.budget.pause().await?;
        }
    }
    Ok(Rows::from(finished))
}

/// What an aggregate gives for the group with a number.
async fn result(
    run: &Run<'_>,
    machine: &Machine<'_>,
    call: &AggregateCall,
    mut member: Member,
    number: usize,
) -> Result<Value, RunError> {
    if member.has_failed {
        return Ok(Value::Null);
    }
    if !call.order.is_empty() {
        member.give_in_order(machine, call).await?;
    }
    let accumulator = member.accumulator;
    let result: Result<Value, ComputeError> = if accumulator.bytes() > FINISHED_HERE_BYTES_MAX {
        run.heavy(move |_| accumulator.finish()).await?
    } else {
        accumulator.finish()
    };
    result.map_err(|error| machine.refuse_group(&call.place, &error, number))
}
