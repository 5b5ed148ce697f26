//! TCP ports of the proxy: bytes between a client and an upstream, as the entry says.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy, copy_bidirectional, sink},
    net::{
        TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
    time::{sleep, timeout},
};

use super::{
    super::{
        MockError,
        behaviour::{Behaviour, Effect},
        listen::{accept_all, bind},
    },
    Entry, PoisonError, Proxy, locked,
};

/// How long an upstream may take to accept.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
/// When the upstream of type `drop` is cut off if the entry names no time.
const DROP: Duration = Duration::from_millis(33);
const BUFFER_BYTES: usize = 16 * 1024;

/// Listens on a port unless it is listened on already.
///
/// # Errors
/// The port is taken.
pub(super) async fn listen(proxy: &Arc<Proxy>, port: u16) -> Result<(), MockError> {
    if locked(&proxy.ports).iter().any(|(known, _)| *known == port) {
        return Ok(());
    }
    let (listener, address) = bind(&proxy.host, port).await?;
    locked(&proxy.ports).push((port, address));
    let shared = Arc::clone(proxy);
    locked(&proxy.listeners).spawn(async move {
        accept_all(&listener, |connections, stream, peer| {
            connections.spawn(connection(Arc::clone(&shared), port, stream, peer));
        })
        .await;
    });
    Ok(())
}

async fn connection(proxy: Arc<Proxy>, port: u16, client: TcpStream, peer: SocketAddr) {
    let entry = {
        let config = proxy.config.read().unwrap_or_else(PoisonError::into_inner);
        let tenant = config.tenant_of(&peer.ip().to_canonical().to_string());
        config.port(tenant, port)
    };
    let outcome = match &entry {
        None => "no entry for this client".to_owned(),
        Some(entry) => match serve(entry, client).await {
            Ok(effect) => effect.to_owned(),
            Err(error) => error.to_string(),
        },
    };
    super::super::log(&proxy.log, format_args!("tcp {port} from {peer}: {outcome}"));
}

/// Serves one connection to its end; says what was done to it.
async fn serve(entry: &Entry, mut client: TcpStream) -> io::Result<&'static str> {
    let behaviour = &entry.behaviour;
    match behaviour.draw() {
        Effect::Normal => {
            copy_bidirectional(&mut client, &mut connect(entry).await?).await?;
            Ok("normal")
        }
        Effect::Late(time) => {
            sleep(time).await;
            copy_bidirectional(&mut client, &mut connect(entry).await?).await?;
            Ok("late")
        }
        Effect::Drop => {
            cut_upstream(client, connect(entry).await?, behaviour.drop_time(DROP)).await?;
            Ok("drop")
        }
        Effect::Unresponsive => {
            // The upstream sees a connection that goes away at once, the client one that is silent.
            if entry.target.is_some() {
                drop(connect(entry).await?);
            }
            copy(&mut client, &mut sink()).await?;
            Ok("unresponsive")
        }
        Effect::Bumpy => {
            bumpy(client, connect(entry).await?, behaviour).await?;
            Ok("bumpy")
        }
        Effect::Status => {
            client.write_all(&behaviour.own_body()).await?;
            client.shutdown().await?;
            // Closing with unread bytes would reset what has just been sent.
            copy(&mut client, &mut sink()).await?;
            Ok("status")
        }
        Effect::Unknown(kind) => Err(io::Error::other(format!("no type `{kind}`"))),
    }
}

async fn connect(entry: &Entry) -> io::Result<TcpStream> {
    let target =
        entry.target.as_ref().ok_or_else(|| io::Error::other("the entry has no `host`"))?;
    let connecting = TcpStream::connect((target.host.as_str(), target.port));
    let stream = timeout(CONNECT_TIME_MAX, connecting).await.map_err(io::Error::other)??;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Pipes, and after a while tells the upstream that nothing more will come.
async fn cut_upstream(
    mut client: TcpStream,
    mut upstream: TcpStream,
    after: Duration,
) -> io::Result<()> {
    let (mut from_client, mut to_client) = client.split();
    let (mut from_upstream, mut to_upstream) = upstream.split();
    let up = async {
        tokio::select! {
            copied = copy(&mut from_client, &mut to_upstream) => { copied?; }
            () = sleep(after) => {}
        }
        to_upstream.shutdown().await
    };
    let down = async {
        copy(&mut from_upstream, &mut to_client).await?;
        to_client.shutdown().await
    };
    tokio::try_join!(up, down).map(|_| ())
}

/// Pipes; towards the client alternately for a random time and not for a random time.
async fn bumpy(
    mut client: TcpStream,
    mut upstream: TcpStream,
    behaviour: &Behaviour,
) -> io::Result<()> {
    let (mut from_client, mut to_client) = client.split();
    let (mut from_upstream, mut to_upstream) = upstream.split();
    let up = async {
        copy(&mut from_client, &mut to_upstream).await?;
        to_upstream.shutdown().await
    };
    let down = stutter(&mut from_upstream, &mut to_client, behaviour);
    tokio::try_join!(up, down).map(|_| ())
}

async fn stutter(
    from: &mut ReadHalf<'_>,
    to: &mut WriteHalf<'_>,
    behaviour: &Behaviour,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let flows_until = tokio::time::Instant::now() + behaviour.pause();
        loop {
            let read = tokio::time::timeout_at(flows_until, from.read(&mut buffer)).await;
            match read {
                Err(_) => break,
                Ok(length) => match length? {
                    0 => return to.shutdown().await,
                    length => to.write_all(&buffer[..length]).await?,
                },
            }
        }
        sleep(behaviour.pause()).await;
    }
}
