//! Settings of how many clients there may be, how slow, and how much they make us keep.

use super::{Setting, TIME_MAX};

pub(super) const SETTINGS: &[Setting] = &[
    Setting::new(
        "maxConnections",
        |draft| &mut draft.front.connections_max,
        "Most open connections of clients; less if the system does not let so many files be open. For a further one the one that has waited longest for a request is closed; if none waits it is answered with 503.",
    ).fixed()
    .limit("the server", "the oldest idle one is closed, else 503")
    .within(1, u64::MAX),
    Setting::new(
        "maxBodiesMemory",
        |draft| &mut draft.front.keep.bodies_bytes_max,
        "Most bytes of the bodies of all requests together, of all workers. A request whose body does not fit is answered with 503 before it is read.",
    ).fixed()
    .limit("the server", "503, before the body is read"),
    Setting::new(
        "maxAnswersMemory",
        |draft| &mut draft.front.keep.answers_bytes_max,
        "Most bytes of answers, and of messages over WebSocket, that wait for their clients to take them, of all connections together. Beyond it the client that takes its answer slowest loses it.",
    ).fixed()
    .limit("the server", "the client that takes its answer slowest loses it"),
    Setting::new(
        "maxUpstreamMemory",
        |draft| &mut draft.front.keep.upstream_bytes_max,
        "Most bytes of answers of upstreams of 64 KiB and more, of all runs together, from their arrival until nothing of them is needed any more. An answer that does not fit is not received, and its request fails with 503, Q7021.",
    ).fixed()
    .limit("the server", "503, Q7021"),
    Setting::new(
        "body.pauseMs",
        |draft| &mut draft.front.body_pace.pause_max,
        "How long nothing of a body may come until it is answered with 408.",
    )
    .limit("a body", "408")
    .within(1, TIME_MAX),
    Setting::new(
        "body.minBytesPerSecond",
        |draft| &mut draft.front.body_pace.rate_min,
        "Bytes that the body of a request has to bring in a second on the whole, once it has taken as long as `body.pauseMs`; a slower one is answered with 408.",
    )
    .limit("a body", "408"),
    Setting::new(
        "answer.pauseMs",
        |draft| &mut draft.front.answer_pace.pause_max,
        "How long a client may take nothing of its answer until its connection is closed.",
    ).fixed()
    .limit("an answer", "closed")
    .within(1, TIME_MAX),
    Setting::new(
        "answer.minBytesPerSecond",
        |draft| &mut draft.front.answer_pace.rate_min,
        "Bytes of an answer that its client has to take in a second on the whole, once it has taken as long as `answer.pauseMs`; a slower one loses its connection.",
    ).fixed()
    .limit("an answer", "closed"),
    Setting::new(
        "wsMaxConnections",
        |draft| &mut draft.front.keep.sockets_max,
        "Most open WebSocket connections; further ones are refused with 503.",
    ).fixed()
    .limit("the server", "503"),
    Setting::new(
        "wsMaxSessions",
        |draft| &mut draft.front.keep.sessions_max,
        "Most scripts that are run step by step at the same time, of all connections.",
    ).fixed()
    .limit("the server", "an error message"),
    Setting::new(
        "wsMaxQueue",
        |draft| &mut draft.front.sockets.queue_bytes_max,
        "Most bytes that may wait for the client of one connection to read them; beyond it the connection is closed.",
    )
    .limit("a connection", "closed, 1008"),
    Setting::new(
        "wsIdleTimeout",
        |draft| &mut draft.front.sockets.idle_timeout,
        "How long a connection may be without a script and without a message of its client.",
    )
    .limit("a connection", "closed")
    .within(1, TIME_MAX),
    Setting::new(
        "wsSessionIdle",
        |draft| &mut draft.front.sockets.session_pause_max,
        "How long a script that is run step by step waits for the next step until it is given up.",
    )
    .limit("a session", "given up")
    .within(1, TIME_MAX),
    Setting::new(
        "wsSessionTime",
        |draft| &mut draft.front.sockets.session_time_max,
        "How long a script may be run step by step in all.",
    )
    .limit("a session", "given up")
    .within(1, TIME_MAX),
];
