//! The variables of a script: one slot per name that is assigned or thrown, at any nesting level.

use std::collections::HashMap;

use qlio_syntax::ast::{Item, Script};

use crate::node::{NodeId, SlotId, Symbol};

struct Entry {
    name: String,
    is_assigned: bool,
    node: Option<NodeId>,
}

/// Names to slots, in order of first appearance.
#[derive(Default)]
pub(super) struct Symbols {
    entries: Vec<Entry>,
    index: HashMap<String, SlotId>,
}

impl Symbols {
    pub(super) fn collect(script: &Script) -> Self {
        let mut symbols = Self::default();
        symbols.collect_items(&script.items);
        symbols
    }

    /// The slot of a name that is assigned or thrown anywhere.
    pub(super) fn slot(&self, name: &str) -> Option<SlotId> {
        self.index.get(name).copied()
    }

    /// The slot of a name that a statement assigns.
    pub(super) fn assigned_slot(&self, name: &str) -> Option<SlotId> {
        self.slot(name).filter(|slot| self.entries[*slot as usize].is_assigned)
    }

    /// The names that statements assign, in order of first appearance.
    pub(super) fn assigned_names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter(|entry| entry.is_assigned).map(|entry| entry.name.as_str())
    }

    /// Notes the node that binds a slot.
    pub(super) fn set_node(&mut self, slot: SlotId, node: NodeId) {
        self.entries[slot as usize].node = Some(node);
    }

    pub(super) fn to_symbols(&self) -> Vec<Symbol> {
        let symbol = |entry: &Entry| Symbol { name: entry.name.as_str().into(), node: entry.node };
        self.entries.iter().map(symbol).collect()
    }

    fn collect_items(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::Statement(statement) => {
                    if let Some(target) = &statement.target {
                        self.add(&target.text, true);
                    }
                }
                Item::Throw(throw) => self.add(&throw.name.text, false),
                Item::If(node) => {
                    self.collect_items(&node.then);
                    self.collect_items(node.otherwise.as_deref().unwrap_or_default());
                }
                Item::Try(node) => {
                    self.collect_items(&node.body);
                    for catch in &node.catches {
                        self.collect_items(&catch.body);
                    }
                    self.collect_items(node.finally.as_deref().unwrap_or_default());
                }
            }
        }
    }

    fn add(&mut self, name: &str, is_assigned: bool) {
        if let Some(slot) = self.index.get(name) {
            self.entries[*slot as usize].is_assigned |= is_assigned;
            return;
        }
        self.index.insert(name.to_owned(), self.entries.len() as SlotId);
        self.entries.push(Entry { name: name.to_owned(), is_assigned, node: None });
    }
}
