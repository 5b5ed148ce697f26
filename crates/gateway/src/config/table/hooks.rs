//! JavaScript of tables and modules.

use super::Setting;

pub(super) const SETTINGS: &[Setting] = &[
    Setting::new("hooks.timeMs", |draft| &mut draft.settings.hooks.time, "CPU time of one call.")
        .limit("a call", "500, Q6004; of functions Q6010"),
    Setting::new(
        "hooks.memoryMiB",
        |draft| &mut draft.hook_memory_mib,
        "MiB of memory for the scripts of one thread.",
    )
    .limit("a worker", "500, Q6005; of functions Q6011"),
    Setting::new(
        "hooks.async",
        |draft| &mut draft.settings.hooks.allows_promises,
        "Hooks may return promises.",
    ),
];
