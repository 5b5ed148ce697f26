//! Compiled scripts of clients, kept by exact text (SRV-42).
//!
//! Plans are immutable, so one plan serves any number of runs. The cache belongs to one worker and
//! to one catalog: a new catalog empties it. It is bounded in number and in the size of each text;
//! when it is full it starts anew, which costs a compilation per script and needs no bookkeeping.

use std::{cell::RefCell, collections::HashMap, sync::Arc};

use qlio_plan::{CompileOptions, Origin, Plan, catalog::NoResources, compile};
use qlio_syntax::diagnostic::Diagnostic;

use crate::load::Loaded;

/// The most plans kept.
const PLANS_MAX: usize = 256;
/// The longest script that is compiled on the worker, in bytes: about a millisecond of its time.
/// Longer ones are not kept, but compiled every time, by a heavy thread.
pub(super) const COMPILED_AT_ONCE_BYTES_MAX: usize = 16 * 1024;

/// The plans of one worker.
#[derive(Default)]
pub(super) struct PlanCache {
    kept: RefCell<Kept>,
}

#[derive(Default)]
struct Kept {
    loaded: Option<Arc<Loaded>>,
    plans: HashMap<String, Arc<Plan>>,
}

impl PlanCache {
    /// The plan of a client's script that is short enough to be compiled on the worker.
    pub(super) fn get(
        &self,
        text: &str,
        loaded: &Arc<Loaded>,
    ) -> Result<Arc<Plan>, Vec<Diagnostic>> {
        let mut kept = self.kept.borrow_mut();
        if !kept.loaded.as_ref().is_some_and(|known| Arc::ptr_eq(known, loaded)) {
            kept.plans.clear();
            kept.loaded = Some(Arc::clone(loaded));
        }
        if let Some(plan) = kept.plans.get(text) {
            return Ok(Arc::clone(plan));
        }
        let plan = compiled(text, loaded)?;
        if kept.plans.len() == PLANS_MAX {
            kept.plans.clear();
        }
        kept.plans.insert(text.to_owned(), Arc::clone(&plan));
        Ok(plan)
    }
}

/// The plan of a client's script, compiled now.
pub(super) fn compiled(text: &str, loaded: &Loaded) -> Result<Arc<Plan>, Vec<Diagnostic>> {
    let options = CompileOptions { origin: Origin::AdHoc, file: "script", resources: &NoResources };
    Ok(Arc::new(compile(text, &loaded.catalog, &options)?.plan))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::Config,
        load::{self, CatalogFolders},
    };

    fn nothing_loaded() -> Arc<Loaded> {
        Arc::new(load::load(&CatalogFolders::default(), &Config::default()))
    }

    #[test]
    fn a_script_is_compiled_once_per_catalog() {
        let cache = PlanCache::default();
        let catalog = nothing_loaded();
        let first = cache.get("return 1", &catalog).expect("compiles");
        assert!(Arc::ptr_eq(&first, &cache.get("return 1", &catalog).expect("compiles")));
        let other = nothing_loaded();
        assert!(!Arc::ptr_eq(&first, &cache.get("return 1", &other).expect("compiles")));
    }

    #[test]
    fn errors_are_not_kept_and_the_number_is_bounded() {
        let cache = PlanCache::default();
        let catalog = nothing_loaded();
        assert!(cache.get("retrn 1", &catalog).is_err());
        for number in 0..=PLANS_MAX {
            cache.get(&format!("return {number}"), &catalog).expect("compiles");
        }
        assert_eq!(cache.kept.borrow().plans.len(), 1);
    }
}
