//! The keys of rows that are joined, and whether two of them meet.
//!
//! In: cells. Out: keys. A key is one value, or a list, which stands for each of its elements. What is a list or
//! large is opened once for each row, by a heavy thread if that takes long: its different elements with their
//! hashes, in the order of the hashes. So a value is looked up in a list, and two lists meet in the time of reading
//! both once.

use std::{cmp::Ordering, hash::BuildHasher};

use foldhash::quality::RandomState;
use qlio_data::{
    Value,
    codec::json::RowCell,
    compute::effort::bytes_read,
    value::loose::{LooseValue, loosely_equals},
};
use qlio_plan::operator::NullKeys;

use super::{
    null_keys::usable,
    program::{AT_ONCE_BYTES_MAX, DROPPED_HERE_MAX, do_apart},
};
use crate::{
    budget::{Budget, VALUE_BYTES},
    error::RunError,
    heavy::{Heavy, Wanted},
    run::Run,
};

/// A value whose text has up to so many bytes is looked at where it stands: a block of rows takes no longer than a
/// part of a millisecond.
const TEXT_BYTES_MAX: usize = 4 * 1024;

/// Values with more bytes are compared by a heavy thread.
const COMPARED_BYTES_MAX: usize = 1 << 20;

/// Elements that are opened before somebody is asked whether they are still wanted, or looked at before others may
/// have their turn.
const ELEMENTS_AT_ONCE: usize = 1024;

/// Bytes that are compared for a unit of work.
const BYTES_PER_UNIT: usize = 128;

/// The value of a key in one row.
#[derive(Clone)]
pub(super) enum Key<'r> {
    /// It is missing, and meets nothing.
    Missing,
    One(LooseValue<'r>),
    Closed(Closed),
}

/// A list, or something large, before it is opened.
#[derive(Clone)]
pub(super) struct Closed {
    value: Value,
    manner: Manner,
}

/// What counts of a value that is opened.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Whole,
    Elements,
    /// The elements, and of those that are lists theirs.
    InnerElements,
}

/// The main side's key: a list counts as any of its elements, and a list in it as any of its own, as
/// in filters; absent can still meet null.
#[inline]
pub(super) fn main_key(cell: RowCell<'_>) -> Key<'_> {
    key_of(cell, Manner::InnerElements)
}

/// The joined side's key: the list of matches of its path, or in a text the one member.
#[inline]
pub(super) fn joined_key(cell: RowCell<'_>) -> Key<'_> {
    if cell.is_absent() {
        return Key::Missing;
    }
    let cell = match cell {
        RowCell::Value(Value::Array(matches)) => match matches.as_slice() {
            [only] if only.is_array() => {
                return Key::Closed(Closed { value: only.clone(), manner: Manner::Whole });
            }
            [only] => RowCell::Value(only),
            _ => cell,
        },
        cell => cell,
    };
    key_of(cell, Manner::Elements)
}

/// What is small is looked at where it stands.
#[inline]
fn key_of(cell: RowCell<'_>, manner_of_lists: Manner) -> Key<'_> {
    if cell.text_bytes() <= TEXT_BYTES_MAX
        && let Some(value) = cell.loose()
    {
        return Key::One(value);
    }
    let value = cell.value();
    let manner = if value.is_array() { manner_of_lists } else { Manner::Whole };
    Key::Closed(Closed { value, manner })
}

/// The elements of a closed key.
#[derive(Default)]
pub(super) struct Opened {
    elements: Vec<Value>,
    /// The hash and the number of each element; of equal ones there is one.
    hashes: Vec<(u64, u32)>,
    /// About how many bytes the largest of them has.
    largest: usize,
}

impl Closed {
    /// The different elements; what nobody wants any more is not finished.
    fn open(&self, hasher: &RandomState, wanted: &Wanted) -> Opened {
        let mut opened = Opened::default();
        match self.value.elements() {
            Some(elements) if self.manner != Manner::Whole => {
                for element in elements.iter() {
                    match element.elements().filter(|_| self.manner == Manner::InnerElements) {
                        Some(inner) => opened.elements.extend(inner.iter().cloned()),
                        None => opened.elements.push(element.clone()),
                    }
                }
            }
            _ => opened.elements.push(self.value.clone()),
        }
        let elements = &opened.elements;
        let mut hashes = Vec::with_capacity(elements.len());
        let mut largest = 0;
        for (element, number) in elements.iter().zip(0_u32..) {
            if (number as usize).is_multiple_of(ELEMENTS_AT_ONCE) && !wanted.is_wanted() {
                return Opened::default();
            }
            hashes.push((hasher.hash_one(LooseValue::of(element)), number));
            if largest <= COMPARED_BYTES_MAX {
                largest = largest.max(bytes_read(element, COMPARED_BYTES_MAX));
            }
        }
        let element = |number: u32| &elements[number as usize];
        hashes.sort_unstable_by(|(hash, number), (other_hash, other)| {
            let by_form = || compare_forms(element(*number), element(*other));
            hash.cmp(other_hash).then_with(by_form)
        });
        hashes.dedup_by(|(hash, number), (before_hash, before)| {
            hash == before_hash && are_the_same(element(*number), element(*before))
        });
        opened.hashes = hashes;
        opened.largest = largest;
        opened
    }
}

/// Brings values with the same hash that may be the same beside each other.
fn compare_forms(left: &Value, right: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Absent | Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) | Value::Object(_) | Value::Raw(_) => 4,
    };
    match (left, right) {
        (Value::String(left), Value::String(right)) => left.cmp(right),
        _ => rank(left).cmp(&rank(right)),
    }
}

/// Whether two values equal the same others.
fn are_the_same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::String(left), Value::String(right)) => left == right,
        (Value::Number(_), Value::Number(_)) | (Value::Bool(_), Value::Bool(_)) => {
            loosely_equals(left, right)
        }
        _ => left.is_nothing() && right.is_nothing(),
    }
}

impl Opened {
    /// How many different elements there are.
    pub(super) fn len(&self) -> usize {
        self.hashes.len()
    }

    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        self.elements.len().saturating_mul(VALUE_BYTES + size_of::<(u64, u32)>())
    }

    /// Whether to drop it takes long.
    pub(super) fn is_long(&self) -> bool {
        self.elements.len() > DROPPED_HERE_MAX
    }

    /// The hash of an element, by its place in the order of the hashes.
    #[inline]
    pub(super) fn hash(&self, place: usize) -> u64 {
        self.hashes[place].0
    }

    /// Such an element itself.
    #[inline]
    fn item(&self, place: usize) -> Item<'_> {
        let (_, number) = self.hashes[place];
        Item::Element(&self.elements[number as usize], self.largest)
    }
}

/// What is compared: one value of a key.
#[derive(Clone, Copy)]
pub(super) enum Item<'k> {
    Value(&'k LooseValue<'k>),
    /// An element, and how large it may be.
    Element(&'k Value, usize),
}

impl Item<'_> {
    fn bytes(self) -> usize {
        match self {
            Self::Value(_) => 0,
            Self::Element(_, bytes) => bytes,
        }
    }

    fn equals(self, other: Item<'_>) -> bool {
        match (self, other) {
            (Self::Value(one), Item::Value(other)) => one == other,
            (Self::Value(value), Item::Element(element, _)) => *value == LooseValue::of(element),
            (Self::Element(..), Item::Value(_)) => other.equals(self),
            (Self::Element(one, _), Item::Element(other, _)) => loosely_equals(one, other),
        }
    }

    fn to_owned(self) -> OwnItem {
        match self {
            Self::Value(value) => OwnItem::Value(value.clone().into_owned()),
            Self::Element(element, _) => OwnItem::Element(element.clone()),
        }
    }
}

/// An [`Item`] for another thread.
enum OwnItem {
    Value(LooseValue<'static>),
    Element(Value),
}

impl OwnItem {
    fn as_item(&self) -> Item<'_> {
        match self {
            Self::Value(value) => Item::Value(value),
            Self::Element(element) => Item::Element(element, 0),
        }
    }
}

/// A key whose elements are at hand.
pub(super) enum OpenKey<'r> {
    Missing,
    One(LooseValue<'r>),
    Opened(Opened),
}

impl OpenKey<'_> {
    pub(super) fn held(&self) -> Held<'_> {
        match self {
            Self::Missing => Held::Missing,
            Self::One(value) => Held::One(value),
            Self::Opened(opened) => Held::Opened(opened),
        }
    }

    /// The elements, if it was opened.
    pub(super) fn into_opened(self) -> Option<Opened> {
        match self {
            Self::Opened(opened) => Some(opened),
            Self::Missing | Self::One(_) => None,
        }
    }
}

/// The same where it is kept by somebody else.
#[derive(Clone, Copy)]
pub(super) enum Held<'k> {
    Missing,
    One(&'k LooseValue<'k>),
    Opened(&'k Opened),
}

impl<'k> Held<'k> {
    /// The value, or the element with this place in the order of the hashes.
    #[inline]
    pub(super) fn item(self, place: usize) -> Option<Item<'k>> {
        match self {
            Self::Missing => None,
            Self::One(value) => Some(Item::Value(value)),
            Self::Opened(opened) => Some(opened.item(place)),
        }
    }
}

/// What opens and compares keys.
#[derive(Clone, Copy)]
pub(crate) struct Opener<'b> {
    pub(crate) budget: &'b Budget,
    pub(crate) heavy: &'b Heavy,
}

/// What opens and compares keys in a run.
pub(crate) fn opener_of<'r>(run: &'r Run<'_>) -> Opener<'r> {
    Opener { budget: &run.budget, heavy: run.engine.heavy() }
}

impl Opener<'_> {
    /// A key as far as it can meet something.
    pub(crate) async fn usable(
        self,
        value: Value,
        nulls: NullKeys,
    ) -> Result<Option<Value>, RunError> {
        if value.is_array() && bytes_read(&value, AT_ONCE_BYTES_MAX) > AT_ONCE_BYTES_MAX {
            return do_apart(self.budget, self.heavy, move |_| usable(value, nulls)).await;
        }
        Ok(usable(value, nulls))
    }

    /// The elements of a key, hashed; whoever keeps them charges their memory.
    pub(super) async fn open(
        self,
        hasher: &RandomState,
        closed: Closed,
    ) -> Result<Opened, RunError> {
        let bytes = bytes_read(&closed.value, AT_ONCE_BYTES_MAX);
        let opened = if bytes > AT_ONCE_BYTES_MAX {
            let hasher = hasher.clone();
            do_apart(self.budget, self.heavy, move |wanted| closed.open(&hasher, wanted)).await?
        } else {
            self.budget.work(bytes / BYTES_PER_UNIT);
            closed.open(hasher, &Wanted::always())
        };
        if opened.bytes() > self.budget.memory_left() {
            return Err(self.budget.refuse_memory());
        }
        Ok(opened)
    }

    /// Lets others go first if it is time, behind so many elements.
    pub(super) async fn count(self, elements: usize) -> Result<(), RunError> {
        if self.budget.spend(elements) {
            self.budget.pause().await?;
        }
        Ok(())
    }

    /// Whether two values are equal; large ones are compared elsewhere.
    #[inline]
    pub(super) async fn are_equal(self, one: Item<'_>, other: Item<'_>) -> Result<bool, RunError> {
        let bytes = one.bytes().max(other.bytes());
        if bytes > COMPARED_BYTES_MAX {
            let (one, other) = (one.to_owned(), other.to_owned());
            let compare = move |_: &Wanted| one.as_item().equals(other.as_item());
            return do_apart(self.budget, self.heavy, compare).await;
        }
        self.budget.work(bytes / BYTES_PER_UNIT);
        Ok(one.equals(other))
    }

    /// Whether some value of the one key equals some value of the other.
    pub(super) async fn meet(
        self,
        hasher: &RandomState,
        one: Held<'_>,
        other: Held<'_>,
    ) -> Result<bool, RunError> {
        match (one, other) {
            (Held::Missing, _) | (_, Held::Missing) => Ok(false),
            (Held::One(one), Held::One(other)) => Ok(one == other),
            (Held::One(value), Held::Opened(list)) | (Held::Opened(list), Held::One(value)) => {
                let hash = hasher.hash_one(value);
                let from = list.hashes.partition_point(|(other, _)| *other < hash);
                self.is_among(Item::Value(value), hash, list, from).await
            }
            (Held::Opened(one), Held::Opened(other)) if one.len() <= other.len() => {
                self.share(one, other).await
            }
            (Held::Opened(one), Held::Opened(other)) => self.share(other, one).await,
        }
    }

    /// Whether two lists, the second of which is not the shorter one, have an element in common.
    async fn share(self, shorter: &Opened, longer: &Opened) -> Result<bool, RunError> {
        let mut from = 0;
        for place in 0..shorter.len() {
            let hash = shorter.hash(place);
            from += skip_below(&longer.hashes[from..], hash);
            if self.is_among(shorter.item(place), hash, longer, from).await? {
                return Ok(true);
            }
            if place.is_multiple_of(ELEMENTS_AT_ONCE) {
                self.count(ELEMENTS_AT_ONCE.min(shorter.len())).await?;
            }
        }
        Ok(false)
    }

    /// Whether a value equals an element with its hash, of which the first stands at a place.
    async fn is_among(
        self,
        value: Item<'_>,
        hash: u64,
        list: &Opened,
        from: usize,
    ) -> Result<bool, RunError> {
        for place in from..list.len() {
            if list.hash(place) != hash {
                break;
            }
            if self.are_equal(value, list.item(place)).await? {
                return Ok(true);
            }
            self.count(1).await?;
        }
        Ok(false)
    }

    /// Whether a value meets the cell of a key column.
    pub(crate) async fn meets_cell(
        self,
        value: &Value,
        joined: RowCell<'_>,
    ) -> Result<bool, RunError> {
        let (one, other) = (main_key(RowCell::Value(value)), joined_key(joined));
        if let (Key::One(one), Key::One(other)) = (&one, &other) {
            return Ok(one == other);
        }
        let hasher = RandomState::default();
        let one = self.open_key(&hasher, one).await?;
        let other = self.open_key(&hasher, other).await?;
        self.meet(&hasher, one.held(), other.held()).await
    }

    /// A key with its elements at hand.
    pub(super) async fn open_key<'r>(
        self,
        hasher: &RandomState,
        key: Key<'r>,
    ) -> Result<OpenKey<'r>, RunError> {
        Ok(match key {
            Key::Missing => OpenKey::Missing,
            Key::One(value) => OpenKey::One(value),
            Key::Closed(closed) => OpenKey::Opened(self.open(hasher, closed).await?),
        })
    }
}

/// How many hashes at the beginning, which are in order, are below one: the time grows with the logarithm of that.
fn skip_below(hashes: &[(u64, u32)], hash: u64) -> usize {
    let mut step = 1;
    while hashes.get(step - 1).is_some_and(|(found, _)| *found < hash) {
        step *= 2;
    }
    let from = step / 2;
    let to = step.min(hashes.len());
    from + hashes[from..to].partition_point(|(found, _)| *found < hash)
}
