//! Settings of lines on stdout.

use super::Setting;

pub(super) const SETTINGS: &[Setting] = &[
    Setting::new(
        "log.format",
        |draft| &mut draft.front.stdout,
        "What stands on stdout behind the addresses: a line for each request, as `text` for people or as `json` for programs, or `none`. `auto` is `text` on a terminal, else `json` in a container, else `none`. See [Log](../operating/logs.md).",
    )
    .fixed(),
    Setting::new(
        "log.level",
        |draft| &mut draft.front.log_level,
        "How much stands there; each level has what those before it have. `error`: faults, and requests answered with 500 and more; `warn`: failed connections and clients that have gone; `info`: all requests; `debug`: requests to upstreams. An operator may [change it](../operating/logs.md#for-a-while) while the server works.",
    ),
];
