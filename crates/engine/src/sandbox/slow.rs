//! Which scripts are not done within a slice, so that they are not begun where others wait for them.
//!
//! In: how long calls have taken. Out: where the next call of the same script is to begin. What is known belongs to
//! one thread; each learns for itself, by one slice.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use super::{Realm, Sandbox};

/// Most functions that are known as slow on one thread; all are forgotten when there are more.
const SLOW_MAX: usize = 1_024;

/// After so many quick calls one after the other a script is tried on its own thread again.
const QUICK_CALLS: u32 = 16;

/// What is called: a function, hook or template of a realm.
#[derive(Debug, Clone, Copy)]
pub struct Script<'s> {
    /// Its realm.
    pub realm: &'s Realm,
    /// Its name there.
    pub name: &'s str,
}

/// Functions by realm and name, with how many quick calls there were since the last slow one.
#[derive(Debug, Default)]
pub(super) struct SlowScripts {
    realms: HashMap<u64, HashMap<String, u32>>,
    count: usize,
    /// Realms whose files take so long to load that all of their scripts are called elsewhere.
    unloaded: HashSet<u64>,
}

impl SlowScripts {
    fn knows(&self, script: Script<'_>) -> bool {
        if self.unloaded.contains(&script.realm.id()) {
            return true;
        }
        let of_realm = self.realms.get(&script.realm.id());
        of_realm.is_some_and(|functions| functions.contains_key(script.name))
    }

    fn add(&mut self, script: Script<'_>) {
        if self.count >= SLOW_MAX {
            self.realms.clear();
            self.count = 0;
        }
        let of_realm = self.realms.entry(script.realm.id()).or_default();
        if of_realm.insert(script.name.to_owned(), 0).is_none() {
            self.count += 1;
        }
    }

    fn note(&mut self, script: Script<'_>, is_quick: bool) {
        let Some(of_realm) = self.realms.get_mut(&script.realm.id()) else { return };
        let Some(quick) = of_realm.get_mut(script.name) else { return };
        *quick = if is_quick { *quick + 1 } else { 0 };
        if *quick >= QUICK_CALLS {
            of_realm.remove(script.name);
            self.count -= 1;
        }
    }
}

impl Sandbox {
    /// Whether the script was not done within a slice when it was last tried.
    #[inline]
    pub fn is_slow(&self, script: Script<'_>) -> bool {
        let slow = self.slow().borrow();
        (slow.count > 0 || !slow.unloaded.is_empty()) && slow.knows(script)
    }

    /// A file of the realm was not loaded in the time that it has here: all scripts of the realm are called elsewhere
    /// from now on.
    pub fn note_unloaded(&self, realm: &Realm) {
        let mut slow = self.slow().borrow_mut();
        if slow.unloaded.len() >= SLOW_MAX {
            slow.unloaded.clear();
        }
        slow.unloaded.insert(realm.id());
    }

    /// The script was not done within its slice.
    pub fn note_unfinished(&self, script: Script<'_>) {
        self.slow().borrow_mut().add(script);
    }

    /// A call of a slow script has taken so long elsewhere. After some that would have been done within half a
    /// slice it counts as slow no longer.
    pub fn note_apart(&self, script: Script<'_>, time: Duration) {
        let is_quick = self.limits().slice.is_none_or(|slice| time < slice / 2);
        self.slow().borrow_mut().note(script, is_quick);
    }
}
