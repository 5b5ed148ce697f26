//! Certificates that are replaced while clients keep asking.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
};

use qlio_testkit::{
    process::{ServerProcess, wait},
    program::{Authority, Identity},
};
use serde_json::json;
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    crypto::ring::default_provider,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};

use super::{
    PATIENCE,
    admin::{admin_of, ask},
    folder, start,
};

/// How often the certificate is replaced; there are only two, so each comes back.
const SWAPS: usize = 10;

/// Answers that each client must have got between two swaps.
const ANSWERS_BETWEEN: usize = 3;

type Stream = StreamOwned<ClientConnection, TcpStream>;

/// Who trusts these authorities, and speaks HTTP/1.1.
fn client(authorities: &[&Authority]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(CertificateDer::from_pem_file(authority.file()).unwrap()).unwrap();
    }
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap();
    Arc::new(config.with_root_certificates(roots).with_no_client_auth())
}

fn connect(config: &Arc<ClientConfig>, port: u16) -> std::io::Result<Stream> {
    let socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let name = ServerName::try_from("one.test").unwrap();
    let connection = ClientConnection::new(Arc::clone(config), name).unwrap();
    let mut stream = StreamOwned::new(connection, socket);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    Ok(stream)
}

/// Asks once on a connection that stays.
fn ask_on(stream: &mut Stream) -> std::io::Result<()> {
    stream.write_all(b"GET /one HTTP/1.1\r\nhost: one.test\r\n\r\n")?;
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    while !answer.ends_with(b"\r\n\r\n1") {
        match stream.read(&mut piece)? {
            0 => return Err(std::io::Error::other("the connection has ended")),
            count => answer.extend_from_slice(&piece[..count]),
        }
    }
    if answer.starts_with(b"HTTP/1.1 200 ") {
        return Ok(());
    }
    Err(std::io::Error::other(String::from_utf8_lossy(&answer).into_owned()))
}

/// The certificate that a new client is shown.
fn shown(config: &Arc<ClientConfig>, port: u16) -> std::io::Result<CertificateDer<'static>> {
    let stream = connect(config, port)?;
    Ok(stream.conn.peer_certificates().unwrap()[0].clone().into_owned())
}

/// Clients that keep asking, some on one connection and some each time on a new one.
struct Clients {
    is_over: Arc<AtomicBool>,
    answers: Vec<Arc<AtomicUsize>>,
    failures: Arc<Mutex<Vec<String>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Clients {
    fn start(config: &Arc<ClientConfig>, port: u16) -> Self {
        let (is_over, failures) =
            (Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<String>>>::default());
        let mut clients = Self { is_over, failures, answers: Vec::new(), threads: Vec::new() };
        for keeps in [true, true, false, false] {
            let answers = Arc::<AtomicUsize>::default();
            clients.answers.push(Arc::clone(&answers));
            let (is_over, failures) = (Arc::clone(&clients.is_over), Arc::clone(&clients.failures));
            let config = Arc::clone(config);
            clients.threads.push(thread::spawn(move || {
                let mut kept = None;
                while !is_over.load(Ordering::Relaxed) {
                    let connected = match kept.take() {
                        Some(stream) => Ok(stream),
                        None => connect(&config, port),
                    };
                    let asked = connected.and_then(|mut stream| {
                        ask_on(&mut stream)?;
                        kept = keeps.then_some(stream);
                        Ok(())
                    });
                    match asked {
                        Ok(()) => {
                            answers.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => {
                            return failures.lock().unwrap().push(format!("{keeps}: {error}"));
                        }
                    }
                }
            }));
        }
        clients
    }

    /// Waits until each of them has got some more answers, all of them good.
    fn go_on(&self) {
        let before: Vec<usize> =
            self.answers.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let is_asked = || {
            let mut pairs = self.answers.iter().zip(&before);
            !self.failures.lock().unwrap().is_empty()
                || pairs.all(|(count, before)| {
                    count.load(Ordering::Relaxed) >= before + ANSWERS_BETWEEN
                })
        };
        assert!(wait(PATIENCE, is_asked), "{:?}", self.answers);
        assert!(self.failures.lock().unwrap().is_empty(), "{:?}", self.failures);
    }

    fn end(self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().unwrap();
        }
        assert!(self.failures.lock().unwrap().is_empty(), "{:?}", self.failures);
    }
}

fn install(folder: &Path, identity: &Identity) {
    fs::copy(&identity.certificate, folder.join("server.pem")).unwrap();
    fs::copy(&identity.key, folder.join("server.key")).unwrap();
}

fn tls_port(server: &ServerProcess) -> u16 {
    assert!(server.wait_for_stdout(PATIENCE, |text| text.lines().count() > 1));
    let line = server.stdout().lines().nth(1).unwrap().to_owned();
    line.rsplit(':').next().unwrap().parse().expect(&line)
}

#[test]
fn no_request_fails_while_certificates_are_replaced_and_new_clients_see_the_new_one() {
    let authorities = [Authority::new(), Authority::new()];
    let identities = authorities.each_ref().map(|authority| authority.issue("one.test"));
    let leaves =
        identities.each_ref().map(|one| CertificateDer::from_pem_file(&one.certificate).unwrap());
    let settings = json!({
        "trust": {"hosts": ["one.test"]},
        "tls": {"certificate": "server.pem", "key": "server.key"},
    });
    let app = folder(&[
        ("qlio.json", &settings.to_string()),
        ("routes/one.ql", "return 1 via route '/one' using method get"),
    ]);
    install(app.path(), &identities[0]);
    let places = ["--listen", "127.0.0.1:0", "--listen", "127.0.0.1:0 tls", "--admin", "0"];
    let server = start(&[&["serve"][..], &places[..]].concat(), app.path());
    let (admin, port) = (admin_of(&server), tls_port(&server));
    let both = client(&[&authorities[0], &authorities[1]]);
    let trusting = authorities.each_ref().map(|authority| client(&[authority]));
    let clients = Clients::start(&both, port);
    clients.go_on();
    assert_eq!(shown(&both, port).unwrap(), leaves[0]);
    for swap in 1..=SWAPS {
        let (new, old) = (swap % 2, (swap + 1) % 2);
        install(app.path(), &identities[new]);
        let answer = ask(admin, "POST", "/reload");
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(shown(&both, port).unwrap(), leaves[new], "swap {swap}");
        assert!(shown(&trusting[new], port).is_ok(), "swap {swap}");
        assert!(shown(&trusting[old], port).is_err(), "swap {swap}");
        clients.go_on();
    }
    // A pair that does not belong together changes nothing.
    fs::copy(&identities[1].key, app.path().join("server.key")).unwrap();
    let refused = ask(admin, "POST", "/reload");
    assert_eq!(refused.status, 422, "{}", refused.text());
    assert_eq!(shown(&both, port).unwrap(), leaves[0]);
    clients.go_on();
    clients.end();
    assert_eq!(server.stop(PATIENCE).code(), Some(0));
}
