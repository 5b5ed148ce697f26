//! The cache of answers.

use super::{Setting, TIME_MAX};

/// Largest value of a cache that may be allowed, in bytes.
const CACHED_VALUE_BYTES_MAX: u64 = 256 << 20;

/// Most operations of a cache in flight that may be allowed.
const CACHE_POOL_MAX: u64 = 10_000;

/// Largest tier of a cache inside the process, in bytes.
const CACHE_BYTES_MAX: u64 = (u32::MAX as u64) << 8;

pub(super) const SETTINGS: &[Setting] = &[
            Setting::new(
                "cache.impl",
                |draft| &mut draft.cache.kind,
                "Where answers of tables with `expires` are kept. See [Response cache](cache.md), also for the other places where members of `cache` may stand.",
            ).fixed(),
            Setting::new(
                "cache.servers",
                |draft| &mut draft.cache.servers,
                "Servers of the cache: `host:port`, for Redis also `redis://[user:password@]host[:port][/database]`, `rediss://` for TLS.",
            ).fixed()
            .alias(&["cache.options.config", "cache.options"]),
            Setting::new(
                "cache.cluster",
                |draft| &mut draft.cache.is_cluster,
                "The Redis servers are seeds of one cluster.",
            ).fixed(),
            Setting::new(
                "cache.timeoutMs",
                |draft| &mut draft.cache.common.timeout,
                "How long a server may take for a get before it counts as a miss.",
            ).fixed()
            .limit("an operation of a cache", "a get is a miss")
            .within(1, TIME_MAX),
            Setting::new(
                "cache.maxValue",
                |draft| &mut draft.cache.common.value_bytes_max,
                "Most bytes of one body; larger ones are not kept.",
            ).fixed()
            .limit("a body", "it is not kept")
            .within(1, CACHED_VALUE_BYTES_MAX),
            Setting::new(
                "cache.poolSize",
                |draft| &mut draft.cache.common.pool_size,
                "Most operations in flight, of all threads together.",
            ).fixed()
            .limit("the server", "further ones wait, within their timeout")
            .within(1, CACHE_POOL_MAX),
            Setting::new(
                "cache.maxBytes",
                |draft| &mut draft.cache.memory_bytes,
                "Bytes of a `memory` cache.",
            ).fixed()
            .limit("the server", "what was used longest ago goes")
            .within(1, CACHE_BYTES_MAX),
            Setting::new(
                "cache.localBytes",
                |draft| &mut draft.cache.local_bytes,
                "Bytes of the copies inside the process in front of servers; 0 for none.",
            ).fixed()
            .limit("the server", "what was used longest ago goes")
            .within(0, CACHE_BYTES_MAX),
            Setting::new(
                "cache.localSeconds",
                |draft| &mut draft.cache.local_seconds,
                "Seconds for which such a copy may be used without asking its server again.",
            ).fixed()
            .within(0, TIME_MAX),
            Setting::new(
                "cache.sharedWaitMs",
                |draft| &mut draft.cache.common.shared_wait,
                "How long one request waits for another one's fetch of the same answer.",
            ).fixed()
            .limit("a request", "it fetches the answer itself")
            .within(1, TIME_MAX),
            Setting::new(
                "cache.retryMs",
                |draft| &mut draft.cache.common.retry_pause,
                "The first pause after a server has failed several times; it doubles up to sixteen times as long.",
            ).fixed()
            .within(1, TIME_MAX),
            Setting::new(
                "cache.heartbeatMs",
                |draft| &mut draft.cache.common.heartbeat,
                "How often the servers' statistics are told.",
            ).fixed()
            .within(1, TIME_MAX),
        ];
