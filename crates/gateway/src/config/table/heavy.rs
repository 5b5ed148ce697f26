//! The threads for what cannot be cut into slices.

use super::Setting;

/// Most heavy threads that may be set.
const HEAVY_THREADS_MAX: u64 = 1024;

/// Most jobs that may be allowed to wait for heavy threads.
const HEAVY_WAITING_MAX: u64 = 1 << 20;

pub(super) const SETTINGS: &[Setting] = &[
            Setting::new(
                "heavy.threads",
                |draft| &mut draft.front.heavy.threads,
                "Threads that decode, decompress, write and compress large bodies, and as many again for scripts that take long, so that no other request waits for them.",
            ).fixed()
            .within(1, HEAVY_THREADS_MAX)
            .default_is("half as many as there are cores, at least one"),
            Setting::new(
                "heavy.maxWaiting",
                |draft| &mut draft.front.heavy.waiting_max,
                "Most large bodies that wait for such a thread, and most scripts; what needs one beyond that is answered with 503.",
            ).fixed()
            .limit("the process", "503, Q5017")
            .within(1, HEAVY_WAITING_MAX),
        ];
