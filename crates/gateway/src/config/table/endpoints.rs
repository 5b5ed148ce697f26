//! The health check, WebSocket and log files.

use super::{super::front::is_health_path, Setting, TIME_MAX, TextRule};

const HEALTH_PATH: TextRule = TextRule { accepts: is_health_path, wanted: "a path such as `/ecv`" };

pub(super) const SETTINGS: &[Setting] = &[
    Setting::new(
        "ecvPath",
        |draft| &mut draft.front.ecv_path,
        "Path of the [health check](health.md).",
    )
    .fixed()
    .flags(&["--ecvPath"])
    .matching(HEALTH_PATH),
    Setting::new(
        "ecvControl",
        |draft| &mut draft.front.ecv_control,
        "`POST <ecvPath>/disable` and `/enable` switch the health check.",
    )
    .fixed()
    .guarding()
    .flags(&["--ecvControl"]),
    Setting::new(
        "wsMaxFrame",
        |draft| &mut draft.front.sockets.frame_bytes_max,
        "Most bytes of one frame of a client.",
    )
    .limit("a frame", "closed, 1009")
    .within(1, u64::MAX),
    Setting::new(
        "wsMaxMessage",
        |draft| &mut draft.front.sockets.message_bytes_max,
        "Most bytes of one message of a client.",
    )
    .limit("a message", "closed, 1009")
    .within(1, u64::MAX),
    Setting::new(
        "wsPingInterval",
        |draft| &mut draft.front.sockets.ping_interval,
        "Pause between two pings.",
    )
    .within(1, TIME_MAX),
    Setting::new(
        "wsPongTimeout",
        |draft| &mut draft.front.sockets.pong_timeout,
        "How long a ping may go unanswered before the connection is dropped.",
    )
    .limit("a ping", "dropped")
    .within(1, TIME_MAX),
    Setting::new("logs", |draft| &mut draft.front.logs, "Folder for [log files](logs.md).")
        .fixed()
        .guarding()
        .flags(&["--logs"]),
];
