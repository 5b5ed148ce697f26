//! The language server over WebSocket: one connection, from its first message to its end (CSL-4).
//!
//! ```text
//! frame ─▶ Messages (bounded) ─▶ heavy thread: the service of this connection ─▶ Outbox ─▶ frames
//! ```
//!
//! One message of the Language Server Protocol is one text frame. The service knows the catalog that is loaded and
//! no file: a page of the console may not read what lies on the server's disk. Messages are answered one after the
//! other by a heavy thread, since an answer may take some milliseconds; while one is answered, some more are read
//! ahead, and then none.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};

use arc_swap::ArcSwap;
use futures_util::{StreamExt, stream::SplitStream};
use qlio_engine::heavy::Busy;
use qlio_language::{App, AppFile, Ending, Host, Server};
use tokio::time::{Instant, sleep};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, protocol::frame::coding::CloseCode},
};

use super::{
    Front, HttpApp,
    conversation::{End, Heart, broken},
};
use crate::{
    http::{
        server::{Phase, Upgraded},
        websocket::{SocketLimits, outbox::Outbox},
    },
    load::Loaded,
};

/// Messages that are read ahead.
const WAITING_MAX: usize = 64;

/// Documents that one client may have open: a console has some tabs.
const OPEN_MAX: usize = 32;

/// Tells the service that tables and routes may have changed.
const CHANGED: &str =
    r#"{"jsonrpc":"2.0","method":"workspace/didChangeWatchedFiles","params":{"changes":[]}}"#;

/// The catalog of this server, without files.
struct LoadedApp(Arc<ArcSwap<Loaded>>);

impl Host for LoadedApp {
    fn load(&mut self, _root: &str, _open: &[AppFile]) -> App {
        App { catalog: self.0.load().catalog.clone(), ..App::default() }
    }
}

/// What answers a client, lent to the thread that does it.
type Service = Arc<Mutex<Server<LoadedApp>>>;

/// The answers to a message, and whether the client is still there.
type Answering = Pin<Box<dyn Future<Output = Result<(Vec<String>, Ending), Busy>>>>;

impl Front {
    /// Serves a client of the language server to its end.
    pub(super) async fn serve_language(
        &self,
        stream: &mut SplitStream<WebSocketStream<Upgraded>>,
        outbox: &Outbox,
        heart: &mut Heart,
        limits: &SocketLimits,
        mut phase: tokio::sync::watch::Receiver<Phase>,
    ) -> End {
        let loaded = Arc::new(ArcSwap::new(Arc::clone(&self.app().shared.loaded)));
        let server = Server::new(LoadedApp(Arc::clone(&loaded)), "/").with_open_max(OPEN_MAX);
        let service: Service = Arc::new(Mutex::new(server));
        let mut waiting: VecDeque<String> = VecDeque::new();
        let mut answering: Option<Answering> = None;
        let mut is_settled = true;
        let mut idle = std::pin::pin!(sleep(limits.idle_timeout));
        loop {
            if answering.is_none() {
                let current = self.app();
                if !Arc::ptr_eq(&current.shared.loaded, &loaded.load()) {
                    loaded.store(Arc::clone(&current.shared.loaded));
                    waiting.push_front(CHANGED.to_owned());
                }
                if let Some(message) = waiting.pop_front() {
                    is_settled = false;
                    answering = Some(answering_of(&current, &service, Some(message)));
                } else if !is_settled {
                    is_settled = true;
                    answering = Some(answering_of(&current, &service, None));
                }
            }
            tokio::select! {
                answered = async { answering.as_mut().expect("checked").await },
                    if answering.is_some() =>
                {
                    answering = None;
                    let Ok((answers, ending)) = answered else {
                        let reason = "too much is to be done by the heavy threads".to_owned();
                        return End::Close(CloseCode::Again, reason);
                    };
                    for answer in answers {
                        outbox.push(answer);
                    }
                    if ending != Ending::Open {
                        return End::Close(CloseCode::Normal, "goodbye".to_owned());
                    }
                }
                frame = stream.next(), if waiting.len() < WAITING_MAX => match frame {
                    Some(Ok(Message::Text(text))) => {
                        self.pulse.touch();
                        idle.as_mut().reset(Instant::now() + limits.idle_timeout);
                        waiting.push_back(text.as_str().to_owned());
                    }
                    Some(Ok(Message::Binary(_))) => {
                        let reason = "messages must be text".to_owned();
                        return End::Close(CloseCode::Unsupported, reason);
                    }
                    Some(Ok(Message::Pong(_))) => heart.beat(),
                    Some(Ok(Message::Ping(_) | Message::Frame(_))) => {}
                    Some(Ok(Message::Close(_))) => return End::Left,
                    None => return End::Gone,
                    Some(Err(error)) => return broken(&error, limits),
                },
                () = idle.as_mut() => {
                    let reason = format!(
                        "nothing was asked for longer than wsIdleTimeout = {} ms",
                        limits.idle_timeout.as_millis()
                    );
                    return End::Close(CloseCode::Policy, reason);
                }
                is_alive = heart.tick() => if !is_alive {
                    return End::Gone;
                },
                _ = phase.wait_for(|phase| *phase >= Phase::Draining) => {
                    return End::Close(CloseCode::Away, "the server is shutting down".to_owned());
                }
            }
        }
    }
}

/// The answers to a message; without one, what was put off until none waits.
fn answering_of(app: &HttpApp, service: &Service, message: Option<String>) -> Answering {
    let (service, heavy) = (Arc::clone(service), app.engine.heavy().clone());
    Box::pin(async move {
        let done = heavy.run(move |_| {
            // The service catches what panics in it.
            let mut service = service.lock().unwrap_or_else(PoisonError::into_inner);
            let answers = match message {
                Some(message) => service.handle(&message),
                None => service.settle(),
            };
            (answers, service.ending())
        });
        Ok(done.await?.value)
    })
}
