//! Finds what templates read of large variables before they ask (`docs/adr/0027-heavy-threads.md`).
//!
//! In: a variable and its new value. Out: the values of the paths that templates of the script have below it, kept
//! by the run. To find them in text, or in each element of a long list, takes as long as the value is large, and a
//! template cannot wait; so a heavy thread does it as soon as the value is there.

use qlio_data::{Value, scope::SlotId, template::Lookup};

use crate::{clock, error::RunError, lookups::is_large, run::Run};

/// Finds what templates read below a variable, if its new value is so large that they could not do it themselves.
///
/// # Errors
/// As many jobs wait for a heavy thread as may; a limit of the run.
pub(super) async fn find_ahead(run: &Run<'_>, slot: SlotId, value: &Value) -> Result<(), RunError> {
    let lookups = &run.plan.symbols[slot.index()].lookups;
    if lookups.is_empty() || !is_large(value) {
        return Ok(());
    }
    let (root, lookups, time_left) = (value.clone(), lookups.clone(), run.budget.time_left());
    run.has_large_values.set(true);
    let values = run
        .heavy(move |wanted| {
            let began = clock::thread_us();
            let may_go_on =
                |_: &&Lookup| wanted.is_wanted() && clock::thread_us() - began <= time_left;
            let found = |lookup: &Lookup| Some((lookup.path().clone(), lookup.find(&root)?));
            lookups.iter().take_while(may_go_on).filter_map(found).collect::<Vec<_>>()
        })
        .await?;
    for (_, value) in &values {
        run.budget.charge_value(value).await?;
    }
    run.lookups.keep(slot, value.clone(), values);
    Ok(())
}
