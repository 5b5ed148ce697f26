//! Where templates and path expressions get their variables from.
//!
//! The engine implements [`Scope`] over the layers of one execution (SCP-10). Script
//! variables are known when a script is compiled and are asked for by slot, so that filling a
//! template hashes nothing; every other name is asked for by name.

use crate::{Object, Value};

/// The position of a script variable among those of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotId(u32);

impl SlotId {
    /// The slot at this position. The limit on statements keeps a script far below the bound of the
    /// type.
    pub fn at(position: usize) -> Self {
        Self(position as u32)
    }

    /// The index into the variables of a run.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The variables that a template or an expression can see.
pub trait Scope {
    /// The value of a script variable that `bind` turned into a slot.
    fn slot(&self, slot: SlotId) -> Value;

    /// The value of any other name, in the order of the layers; absent if no layer has it. Names
    /// that are only known while filling (`{{which}}`) arrive here too, so script variables must be
    /// found by name as well.
    fn name(&self, name: &str) -> Value;

    /// The value of a path below a script variable, root included, if it has been found before.
    fn found(&self, _slot: SlotId, _path: &str) -> Option<Value> {
        None
    }

    /// How many bytes a text that is filled may take.
    fn text_room(&self) -> usize {
        usize::MAX
    }

    /// A text would take more than there is room for, and is not made.
    fn refuse_text(&self) {}
}

/// A scope without variables.
#[derive(Debug, Clone, Copy, Default)]
pub struct EmptyScope;

impl Scope for EmptyScope {
    fn slot(&self, _slot: SlotId) -> Value {
        Value::Absent
    }

    fn name(&self, _name: &str) -> Value {
        Value::Absent
    }
}

/// The members are the variables; a slot is the position of a member.
impl Scope for Object {
    fn slot(&self, slot: SlotId) -> Value {
        self.at(slot.index()).map_or(Value::Absent, |(_, value)| value.clone())
    }

    fn name(&self, name: &str) -> Value {
        self.get(name).cloned().unwrap_or_default()
    }
}
