//! The budget of one run.

use super::{Setting, TIME_MAX};

pub(super) const SETTINGS: &[Setting] = &[
            Setting::new(
                "limits.memoryMiB",
                |draft| &mut draft.settings.limits.memory_mib,
                "Most MiB of texts, values and bodies that one run of a route may make, over all its statements.",
            )
            .limit("a run of a route", "400, Q7016")
            .within(1, 1 << 20),
            Setting::new(
                "limits.cpuMs",
                |draft| &mut draft.settings.limits.cpu_ms,
                "Most processor time of one run of a route. Commands such as `qlio run` have no such limit.",
            )
            .limit("a run of a route", "400, Q7016")
            .within(1, TIME_MAX),
            Setting::new(
                "limits.rows",
                |draft| &mut draft.settings.limits.rows,
                "Most rows that the statements of one run of a route may read or make.",
            )
            .limit("a run of a route", "400, Q7016")
            .within(1, u64::MAX),
            Setting::new(
                "limits.pairs",
                |draft| &mut draft.settings.limits.pairs,
                "Most pairs of rows that the joins of one run of a route may compare.",
            )
            .limit("a run of a route", "400, Q7016")
            .within(1, u64::MAX),
            Setting::new(
                "limits.requests",
                |draft| &mut draft.settings.limits.requests,
                "Most upstream requests of one run of a route, over all its statements.",
            )
            .limit("a run of a route", "400, Q7016")
            .within(1, u64::MAX),
            Setting::new(
                "limits.upstreamMiB",
                |draft| &mut draft.settings.limits.upstream_mib,
                "Most MiB that upstreams may send to one run of a route.",
            )
            .limit("a run of a route", "400, Q7016")
            .within(1, 1 << 20),
            Setting::new(
                "adhoc.limits.memoryMiB",
                |draft| &mut draft.settings.adhoc_limits.memory_mib,
                "Most MiB of texts, values and bodies that one run of a client's script may make, over all its statements.",
            )
            .limit("a run of a client's script", "400, Q7016")
            .within(1, 1 << 20),
            Setting::new(
                "adhoc.limits.cpuMs",
                |draft| &mut draft.settings.adhoc_limits.cpu_ms,
                "Most processor time of one run of a client's script. Commands such as `qlio run` have no such limit.",
            )
            .limit("a run of a client's script", "400, Q7016")
            .within(1, TIME_MAX),
            Setting::new(
                "adhoc.limits.rows",
                |draft| &mut draft.settings.adhoc_limits.rows,
                "Most rows that the statements of one run of a client's script may read or make.",
            )
            .limit("a run of a client's script", "400, Q7016")
            .within(1, u64::MAX),
            Setting::new(
                "adhoc.limits.pairs",
                |draft| &mut draft.settings.adhoc_limits.pairs,
                "Most pairs of rows that the joins of one run of a client's script may compare.",
            )
            .limit("a run of a client's script", "400, Q7016")
            .within(1, u64::MAX),
            Setting::new(
                "adhoc.limits.requests",
                |draft| &mut draft.settings.adhoc_limits.requests,
                "Most upstream requests of one run of a client's script, over all its statements.",
            )
            .limit("a run of a client's script", "400, Q7016")
            .within(1, u64::MAX),
            Setting::new(
                "adhoc.limits.upstreamMiB",
                |draft| &mut draft.settings.adhoc_limits.upstream_mib,
                "Most MiB that upstreams may send to one run of a client's script.",
            )
            .limit("a run of a client's script", "400, Q7016")
            .within(1, 1 << 20),
        ];
