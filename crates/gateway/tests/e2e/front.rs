//! How clients come in: TLS and who they are, HTTP/2, unix sockets, and proxies in front.

use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, net::UnixListener},
    path::Path,
    process::Command,
};

use qlio_testkit::{
    client::{Request, fetch},
    process::{Finished, ServerProcess, run_in, wait},
    program::{Authority, Program, Running, installed},
};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{PATIENCE, binary, folder, start};

/// A form with a script whose answer is larger than what HTTP/2 lets a client send, or get, at once.
fn large_form() -> String {
    format!("s=return%20%22{}%22", "x".repeat(300_000))
}

/// An app that tells whose requests it answers, with these settings.
fn app(settings: &Value) -> TempDir {
    folder(&[
        ("qlio.json", &settings.to_string()),
        ("routes/one.ql", "return 1 via route '/one' using method get"),
        ("routes/who.ql", "return \"{remoteAddress}\" via route '/who' using method get"),
        ("routes/identity.ql", "return \"{x-identity}\" via route '/identity' using method get"),
    ])
}

/// Serves the app at these places, beside a free port of loopback without TLS for the test's own sake.
fn serve(folder: &Path, places: &[&str]) -> ServerProcess {
    let mut arguments = vec!["serve", "--enable-q", "--workers", "1", "--listen", "127.0.0.1:0"];
    for place in places {
        arguments.extend(["--listen", place]);
    }
    start(&arguments, folder)
}

/// The port of the server's second place.
fn second_port(server: &ServerProcess) -> u16 {
    assert!(server.wait_for_stdout(PATIENCE, |text| text.lines().count() > 1));
    let line = server.stdout().lines().nth(1).unwrap().to_owned();
    line.rsplit(':').next().unwrap().parse().expect(&line)
}

fn curl(folder: &Path, arguments: &[&str]) -> Option<Finished> {
    let curl = installed("curl")?;
    let usual = ["--silent", "--show-error", "--max-time", "60"];
    Some(run_in(&curl, &[&usual, arguments].concat(), folder, &[], "", PATIENCE).unwrap())
}

fn text_of(finished: &Finished) -> &str {
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    &finished.stdout
}

#[test]
fn tls_speaks_both_versions_of_http_with_the_certificate_of_the_name() {
    let authority = Authority::new();
    let [one, two] = ["one.test", "two.test"].map(|name| authority.issue(name));
    let app = app(&json!({"trust": {"hosts": ["one.test"]}, "tls": {
        "certificate": [one.certificate, two.certificate],
        "key": [one.key, two.key],
    }}));
    let server = serve(app.path(), &["127.0.0.1:0 tls"]);
    let port = second_port(&server);
    let authorities = authority.file();
    let ask = |host: &str, more: &[&str]| {
        let address = format!("{host}:{port}:127.0.0.1");
        let uri = format!("https://{host}:{port}/one");
        let cacert = authorities.to_str().unwrap();
        let usual = ["--cacert", cacert, "--resolve", &address, "--write-out", " %{http_version}"];
        curl(app.path(), &[&usual, more, &[&uri]].concat())
    };
    let Some(newer) = ask("one.test", &["--http2"]) else { return };
    assert_eq!(text_of(&newer), "1 2");
    for more in [&["--http1.1"][..], &["--http1.1", "--tls-max", "1.2"]] {
        assert_eq!(text_of(&ask("two.test", more).unwrap()), "1 1.1");
    }
    let older = ask("one.test", &["--tls-max", "1.1", "--ciphers", "DEFAULT@SECLEVEL=0"]).unwrap();
    assert_eq!(older.code(), Some(35), "{older:?}");
    let plain = fetch(([127, 0, 0, 1], port).into(), &Request::get("/one"), PATIENCE);
    assert!(plain.is_err(), "{plain:?}");

    let script = app.path().join("large.form");
    fs::write(&script, large_form()).unwrap();
    let (body, uri) = (format!("@{}", script.display()), format!("https://one.test:{port}/q"));
    let address = format!("one.test:{port}:127.0.0.1");
    for version in ["--http2", "--http1.1"] {
        let cacert = authorities.to_str().unwrap();
        let ask = |media_type: &str| {
            let header = format!("content-type: {media_type}");
            let arguments = [
                "--cacert",
                cacert,
                "--resolve",
                &address,
                version,
                "--data-binary",
                &body,
                "--header",
                &header,
                "--write-out",
                " %{http_code}",
                &uri,
            ];
            curl(app.path(), &arguments).unwrap()
        };
        let large = ask("application/x-www-form-urlencoded");
        assert_eq!(text_of(&large).len(), 300_002 + " 200".len(), "{version}");
        // It is answered while it is still being sent.
        let early = ask("text/plain");
        assert!(text_of(&early).ends_with("} 400"), "{version}: {early:?}");
    }
}

#[test]
fn a_client_shows_who_it_is() {
    let authority = Authority::new();
    let [server_own, worker] = ["one.test", "worker.test"].map(|name| authority.issue(name));
    let stranger = Authority::new().issue("worker.test");
    for (mode, without) in [("required", None), ("optional", Some("null"))] {
        let app = app(&json!({"tls": {
            "certificate": server_own.certificate, "key": server_own.key,
            "clientAuthorities": authority.file(), "clientCertificate": mode,
            "identityHeader": "x-identity",
        }}));
        let server = serve(app.path(), &["127.0.0.1:0 tls"]);
        let port = second_port(&server);
        let ask = |more: &[&str]| {
            let address = format!("one.test:{port}:127.0.0.1");
            let uri = format!("https://one.test:{port}/identity");
            let authorities = authority.file();
            let cacert = authorities.to_str().unwrap();
            let usual =
                ["--cacert", cacert, "--resolve", &address, "--header", "x-identity: forged"];
            curl(app.path(), &[&usual, more, &[&uri]].concat())
        };
        let (certificate, key) =
            (worker.certificate.to_str().unwrap(), worker.key.to_str().unwrap());
        let Some(known) = ask(&["--cert", certificate, "--key", key]) else { return };
        assert_eq!(text_of(&known), "\"worker.test\"");
        let unknown = ask(&[]).unwrap();
        match without {
            Some(expected) => assert_eq!(text_of(&unknown), expected),
            None => assert_ne!(unknown.code(), Some(0), "{unknown:?}"),
        }
        let (certificate, key) =
            (stranger.certificate.to_str().unwrap(), stranger.key.to_str().unwrap());
        let forged = ask(&["--cert", certificate, "--key", key]).unwrap();
        assert_ne!(forged.code(), Some(0), "{forged:?}");
        let plain = Request::get("/identity").header("x-identity", "forged");
        let plain = fetch(server.address(), &plain, PATIENCE).unwrap();
        assert_eq!(plain.text(), "null");
    }
}

#[test]
fn a_unix_socket_serves_and_goes_with_the_server() {
    let app = app(&json!({}));
    let path = app.path().join("http.sock");
    // What a process has left there that is gone.
    drop(UnixListener::bind(&path).unwrap());
    let server = serve(app.path(), &["unix:http.sock mode=600"]);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let text = path.to_str().unwrap();
    let ask = || curl(app.path(), &["--unix-socket", text, "http://localhost/who"]);
    let Some(answer) = ask() else { return };
    assert_eq!(text_of(&answer), "\"127.0.0.1\"");
    let arguments = ["serve", "--listen", "unix:http.sock"];
    let second = run_in(binary(), &arguments, app.path(), &[], "", PATIENCE).unwrap();
    assert_ne!(second.code(), Some(0));
    assert!(second.stderr.contains("cannot listen on unix:http.sock"), "{second:?}");
    assert_eq!(text_of(&ask().unwrap()), "\"127.0.0.1\"", "the first goes on");
    assert_eq!(server.stop(PATIENCE).code(), Some(0));
    assert!(!path.exists());
    fs::write(&path, "a file of somebody").unwrap();
    let third = run_in(binary(), &arguments, app.path(), &[], "", PATIENCE).unwrap();
    assert!(third.stderr.contains("cannot listen on"), "{third:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "a file of somebody");
}

#[test]
fn places_that_cannot_be_are_told_before_anything_serves() {
    let authority = Authority::new();
    let [one, two] = ["one.test", "two.test"].map(|name| authority.issue(name));
    for (settings, reason) in [
        (json!({"listen": ["3000 tls"]}), "needs a certificate"),
        (json!({"listen": ["3000 proxy"]}), "needs the networks of its proxies"),
        (json!({"listen": ["nowhere"]}), "`listen[0]`"),
        (json!({"trust": {"proxies": ["10.0.0.0/40"]}}), "`trust.proxies[0]`"),
        (json!({"tls": {"certificate": one.certificate, "key": two.key}}), "does not belong"),
        (json!({"tls": {"certificate": one.certificate}}), "every certificate needs its key"),
        (json!({"tls": {"certificate": "no.pem", "key": one.key}}), "no.pem"),
    ] {
        let app = app(&settings);
        let run = |more: &[&str]| {
            let arguments = [&["serve"], more].concat();
            run_in(binary(), &arguments, app.path(), &[], "", PATIENCE).unwrap()
        };
        for more in [&[][..], &["--lenient"]] {
            let finished = run(more);
            assert_eq!(finished.code(), Some(1), "{settings} {finished:?}");
            assert!(finished.stderr.contains(reason), "{settings} {finished:?}");
        }
    }
}

#[test]
fn programs_of_others_speak_http_2() {
    let app = app(&json!({"http2": {"plain": true}}));
    let server = serve(app.path(), &[]);
    let uri = format!("{}/one", server.url());
    if let Some(curl) =
        curl(app.path(), &["--http2-prior-knowledge", "--write-out", " %{http_version}", &uri])
    {
        assert_eq!(text_of(&curl), "1 2");
    }
    if let Some(nghttp) = installed("nghttp") {
        let nghttp = run_in(&nghttp, &[&uri], app.path(), &[], "", PATIENCE).unwrap();
        assert_eq!(text_of(&nghttp).trim(), "1");
    }
    if let Some(h2load) = installed("h2load") {
        let arguments = ["-n", "1000", "-c", "4", "-m", "50", &uri];
        let load = run_in(&h2load, &arguments, app.path(), &[], "", PATIENCE).unwrap();
        let counts = "1000 succeeded, 0 failed, 0 errored, 0 timeout";
        assert!(text_of(&load).contains(counts), "{load:?}");
    }
    assert_eq!(server.stop(PATIENCE).code(), Some(0));
}

#[test]
fn http_2_keeps_its_specification() {
    let Some(h2spec) = installed("h2spec") else { return };
    let app = app(&json!({"http2": {"plain": true}}));
    let server = serve(app.path(), &[]);
    // A fast answer may be on its way before the wrong frame comes: what counts fails each time.
    let (mut failures, mut output) = failures_of_h2spec(&h2spec, app.path(), &server);
    for _ in 0..2 {
        if failures.is_empty() {
            break;
        }
        let again;
        (again, output) = failures_of_h2spec(&h2spec, app.path(), &server);
        failures.retain(|failure| again.contains(failure));
    }
    assert!(failures.is_empty(), "{failures:?}: {output}");
}

/// The tests of h2spec that fail and are not known to, and all that it printed.
fn failures_of_h2spec(
    h2spec: &Path,
    folder: &Path,
    server: &ServerProcess,
) -> (Vec<String>, String) {
    let port = server.address().port().to_string();
    let arguments = ["-h", "127.0.0.1", "-p", &port, "-P", "/one", "-o", "20"];
    let finished = run_in(h2spec, &arguments, folder, &[], "", PATIENCE * 4).unwrap();
    assert!(finished.stdout.contains("145 tests, 14"), "{finished:?}");
    // What begins with something else is HTTP/1.1 here, and hears 400 before it is closed. A route that needs no
    // body has answered, and asked for no more frames (RFC 9113, 8.1), before its trailers or windows come.
    let known = [
        "Sends invalid connection preface",
        "contains a pseudo-header field as trailers",
        "increasing the flow control window to above 2^31-1 on a stream",
    ];
    let (_, failures) = finished.stdout.split_once("Failures:").unwrap_or_default();
    let failures = failures
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with('\u{d7}'))
        .filter(|line| !known.iter().any(|known| line.ends_with(known)))
        .map(str::to_owned)
        .collect();
    (failures, finished.stdout)
}

#[test]
fn a_client_is_known_behind_a_proxy_that_is_trusted() {
    let app = app(&json!({"trust": {"proxies": ["127.0.0.1"]}}));
    let server = serve(app.path(), &[]);
    let ask = |value: &str| {
        let request = Request::get("/who").header("x-forwarded-for", value);
        fetch(server.address(), &request, PATIENCE).unwrap().text()
    };
    assert_eq!(ask("6.6.6.6, 192.0.2.7"), "\"192.0.2.7\"");
    assert_eq!(ask("nobody"), "\"127.0.0.1\"");
    let stranger = super::folder(&[(
        "routes/who.ql",
        "return \"{remoteAddress}\" via route '/who' using method get",
    )]);
    let server = serve(stranger.path(), &[]);
    let request = Request::get("/who").header("x-forwarded-for", "192.0.2.7");
    assert_eq!(fetch(server.address(), &request, PATIENCE).unwrap().text(), "\"127.0.0.1\"");
}

#[test]
fn the_proxy_protocol_is_for_proxies_that_are_trusted() {
    let app = app(&json!({"trust": {"proxies": ["127.0.0.1"]}}));
    let server = serve(app.path(), &["127.0.0.1:0 proxy"]);
    let port = second_port(&server);
    let curl = |port: u16, more: &[&str]| {
        let uri = format!("http://127.0.0.1:{port}/who");
        curl(app.path(), &[more, &[&uri]].concat())
    };
    let Some(answer) = curl(port, &["--haproxy-protocol"]) else { return };
    assert_eq!(text_of(&answer), "\"127.0.0.1\"");
    assert_ne!(curl(port, &[]).unwrap().code(), Some(0), "it sends no head");
    assert!(
        server.wait_for_stderr(PATIENCE, |text| text.contains("no head of the PROXY protocol"))
    );
    let untrusted = app_of_strangers();
    let server = serve(untrusted.path(), &["127.0.0.1:0 proxy"]);
    let port = second_port(&server);
    assert_ne!(curl(port, &["--haproxy-protocol"]).unwrap().code(), Some(0));
    assert!(
        server.wait_for_stderr(PATIENCE, |text| text.contains("no proxy that `trust.proxies`"))
    );
}

fn app_of_strangers() -> TempDir {
    app(&json!({"trust": {"proxies": ["192.0.2.0/24"]}}))
}

/// `HAProxy` in front of a server, which it tells whose connections it passes on.
#[derive(Debug)]
struct Haproxy {
    server: u16,
    version: &'static str,
}

impl Program for Haproxy {
    fn executable(&self) -> &'static str {
        "haproxy"
    }

    fn configure(&self, command: &mut Command, port: u16, folder: &Path) -> std::io::Result<()> {
        let Self { server, version } = self;
        let file = folder.join("haproxy.cfg");
        // The outer front speaks to the inner one as a client elsewhere would.
        let text = format!(
            "defaults\n mode tcp\n timeout connect 60s\n timeout client 60s\n timeout server 60s\n\
             frontend front\n bind 127.0.0.1:{port}\n default_backend back\n\
             backend back\n source 127.0.0.1\n server one 127.0.0.1:{server} {version}\n"
        );
        fs::write(&file, text)?;
        command.arg("-db").arg("-f").arg(file);
        Ok(())
    }
}

#[test]
fn haproxy_passes_on_whose_connection_it_is() {
    let app = app(&json!({"trust": {"proxies": ["127.0.0.1"]}}));
    for version in ["send-proxy", "send-proxy-v2"] {
        let server = serve(app.path(), &["127.0.0.1:0 proxy"]);
        let program = Haproxy { server: second_port(&server), version };
        let Some(haproxy) = Running::start(program) else { return };
        // A client that is not the proxy's own address.
        let uri = format!("http://127.0.0.1:{}/who", haproxy.port());
        let Some(answer) = curl(app.path(), &["--interface", "127.0.0.9", &uri]) else { return };
        assert_eq!(text_of(&answer), "\"127.0.0.9\"", "{version}");
    }
}

#[test]
fn the_end_of_a_server_lets_tls_clients_finish() {
    let authority = Authority::new();
    let one = authority.issue("one.test");
    let app = app(&json!({"tls": {"certificate": one.certificate, "key": one.key}}));
    let mut server = serve(app.path(), &["127.0.0.1:0 tls"]);
    let port = second_port(&server);
    // A handshake that never comes does not hold the end up.
    let silent = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    server.signal(Signal::TERM).unwrap();
    assert!(wait(PATIENCE, || server.has_ended()));
    drop(silent);
}
