//! One worker: a thread with a one-threaded runtime, an app, and the connections it was handed.

use std::{
    io,
    rc::Rc,
    sync::{Arc, mpsc as std_mpsc},
    thread,
};

use qlio_engine::turnstile;
use tokio::{sync::mpsc, task::LocalSet};

use super::{
    App, EventSink, FactoryError, Phase, ServerLimits, WorkerContext,
    accept::{Handed, Inbox},
    connection::{self, Shared},
    open::OpenCount,
};
use crate::http::quota::Quota;

/// Connections that wait for the worker to take them; beyond it they go to others.
const INBOX_MAX: usize = 256;

/// Starts a worker. It reports once whether its app could be made; its thread answers how many
/// connections had to be cut off.
pub(super) fn spawn<A, F>(
    context: WorkerContext,
    limits: ServerLimits,
    answers: Arc<Quota>,
    events: EventSink,
    factory: Arc<F>,
    ready: std_mpsc::Sender<Result<(), FactoryError>>,
) -> io::Result<(Inbox, thread::JoinHandle<usize>)>
where
    A: App,
    F: Fn(WorkerContext) -> Result<A, FactoryError> + Send + Sync + 'static,
{
    let (sender, receiver) = mpsc::channel(INBOX_MAX);
    let open = Arc::new(OpenCount::default());
    let inbox = Inbox { sender, open: Arc::clone(&open), pulse: Arc::clone(&context.pulse) };
    let name = format!("worker {}", context.index);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let handle = thread::Builder::new().name(name).spawn(move || {
        let tasks = LocalSet::new();
        // Dropping `tasks` afterwards drops whatever still runs.
        tasks.block_on(&runtime, async {
            let app = match factory(context.clone()) {
                Ok(app) => app,
                Err(error) => {
                    // If nobody waits any more the start has failed already.
                    let _ = ready.send(Err(error));
                    return 0;
                }
            };
            let _ = ready.send(Ok(()));
            drop(ready);
            let shared = Rc::new(Shared::new(app, limits, events, context, answers));
            serve(&shared, receiver, &open).await
        })
    })?;
    Ok((inbox, handle))
}

/// Serves until the acceptor has gone and every connection has ended, or the deadline passes; then
/// lets the app come to its end.
async fn serve<A: App>(
    shared: &Rc<Shared<A>>,
    mut inbox: mpsc::Receiver<Handed>,
    open: &Arc<OpenCount>,
) -> usize {
    let mut phase = shared.phase();
    tokio::task::spawn_local(Rc::clone(shared).keep_pulse());
    tokio::task::spawn_local(turnstile::turn());
    // The inbox closes when the acceptor ends: whatever was accepted is still served.
    while let Some(handed) = inbox.recv().await {
        match handed {
            Handed::Connection(accepted) => {
                let seat = shared.seats.take();
                let number = seat.number();
                let drive = connection::drive(Rc::clone(shared), accepted, seat);
                let task = tokio::task::spawn_local(drive);
                shared.seats.attach(number, task.abort_handle());
            }
            Handed::Room(reply) => {
                // Whoever asked may not wait any more.
                let _ = reply.send(shared.seats.close_oldest());
            }
        }
    }
    let deadline = tokio::time::sleep(shared.limits.drain_timeout);
    tokio::select! {
        () = open.none_left() => {}
        () = deadline => {}
        // A closed channel means that the handle was dropped without draining; then nobody can
        // ask for an immediate stop either.
        Ok(_) = phase.wait_for(|phase| *phase == Phase::Stopped) => {}
    }
    let cut_off = open.get();
    tokio::select! {
        biased;
        Ok(_) = phase.wait_for(|phase| *phase == Phase::Stopped) => {}
        () = shared.app.end() => {}
    }
    cut_off
}
