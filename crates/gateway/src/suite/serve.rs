//! The app on a port while tests run, for scripts that call the app itself.

use std::{convert::Infallible, net::SocketAddr, rc::Rc};

use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

use crate::{http::app::HttpApp, mock::accept_all};

/// Answers connections for ever; they end with this future.
pub(super) async fn serve(listener: TcpListener, app: Rc<HttpApp>) {
    accept_all(&listener, |connections, stream, peer| {
        connections.spawn_local(connection(stream, peer, Rc::clone(&app)));
    })
    .await;
}

async fn connection(stream: TcpStream, peer: SocketAddr, app: Rc<HttpApp>) {
    let service = service_fn(|request: Request<Incoming>| {
        let app = Rc::clone(&app);
        async move {
            let (head, body) = request.into_parts();
            Ok::<_, Infallible>(app.respond(&head, body, peer.ip().to_canonical()).await)
        }
    });
    let mut protocol = http1::Builder::new();
    protocol.timer(TokioTimer::new());
    // The client went away or sent no HTTP: hyper has answered what could be answered.
    let _ended = protocol.serve_connection(TokioIo::new(stream), service).await;
}
