//! Which fields of which message a decode keeps, worked out once per decode.

use std::collections::HashMap;

use super::{
    ProtobufOptions,
    tables::{Kind, MessageTable, Shape, Tables},
};
use crate::{Text, projection::Projection};

/// A plan for one message type; [`ALL`] keeps every field.
pub(super) type PlanId = usize;

/// Keeps everything, of any message.
pub(super) const ALL: PlanId = 0;

/// How a field is kept.
#[derive(Debug)]
pub(super) enum Action {
    /// Keep it; the plan is for the messages in it, if there are any.
    Keep(PlanId),
    /// A map of which only some entries are kept.
    Entries { named: Vec<(Text, PlanId)>, others: Option<PlanId> },
}

/// The plans of one decode; the first is [`ALL`] and empty.
pub(super) struct Plans {
    plans: Vec<Plan>,
}

#[derive(Debug, Default)]
struct Plan {
    /// The fields that are kept: each has a slot while its message is read.
    kept: Vec<(usize, Action)>,
    /// The slot of each field.
    slots: Vec<Option<usize>>,
    /// By field number, for those with a short tag.
    short: [ShortField; SHORT_NUMBERS],
}

/// Field numbers below this can be told from the first byte of their tag: its upper five bits are the
/// number, in tags of one byte and in those of two bytes whose second one is 1.
pub(super) const SHORT_NUMBERS: usize = 32;

/// The facts by which a field is passed without looking it up.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ShortField {
    /// Nobody asked for the field, and that it is there matters to no other.
    pub(super) is_passed: bool,
    /// Its bit among the required fields, if it has one.
    pub(super) required_bit: u64,
}

static KEEP_ALL: Action = Action::Keep(ALL);

impl Plans {
    /// Plans for a message type and a projection; the plan of the message itself comes second.
    pub(super) fn new(
        tables: &Tables,
        options: ProtobufOptions,
        message: usize,
        projection: &Projection,
    ) -> (Self, PlanId) {
        let mut planner =
            Planner { tables, options, plans: vec![Plan::default()], known: HashMap::new() };
        let root = planner.plan(message, projection);
        (Self { plans: planner.plans }, root)
    }

    /// The fields with short tags; `None` if every field is kept.
    pub(super) fn short_fields(&self, plan: PlanId) -> Option<&[ShortField; SHORT_NUMBERS]> {
        (plan != ALL).then(|| &self.plans[plan].short)
    }

    /// How many slots a message needs.
    pub(super) fn slot_count(&self, plan: PlanId, table: &MessageTable) -> usize {
        if plan == ALL { table.fields.len() } else { self.plans[plan].kept.len() }
    }

    /// The slot of a field; `None` if it is not kept.
    #[inline]
    pub(super) fn slot(&self, plan: PlanId, field: usize) -> Option<usize> {
        if plan == ALL { Some(field) } else { self.plans[plan].slots[field] }
    }

    /// The field of a slot.
    pub(super) fn field_of(&self, plan: PlanId, slot: usize) -> usize {
        if plan == ALL { slot } else { self.plans[plan].kept[slot].0 }
    }

    /// Says how a field is kept.
    pub(super) fn action(&self, plan: PlanId, field: usize) -> &Action {
        let slot = if plan == ALL { None } else { self.plans[plan].slots[field] };
        slot.map_or(&KEEP_ALL, |slot| &self.plans[plan].kept[slot].1)
    }
}

struct Planner<'a> {
    tables: &'a Tables,
    options: ProtobufOptions,
    plans: Vec<Plan>,
    /// A projection that comes again for the same message gets the same plan, so that there are
    /// never more plans than messages times projections.
    known: HashMap<(usize, *const Projection), PlanId>,
}

impl Planner<'_> {
    fn plan(&mut self, message: usize, projection: &Projection) -> PlanId {
        let table = &self.tables.messages[message];
        let is_special =
            table.well_known.is_some() && self.options.mapping == super::Mapping::Proto3;
        if projection.is_all() || is_special {
            return ALL;
        }
        let key = (message, std::ptr::from_ref(projection));
        if let Some(plan) = self.known.get(&key) {
            return *plan;
        }
        let plan = self.plans.len();
        self.plans.push(Plan::default());
        self.known.insert(key, plan);
        let mut kept = Vec::new();
        let mut slots = vec![None; table.fields.len()];
        for (at, field) in table.fields.iter().enumerate() {
            let name = field.name(self.options).as_bytes();
            let Some(inner) = projection.member(name) else { continue };
            let action = match field.shape(self.options) {
                Shape::Single => Action::Keep(self.content(field.kind, inner)),
                Shape::Repeated => Action::Keep(self.content(field.kind, inner.element())),
                Shape::Map => self.entries(field.kind, inner),
            };
            slots[at] = Some(kept.len());
            kept.push((at, action));
        }
        let short = std::array::from_fn(|number| match table.by_number(number as u32) {
            None => ShortField { is_passed: number > 0, required_bit: 0 },
            Some(field) => ShortField {
                // Of a second word of required fields only the walk keeps book.
                is_passed: slots[field.at].is_none()
                    && !field.is_in_oneof
                    && field.required.is_none_or(|position| position < u64::BITS as u16),
                required_bit: field.required.map_or(0, |position| {
                    1_u64.checked_shl(u32::from(position)).unwrap_or_default()
                }),
            },
        });
        self.plans[plan] = Plan { kept, slots, short };
        plan
    }

    fn content(&mut self, kind: Kind, projection: &Projection) -> PlanId {
        match kind {
            Kind::Message(message) | Kind::Group(message) => self.plan(message, projection),
            _ => ALL,
        }
    }

    fn entries(&mut self, entry: Kind, projection: &Projection) -> Action {
        let value = match entry {
            Kind::Message(entry) => self.tables.messages[entry].fields.last(),
            _ => None,
        };
        let Some(kind) = value.map(|value| value.kind) else {
            return Action::Keep(ALL);
        };
        match projection {
            Projection::All => Action::Keep(ALL),
            Projection::Each(each) => {
                Action::Entries { named: Vec::new(), others: Some(self.content(kind, each)) }
            }
            Projection::Members(members) => {
                let named = members
                    .iter()
                    .map(|(name, inner)| (name.clone(), self.content(kind, inner)))
                    .collect();
                Action::Entries { named, others: None }
            }
        }
    }
}

impl Action {
    /// The plan for the entry of a map with this key; `None` if it is not kept.
    pub(super) fn entry(&self, key: &str) -> Option<PlanId> {
        match self {
            Self::Keep(plan) => Some(*plan),
            Self::Entries { named, others } => {
                let named = named.iter().find(|(name, _)| name == key);
                named.map(|(_, plan)| *plan).or(*others)
            }
        }
    }
}
