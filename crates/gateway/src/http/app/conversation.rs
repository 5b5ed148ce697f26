//! WebSocket connections: frames in and out, and when a connection ends (WSK-3).
//!
//! ```text
//! frames ─▶ message ─▶ Desk: subscription, sessions ─▶ scripts, interleaved (console) ─▶ Outbox ─▶ frames
//! ```
//!
//! Everything happens on the task of the connection: when the client goes away the task ends, and
//! with it every script and every exchange. All that a client can make us keep is bounded, by the settings and by
//! [`SCRIPTS_MAX`]: connections and sessions by number and by time without use, frames, messages and what it does
//! not read by bytes. A connection ends with a code that says why.

use std::{collections::BTreeMap, pin::pin, rc::Rc, sync::Arc, time::Duration};

use futures_util::{
    SinkExt, StreamExt,
    stream::{FuturesUnordered, SplitSink, SplitStream},
};
use hyper::{StatusCode, http::request::Parts};
use qlio_data::{Object, Value};
use qlio_engine::{
    event::{EventKind, Subscription},
    turnstile::give_way,
};
use tokio::{
    io::AsyncReadExt,
    time::{Instant, MissedTickBehavior, interval_at, sleep, timeout},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        self, Message,
        protocol::{CloseFrame, Role, WebSocketConfig, frame::coding::CloseCode},
    },
};

use super::{
    Ends, Front, HttpApp, Snapshot,
    console::{Client, Control, Job, Session, Task},
    reload_news,
};
use crate::http::{
    disclosure::MetadataScope,
    pace::Pace,
    quota::{Quotas, Share},
    respond::Response,
    server::{Held, Phase, Takeover, Upgraded},
    trace::{self, TraceLevel},
    websocket::{
        SocketLimits,
        handshake::{self, Protocol},
        message::{self, Asked},
        outbox::Outbox,
    },
};

/// Scripts of one connection that run at the same time, sessions included.
const SCRIPTS_MAX: usize = 16;

/// Longer messages are taken one in a turn of the worker: to read and compile a script of 64 KiB takes a part of a
/// millisecond, and many clients may send many of them at the same time.
const MESSAGE_BYTES_AT_ONCE: usize = 2048;

/// How long the client may take to answer our close frame.
const CLOSE_GRACE: Duration = Duration::from_secs(2);

/// Bytes of a client that are read and dropped while its connection is closed.
const LINGER_BYTES_MAX: usize = 16 << 20;

/// Why a connection ends.
pub(super) enum End {
    /// The client is gone.
    Gone,
    /// The client closes it.
    Left,
    /// We close it, for this reason.
    Close(CloseCode, String),
}

/// What bounds a connection for as long as it lasts.
#[derive(Clone, Copy)]
struct Bounds<'a> {
    limits: SocketLimits,
    quotas: &'a Quotas,
}

/// Whether there is room for one more script of a connection.
#[derive(Clone, Copy)]
struct Room<'a> {
    running: usize,
    is_stopping: bool,
    bounds: Bounds<'a>,
}

/// What a connection remembers of its client.
struct Desk<'a> {
    subscription: Rc<Subscription>,
    /// Each counts as one of those that there may be.
    sessions: BTreeMap<u64, (Rc<Session>, Share<'a>)>,
    sessions_so_far: u64,
    /// The runs under way.
    runs: BTreeMap<u64, Running>,
    runs_so_far: u64,
    is_draining: bool,
    /// The client is told when the app was read anew.
    wants_reloads: bool,
}

/// A run under way.
struct Running {
    /// The client's name for it.
    id: Option<Value>,
    control: Rc<Control>,
    session: Option<u64>,
}

/// A session that would be one too many.
#[derive(Debug, thiserror::Error)]
#[error("{0} scripts are run step by step (`wsMaxSessions`)")]
struct TooManySessions(usize);

impl HttpApp {
    /// Answers a handshake.
    pub(super) fn open_socket(&self, head: Parts) -> Response {
        let sockets = &self.shared.quotas.sockets;
        if sockets.is_full() {
            let most = sockets.most();
            let message =
                format!("the server has {most} WebSocket connections (`wsMaxConnections`)");
            return handshake::refuse(503, &message);
        }
        let settings = &self.shared.settings;
        let speaks_language = settings.has_console && settings.metadata == MetadataScope::All;
        let mut response = handshake::answer(&head, &settings.gate, speaks_language);
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            response.extensions_mut().insert(Takeover { head: Arc::new(head) });
        }
        response
    }
}

impl Front {
    /// Serves a connection to its end. It may last longer than the snapshot that it began with: each script is run
    /// over the one that is published when it comes.
    pub(super) async fn converse(&self, held: Held) {
        let (quotas, limits, pace) = {
            let app = self.app();
            let Snapshot { quotas, sockets, settings, .. } = &*app.shared;
            (Arc::clone(quotas), *sockets, settings.answer_pace)
        };
        let _seat = quotas.sockets.exceed(1);
        let Held { io, head, peer, local, is_tls, phase, events } = held;
        let protocol = Protocol::offered(&head.headers);
        // Browsers send a message as one frame, and a script of 64 KiB is a message to a language server.
        let frame_bytes_max = match protocol {
            Some(Protocol::Language) => limits.frame_bytes_max.max(limits.message_bytes_max),
            _ => limits.frame_bytes_max,
        };
        let config = WebSocketConfig::default()
            .max_frame_size(Some(frame_bytes_max))
            .max_message_size(Some(limits.message_bytes_max));
        let socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
        let (mut sink, mut stream) = socket.split();
        let outbox = Outbox::new(limits.queue_bytes_max, Arc::clone(&quotas.answers));
        let ends = Ends { peer, local, is_tls };
        let peer =
            self.app().shared.settings.forwarded.client(peer.ip().to_canonical(), &head.headers);
        let client = Client { head: &head, ends, peer, events: &events };
        let bounds = Bounds { limits, quotas: &quotas };
        let mut heart = Heart::new(&limits);
        let pings = heart.pings();
        let end = {
            let sent = pump(&mut sink, &outbox, &pings, &pace);
            let served = async {
                if protocol == Some(Protocol::Language) {
                    self.serve_language(&mut stream, &outbox, &mut heart, &limits, phase).await
                } else {
                    let conversation = (&mut stream, &mut heart);
                    self.serve_console(conversation, &outbox, &client, bounds, phase).await
                }
            };
            tokio::select! {
                biased;
                () = outbox.overflow() => {
                    let (own, all) = (limits.queue_bytes_max, quotas.answers.most());
                    let reason = format!(
                        "more waits to be read than wsMaxQueue = {own} or maxAnswersMemory = {all} bytes"
                    );
                    End::Close(CloseCode::Policy, reason)
                }
                () = sent => End::Gone,
                end = served => end,
            }
        };
        // Whoever does not answer in time is cut off.
        let _ = match end {
            End::Gone => Ok(()),
            // The library has its answer ready.
            End::Left => timeout(CLOSE_GRACE, sink.close()).await.map(drop),
            End::Close(code, reason) => {
                timeout(CLOSE_GRACE, close(sink, stream, &outbox, code, reason)).await
            }
        };
    }

    /// Serves a client of the console protocol to its end.
    async fn serve_console(
        &self,
        conversation: (&mut SplitStream<WebSocketStream<Upgraded>>, &mut Heart),
        outbox: &Outbox,
        client: &Client<'_>,
        bounds: Bounds<'_>,
        mut phase: tokio::sync::watch::Receiver<Phase>,
    ) -> End {
        // Told by the time that another connection is, although we may not have been woken yet.
        let current_phase = phase.clone();
        let (stream, heart) = conversation;
        let limits = &bounds.limits;
        let mut idle = pin!(sleep(limits.idle_timeout));
        let mut running = FuturesUnordered::new();
        let mut desk = Desk {
            subscription: Rc::default(),
            sessions: BTreeMap::new(),
            sessions_so_far: 0,
            runs: BTreeMap::new(),
            runs_so_far: 0,
            is_draining: false,
            wants_reloads: false,
        };
        let mut reloads = self.app().shared.reloads.later();
        loop {
            if desk.is_draining && running.is_empty() {
                return End::Close(CloseCode::Away, "the server is shutting down".to_owned());
            }
            tokio::select! {
                () = idle.as_mut(), if running.is_empty() => {
                    let reason = format!(
                        "nothing was asked for longer than wsIdleTimeout = {} ms",
                        limits.idle_timeout.as_millis()
                    );
                    return End::Close(CloseCode::Policy, reason);
                }
                Some(run) = running.next(), if !running.is_empty() => {
                    let number: Option<u64> = run;
                    let ended = number.and_then(|number| desk.runs.remove(&number));
                    if let Some(session) = ended.and_then(|run| run.session) {
                        desk.sessions.remove(&session);
                    }
                    idle.as_mut().reset(Instant::now() + limits.idle_timeout);
                }
                frame = stream.next() => match frame {
                    Some(Ok(Message::Text(text))) => {
                        self.pulse.touch();
                        idle.as_mut().reset(Instant::now() + limits.idle_timeout);
                        if text.len() > MESSAGE_BYTES_AT_ONCE {
                            give_way().await;
                        }
                        let is_stopping = *current_phase.borrow() >= Phase::Draining;
                        let app = self.app();
                        let room = Room { running: running.len(), is_stopping, bounds };
                        match app.take(&mut desk, &text, room, outbox) {
                            Ok(Some(task)) => running.push(app.serve(client, task, outbox)),
                            Ok(None) => {}
                            Err(end) => return end,
                        }
                    }
                    Some(Ok(Message::Binary(_))) => {
                        let reason = "messages must be text".to_owned();
                        return End::Close(CloseCode::Unsupported, reason);
                    }
                    Some(Ok(Message::Pong(_))) => heart.beat(),
                    // Pings are answered by the library.
                    Some(Ok(Message::Ping(_) | Message::Frame(_))) => {}
                    Some(Ok(Message::Close(_))) => return End::Left,
                    None => return End::Gone,
                    Some(Err(error)) => return broken(&error, limits),
                },
                news = reloads.next(), if desk.wants_reloads => {
                    outbox.push(message::write(reload_news::EVENT, &news, None));
                }
                is_alive = heart.tick() => if !is_alive {
                    return End::Gone;
                },
                _ = phase.wait_for(|phase| *phase >= Phase::Draining), if !desk.is_draining => {
                    desk.is_draining = true;
                    // They wait for a person, who may take longer than the shutdown.
                    desk.kill(|run| run.session.is_some());
                }
            }
        }
    }
}

impl HttpApp {
    /// Does what a message asks; answers with what takes longer.
    fn take<'a>(
        &self,
        desk: &mut Desk<'a>,
        text: &str,
        room: Room<'a>,
        outbox: &Outbox,
    ) -> Result<Option<Task>, End> {
        let Room { running, is_stopping, bounds } = room;
        let message::FromClient { asked, id } = message::read(text);
        let refuse =
            |reason: &str| outbox.push(message::write("error", &words(reason), id.as_ref()));
        match asked {
            Err(error) => refuse(&error.to_string()),
            Ok(Asked::Events(list)) => {
                let asked = trace::subscription(&list).unwrap_or_else(|| {
                    // Plans are for those who name them.
                    Subscription::all().without(EventKind::Plan)
                });
                let allowed = self.shared.settings.trace.allowed(asked, true);
                desk.subscription = Rc::new(allowed);
                // It names files, which is nothing for strangers.
                desk.wants_reloads = self.shared.settings.gate.is_dev()
                    && trace::has_name(&list, reload_news::EVENT);
                outbox.push(message::write("events", &Value::from("{}"), None));
            }
            Ok(Asked::Script { .. }) if !self.shared.settings.allows_adhoc => {
                let reason = "scripts of clients are switched off".to_owned();
                return Err(End::Close(CloseCode::Policy, reason));
            }
            Ok(Asked::Plan(_)) if !self.shared.settings.allows_adhoc => {
                refuse("scripts of clients are switched off");
            }
            Ok(Asked::Plan(_)) if self.shared.settings.trace == TraceLevel::None => {
                refuse("this server tells no plans: the setting `trace` is `none`");
            }
            Ok(Asked::Script { .. } | Asked::Plan(_)) if is_stopping => {
                refuse("the server is shutting down");
            }
            Ok(Asked::Script { .. } | Asked::Plan(_)) if running >= SCRIPTS_MAX => {
                refuse(&format!("more than {SCRIPTS_MAX} scripts at once on one connection"));
            }
            Ok(Asked::Plan(text)) => return Ok(Some(Task::Plan { text, id })),
            Ok(Asked::Script { text, is_debug, takes_address }) => {
                match desk.begin_run(id.clone(), is_debug, bounds) {
                    Ok(begun) => return Ok(Some(Task::Run(Job { text, takes_address, ..begun }))),
                    Err(error) => refuse(&error.to_string()),
                }
            }
            Ok(Asked::Step { session, steps }) => match desk.sessions.get(&session) {
                Some((session, _)) => session.step(steps),
                None => refuse(&format!("no debug session {session}")),
            },
            // Whoever gives something up cannot know whether it has just ended.
            Ok(Asked::Kill(number)) if number > desk.sessions_so_far => {
                refuse(&format!("no debug session {number}"));
            }
            Ok(Asked::Kill(number)) => desk.kill(|run| run.session == Some(number)),
            Ok(Asked::KillRun(name)) => desk.kill(|run| run.id.as_ref() == Some(&name)),
            Ok(Asked::Other) => {}
        }
        Ok(None)
    }
}

impl<'a> Desk<'a> {
    /// Notes a run of the client; in debug mode it is a session, of which there may be only so many.
    fn begin_run(
        &mut self,
        id: Option<Value>,
        is_debug: bool,
        bounds: Bounds<'a>,
    ) -> Result<Job, TooManySessions> {
        let control = Rc::new(Control::default());
        let mut session = None;
        if is_debug {
            let sessions = &bounds.quotas.sessions;
            let share = sessions.take(1).ok_or_else(|| TooManySessions(sessions.most()))?;
            self.sessions_so_far += 1;
            let number = self.sessions_so_far;
            let own = Rc::new(Session::new(number, Rc::clone(&control), &bounds.limits));
            self.sessions.insert(number, (Rc::clone(&own), share));
            session = Some(own);
        }
        self.runs_so_far += 1;
        let number = self.runs_so_far;
        let of_session = session.is_some().then_some(self.sessions_so_far);
        let run = Running { id: id.clone(), control: Rc::clone(&control), session: of_session };
        self.runs.insert(number, run);
        let subscription = Rc::clone(&self.subscription);
        let (text, takes_address) = (String::new(), false);
        Ok(Job { number, text, id, subscription, takes_address, control, session })
    }

    /// Gives up the runs that are meant; whoever has ended is not missed.
    fn kill(&self, is_meant: impl Fn(&Running) -> bool) {
        for run in self.runs.values().filter(|run| is_meant(run)) {
            run.control.kill();
        }
    }
}

/// An object with a message.
fn words(message: &str) -> Value {
    Value::object([("message", Value::from(message))].into_iter().collect::<Object>())
}

/// Sends what comes up; ends when the client takes nothing any more, or too slowly.
async fn pump(
    sink: &mut SplitSink<WebSocketStream<Upgraded>, Message>,
    outbox: &Outbox,
    pings: &tokio::sync::Notify,
    pace: &Pace,
) {
    loop {
        let message = tokio::select! {
            message = outbox.next() => Message::text(message),
            () = pings.notified() => Message::Ping(Vec::new().into()),
        };
        let time_max = pace.time_max(message.len());
        if !matches!(timeout(time_max, sink.send(message)).await, Ok(Ok(()))) {
            return;
        }
    }
}

/// What a failure to read means for the connection.
pub(super) fn broken(error: &tungstenite::Error, limits: &SocketLimits) -> End {
    use tungstenite::Error;
    match error {
        Error::Capacity(_) => {
            let (frame, message) = (limits.frame_bytes_max, limits.message_bytes_max);
            let reason = format!("over wsMaxFrame = {frame} or wsMaxMessage = {message} bytes");
            End::Close(CloseCode::Size, reason)
        }
        Error::Utf8(_) => End::Close(CloseCode::Invalid, "a message is not UTF-8".to_owned()),
        Error::Protocol(tungstenite::error::ProtocolError::ResetWithoutClosingHandshake) => {
            End::Gone
        }
        Error::Protocol(error) => End::Close(CloseCode::Protocol, error.to_string()),
        _ => End::Gone,
    }
}

/// Sends what still waits and a close frame, then waits until the client has answered.
async fn close(
    mut sink: SplitSink<WebSocketStream<Upgraded>, Message>,
    stream: SplitStream<WebSocketStream<Upgraded>>,
    outbox: &Outbox,
    code: CloseCode,
    reason: String,
) {
    while !outbox.is_over()
        && let Some(message) = outbox.take()
    {
        if sink.send(Message::text(message)).await.is_err() {
            return;
        }
    }
    let frame = CloseFrame { code, reason: reason.into() };
    if sink.send(Message::Close(Some(frame))).await.is_err() {
        return;
    }
    let Ok(mut socket) = sink.reunite(stream) else { return };
    if code != CloseCode::Size {
        while let Some(Ok(_)) = socket.next().await {}
        return;
    }
    // The rest of the message is no frame to the library. It is read all the same: closing a
    // connection with unread bytes makes the system throw away what was sent.
    let mut dropped = 0;
    let mut piece = vec![0; 16 << 10];
    while dropped < LINGER_BYTES_MAX {
        match socket.get_mut().read(&mut piece).await {
            Ok(0) | Err(_) => return,
            Ok(count) => dropped += count,
        }
    }
}

/// Pings, and whether they are answered.
pub(super) struct Heart {
    ticks: tokio::time::Interval,
    deadline: Option<Instant>,
    pong_timeout: Duration,
    pings: Rc<tokio::sync::Notify>,
}

impl Heart {
    fn new(limits: &SocketLimits) -> Self {
        let mut ticks = interval_at(Instant::now() + limits.ping_interval, limits.ping_interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let pings = Rc::new(tokio::sync::Notify::new());
        Self { ticks, deadline: None, pong_timeout: limits.pong_timeout, pings }
    }

    /// Notified when a ping is due.
    fn pings(&self) -> Rc<tokio::sync::Notify> {
        Rc::clone(&self.pings)
    }

    /// The client has answered.
    pub(super) fn beat(&mut self) {
        self.deadline = None;
    }

    /// Completes when a ping was asked for, or with false when the last one was not answered in time.
    ///
    /// # Cancellation
    /// Safe.
    pub(super) async fn tick(&mut self) -> bool {
        let deadline = self.deadline;
        tokio::select! {
            () = async { tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now)).await },
                if deadline.is_some() => false,
            _ = self.ticks.tick() => {
                self.pings.notify_one();
                self.deadline.get_or_insert_with(|| Instant::now() + self.pong_timeout);
                true
            }
        }
    }
}
