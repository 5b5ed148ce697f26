//! The required fields of a message that is being read.

use super::tables::{Field, MessageTable};

/// Which required fields have been seen: the first 64 in a word, as there are hardly ever more.
#[derive(Default)]
pub(super) struct Required {
    pub(super) first: u64,
    more: Vec<u16>,
}

impl Required {
    pub(super) fn mark(&mut self, position: u16) {
        if position < 64 {
            self.first |= 1 << position;
        } else if !self.more.contains(&position) {
            self.more.push(position);
        }
    }

    /// A required field that has not been seen.
    pub(super) fn missing<'t>(&self, table: &'t MessageTable) -> Option<&'t Field> {
        let is_complete = self.first == table.required_bits
            && self.more.len() == table.required.len().saturating_sub(64);
        if is_complete {
            return None;
        }
        let fields = table.required.iter().map(|at| &table.fields[*at]);
        fields.into_iter().find(|field| field.required.is_some_and(|position| !self.has(position)))
    }

    fn has(&self, position: u16) -> bool {
        if position < 64 {
            self.first & (1 << position) != 0
        } else {
            self.more.contains(&position)
        }
    }
}
