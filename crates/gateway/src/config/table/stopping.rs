//! Settings of how a server ends.

use super::Setting;

/// The longest that a server may take to end, in milliseconds: a day.
const STOP_MS_MAX: u64 = 24 * 60 * 60 * 1000;

pub(super) const SETTINGS: &[Setting] = &[
    Setting::new(
        "drainDelay",
        |draft| &mut draft.front.drain_delay,
        "How long connections are still taken once the server is to stop: until everybody who sends requests has seen that it is not ready any more. Its answers close their connections meanwhile. See [Stopping](../operating/stop.md).",
    )
    .fixed()
    .flags(&["--drainDelay"])
    .within(0, STOP_MS_MAX),
    Setting::new(
        "grace",
        |draft| &mut draft.front.grace,
        "How long requests under way may take to end after that.",
    )
    .fixed()
    .flags(&["--grace"])
    .limit("a request while the server stops", "its connection is cut off")
    .within(0, STOP_MS_MAX),
];
