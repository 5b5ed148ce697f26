//! The variables of a script: one slot per name that is assigned or thrown, at any nesting level, and
//! one per `try` that catches errors.

use std::collections::{HashMap, HashSet};

use qlio_data::{Text, template::Lookup};
use qlio_syntax::{
    ast::{Item, Script, Try},
    caught::{self, ERROR, catches_errors},
    source::Span,
};

use crate::node::{NodeId, SlotId, Symbol};

struct Entry {
    name: String,
    is_assigned: bool,
    node: Option<NodeId>,
    lookups: Vec<Lookup>,
}

/// Names to slots, in order of first appearance.
#[derive(Default)]
pub(super) struct Symbols {
    entries: Vec<Entry>,
    index: HashMap<String, SlotId>,
    /// The slots of caught errors, by the place of their `try`.
    errors: HashMap<Span, SlotId>,
    /// The slots of the caught errors that the text being lowered sees, the innermost last.
    scopes: Vec<SlotId>,
    /// The paths of all lookups noted so far.
    paths: HashSet<(SlotId, Text)>,
}

impl Symbols {
    pub(super) fn collect(script: &Script) -> Self {
        let mut symbols = Self::default();
        let visible = caught::visible_everywhere(script).map(|node| node.span);
        symbols.collect_items(&script.items, false, visible);
        symbols
    }

    /// The slot of a name that is assigned or thrown anywhere, or that holds a caught error here.
    pub(super) fn slot(&self, name: &str) -> Option<SlotId> {
        match self.scopes.last() {
            Some(slot) if name == ERROR => Some(*slot),
            _ => self.index.get(name).copied(),
        }
    }

    /// The slot of the error that a `try` catches, if it catches errors.
    pub(super) fn error_slot(&self, node: &Try) -> Option<SlotId> {
        self.errors.get(&node.span).copied()
    }

    /// Text that is lowered from now on sees the error in this slot.
    pub(super) fn enter(&mut self, error: SlotId) {
        self.scopes.push(error);
    }

    /// Undoes the last [`Self::enter`].
    pub(super) fn leave(&mut self) {
        self.scopes.pop();
    }

    /// Whether the slot holds an error that is known wherever it is seen.
    pub(super) fn is_entered(&self, slot: SlotId) -> bool {
        self.scopes.contains(&slot)
    }

    /// The slot of a name that a statement assigns.
    pub(super) fn assigned_slot(&self, name: &str) -> Option<SlotId> {
        self.slot(name).filter(|slot| self.entries[slot.index()].is_assigned)
    }

    /// The names that statements assign, in order of first appearance.
    pub(super) fn assigned_names(&self) -> impl Iterator<Item = &str> {
        let named = self.entries.iter().filter(|entry| entry.is_assigned && !entry.name.is_empty());
        named.map(|entry| entry.name.as_str())
    }

    /// Notes the node that binds a slot.
    pub(super) fn set_node(&mut self, slot: SlotId, node: NodeId) {
        self.entries[slot.index()].node = Some(node);
    }

    /// Notes what a template reads below a variable.
    pub(super) fn note_lookup(&mut self, lookup: Lookup) {
        if self.paths.insert((lookup.slot(), lookup.path().clone())) {
            self.entries[lookup.slot().index()].lookups.push(lookup);
        }
    }

    pub(super) fn to_symbols(&self) -> Vec<Symbol> {
        let symbol = |entry: &Entry| Symbol {
            name: entry.name.as_str().into(),
            node: entry.node,
            lookups: entry.lookups.clone(),
        };
        self.entries.iter().map(symbol).collect()
    }

    fn collect_items(&mut self, items: &[Item], in_region: bool, visible: Option<Span>) {
        for item in items {
            match item {
                Item::Statement(statement) => {
                    if let Some(target) = &statement.target {
                        self.add(&target.text, true);
                    }
                }
                Item::Throw(throw) if in_region && throw.name.text == ERROR => {}
                Item::Throw(throw) => self.add(&throw.name.text, false),
                Item::If(node) => {
                    self.collect_items(&node.then, in_region, visible);
                    let otherwise = node.otherwise.as_deref().unwrap_or_default();
                    self.collect_items(otherwise, in_region, visible);
                }
                Item::Try(node) => {
                    self.collect_items(&node.body, in_region, visible);
                    let is_catching = catches_errors(node, in_region);
                    if is_catching {
                        self.add_error(node, visible == Some(node.span));
                    }
                    let in_region = in_region || is_catching;
                    for catch in &node.catches {
                        self.collect_items(&catch.body, in_region, visible);
                    }
                    let finally = node.finally.as_deref().unwrap_or_default();
                    self.collect_items(finally, in_region, visible);
                }
            }
        }
    }

    /// Adds the slot of a caught error; one that is seen only in parts of the script has no name.
    fn add_error(&mut self, node: &Try, is_visible: bool) {
        let slot = SlotId::at(self.entries.len());
        let name = if is_visible { ERROR } else { "" };
        if is_visible {
            self.index.insert(ERROR.to_owned(), slot);
        }
        self.push(name, true);
        self.errors.insert(node.span, slot);
    }

    fn add(&mut self, name: &str, is_assigned: bool) {
        if let Some(slot) = self.index.get(name) {
            self.entries[slot.index()].is_assigned |= is_assigned;
            return;
        }
        self.index.insert(name.to_owned(), SlotId::at(self.entries.len()));
        self.push(name, is_assigned);
    }

    fn push(&mut self, name: &str, is_assigned: bool) {
        let (name, lookups) = (name.to_owned(), Vec::new());
        self.entries.push(Entry { name, is_assigned, node: None, lookups });
    }
}
