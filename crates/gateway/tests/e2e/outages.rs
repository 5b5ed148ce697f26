//! Servers around qlio that are reloaded, killed and started again in the middle of load. Only what
//! needs them fails, soon and with the right error, and comes back by itself.

use std::path::Path;
use std::time::Duration;

use qlio_testkit::process::{ServerProcess, wait};
use qlio_testkit::program::{Authority, CacheServer, Nginx, Running, Tinyproxy};
use qlio_testkit::upstream::{Expectation, Fault, Respond, Upstream};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::load::{Answered, Load};
use super::{PATIENCE, folder, serve_folder};

/// Clients per path.
const CLIENTS: usize = 4;

/// How long anything may take while a server is gone; the idle timeout alone is ten seconds.
const SOON: Duration = Duration::from_secs(9);

/// Short, so that a test does not wait for the back-off.
const DELAYS: &str = "minDelay 20 maxDelay 200";

/// Connecting failed, the connection broke, or the upstream is left alone after failures.
const OUTAGE: [&str; 3] = ["Q5002", "Q5014", "Q5010"];

/// qlio with these settings, tables (name, URI) and routes (path, script).
fn serve(
    settings: &Value,
    tables: &[(&str, &str)],
    routes: &[(&str, &str)],
) -> (ServerProcess, TempDir) {
    let mut files = vec![("config.json".to_owned(), settings.to_string())];
    files.extend(tables.iter().map(|(name, uri)| {
        let text = format!("create table {name} on select get from '{uri}' expires 60");
        (format!("tables/{name}.ql"), text)
    }));
    files.extend(routes.iter().map(|(path, script)| {
        (format!("routes/{path}.ql"), format!("{script} via route '/{path}' using method get"))
    }));
    let files: Vec<_> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
    let folder = folder(&files);
    let options = ["--dev", "--strict", "--workers", "2", "--config", "config.json"];
    (serve_folder(folder.path(), &options), folder)
}

/// nginx with a certificate for `localhost`.
fn secure_nginx(authority: &Authority, listen: &str, locations: &str) -> Option<Running<Nginx>> {
    let identity = authority.issue("localhost");
    let line = |name: &str, path: &Path| format!("{name} {};", path.display());
    Running::start(Nginx::new(format!(
        "server {{ listen 127.0.0.1:{{port}} ssl {listen}; {} {} {locations} }}",
        line("ssl_certificate", &identity.certificate),
        line("ssl_certificate_key", &identity.key),
    )))
}

fn plain_nginx(locations: &str) -> Option<Running<Nginx>> {
    Running::start(Nginx::new(format!("server {{ listen 127.0.0.1:{{port}}; {locations} }}")))
}

/// Asserts that the answers of an outage are values or the errors that an outage makes, all of them
/// soon, and that there are such errors.
fn assert_outage(answers: &[Answered]) {
    for answered in answers {
        assert!(answered.took < SOON, "{answered:?}");
        let is_right = match answered.status {
            200 => answered.code().is_empty(),
            502 | 503 => OUTAGE.contains(&answered.code()),
            _ => false,
        };
        assert!(is_right, "{answered:?}");
    }
    assert!(answers.iter().any(|answered| answered.status != 200), "nothing has failed");
}

fn fails(answers: &[Answered]) -> bool {
    answers.iter().filter(|answered| answered.status != 200).count() >= 2 * CLIENTS
}

#[test]
fn a_reload_of_the_upstream_costs_no_request() {
    let worker = r#"location / { return 200 '{"worker": "$pid"}'; }"#;
    let authority = Authority::new();
    let (Some(http1), Some(http2), Some(plain)) = (
        secure_nginx(&authority, "", worker),
        secure_nginx(&authority, "http2", worker),
        plain_nginx(worker),
    ) else {
        return;
    };
    let (first, second) = (
        format!("https://localhost:{}/", http1.port()),
        format!("https://localhost:{}/", http2.port()),
    );
    let third = format!("http://{}/", plain.address());
    let (server, _folder) = serve(
        &json!({"tls": {"caFile": authority.file()}}),
        &[("first", &first), ("second", &second), ("third", &third)],
        &[
            ("http1", "return select * from first"),
            ("http2", "return select * from second"),
            ("plain", "return select * from third"),
        ],
    );
    for (path, nginx) in [("/http1", &http1), ("/http2", &http2), ("/plain", &plain)] {
        let load = Load::start(server.address(), path, CLIENTS);
        for _ in 0..4 {
            load.wait_until_well();
            let seen: Vec<Value> =
                load.since(0).into_iter().map(|answered| answered.body).collect();
            nginx.signal(Signal::HUP);
            // A worker that nobody has met before: the reload is done.
            load.wait_for(|answers| answers.iter().any(|answered| !seen.contains(&answered.body)));
        }
        load.wait_until_well();
        load.assert_unharmed();
    }
}

#[test]
fn a_killed_upstream_fails_what_needs_it_and_is_used_again() {
    let silent = Upstream::with([Expectation::get("/silent")
        .any_calls()
        .respond(Respond::fault(Fault::Never))])
    .unwrap();
    let lighthouse = plain_nginx(&format!(
        r#"location / {{ return 200 '{{"lamp": "lit"}}'; }}
        location /silent {{ proxy_pass {}; }}
        location /connections {{ stub_status; }}"#,
        silent.base()
    ));
    let harbour = plain_nginx(r#"location / { return 200 '{"ships": 7}'; }"#);
    let (Some(mut lighthouse), Some(harbour)) = (lighthouse, harbour) else { return };
    let at = |path: &str| format!("http://{}/{path}", lighthouse.address());
    let (server, _folder) = serve(
        &json!({}),
        &[
            ("lamps", &at("lamps")),
            ("ships", &format!("http://{}/", harbour.address())),
            ("silence", &at("silent")),
        ],
        &[
            ("lamps", &format!("return select * from lamps {DELAYS}")),
            ("ships", "return select * from ships"),
            (
                "both",
                &format!(
                    "s = select * from ships\n\
                     l = select * from lamps {DELAYS} || {{\"lamp\": \"dark\"}}\n\
                     return {{\"ships\": \"{{s.ships}}\", \"lamp\": \"{{l.lamp}}\"}}"
                ),
            ),
            ("silence", &format!("return select * from silence {DELAYS}")),
        ],
    );
    let [lamps, ships, both] =
        ["/lamps", "/ships", "/both"].map(|path| Load::start(server.address(), path, CLIENTS));
    for load in [&lamps, &ships, &both] {
        load.wait_until_well();
    }
    // In flight when the upstream dies: nothing but its death can answer it.
    let silence = Load::start(server.address(), "/silence", 1);
    assert!(silent.wait_until(PATIENCE, |ledger| ledger.in_flight() == 1));
    let before = [&lamps, &both].map(Load::assert_unharmed);
    lighthouse.kill();
    assert_outage(&silence.wait_for(|answers| !answers.is_empty()));
    drop(silence);
    lamps.wait_for(fails);
    let is_dark = |answered: &Answered| answered.body == json!({"ships": "7", "lamp": "dark"});
    both.wait_for(|answers| answers.iter().filter(|answered| is_dark(answered)).count() >= CLIENTS);
    lighthouse.restart();
    for load in [&lamps, &both] {
        load.wait_until_well();
    }
    both.wait_for(|answers| {
        answers.len() >= CLIENTS
            && answers[answers.len() - CLIENTS..].iter().all(|answered| !is_dark(answered))
    });
    assert_outage(&lamps.since(before[0]));
    for load in [&ships, &both] {
        load.assert_unharmed();
        assert!(load.since(before[1]).iter().all(|answered| answered.took < SOON));
    }
}

#[test]
fn a_killed_proxy_fails_what_goes_through_it_and_is_used_again() {
    let authority = Authority::new();
    let location = r#"location / { return 200 '{"way": "$http_via"}'; }"#;
    let (Some(mut proxy), Some(plain), Some(secure)) = (
        Running::start(Tinyproxy::with_login("keeper", "ofthelight")),
        plain_nginx(location),
        secure_nginx(&authority, "http2", location),
    ) else {
        return;
    };
    let (server, _folder) = serve(
        &json!({
            "tls": {"caFile": authority.file()},
            "proxy": {
                "*": {
                    "host": "127.0.0.1",
                    "port": proxy.port(),
                    "user": "keeper",
                    "password": "ofthelight"
                },
                "127.0.0.1": {}
            }
        }),
        &[
            ("proxied", &format!("http://localhost:{}/", plain.port())),
            ("tunnelled", &format!("https://localhost:{}/", secure.port())),
            ("direct", &format!("http://{}/", plain.address())),
        ],
        &[
            ("proxied", &format!("return select * from proxied {DELAYS}")),
            ("tunnelled", &format!("return select * from tunnelled {DELAYS}")),
            ("direct", "return select * from direct"),
        ],
    );
    let [proxied, tunnelled, direct] = ["/proxied", "/tunnelled", "/direct"]
        .map(|path| Load::start(server.address(), path, CLIENTS));
    for load in [&proxied, &tunnelled, &direct] {
        load.wait_until_well();
    }
    assert!(proxied.since(0)[0].body["way"].to_string().contains("tinyproxy"));
    assert_eq!(direct.since(0)[0].body, json!({"way": ""}));
    let before = [&proxied, &tunnelled].map(Load::assert_unharmed);
    proxy.kill();
    for load in [&proxied, &tunnelled] {
        load.wait_for(fails);
    }
    proxy.restart();
    for (load, before) in [&proxied, &tunnelled].into_iter().zip(before) {
        load.wait_until_well();
        assert_outage(&load.since(before));
    }
    direct.assert_unharmed();
}

/// Kills a cache server under load: every request is answered all the same, the upstream is asked
/// instead, and the cache is used again once it is back.
fn a_killed_cache(program: CacheServer, implementation: &str) {
    let upstream = Upstream::with([Expectation::get("/t")
        .any_calls()
        .respond(Respond::json(json!({"n": 1})))])
    .unwrap();
    let Some(mut cache) = Running::start(program) else { return };
    let settings = json!({"cache": {
        "impl": implementation,
        "timeoutMs": 2000,
        "options": {"config": cache.address().to_string(),
                    "options": {"localBytes": 0, "retryMs": 20}}
    }});
    let uri = format!("{}/t", upstream.base());
    let (server, _folder) = serve(&settings, &[("t", &uri)], &[("t", "return select * from t")]);
    let calls = || upstream.look(|ledger| ledger.requests().len());
    let load = Load::start(server.address(), "/t", CLIENTS);
    let is_cached = || {
        let before = calls();
        load.wait_for(|answers| answers.len() >= 60);
        calls() == before
    };
    assert!(wait(PATIENCE, is_cached), "{} calls, {}", calls(), server.stderr());
    for _ in 0..2 {
        cache.kill();
        let before = calls();
        assert!(upstream.wait_until(PATIENCE, |ledger| ledger.requests().len() > before + 20));
        cache.restart();
        assert!(wait(PATIENCE, is_cached), "{} calls, {}", calls(), server.stderr());
    }
    load.assert_unharmed();
    assert!(load.since(0).iter().all(|answered| answered.took < SOON));
    assert!(server.stderr().contains("cacheError"), "{}", server.stderr());
}

#[test]
fn a_killed_memcached_costs_no_request_and_is_used_again() {
    a_killed_cache(CacheServer::Memcached, "memcached");
}

#[test]
fn a_killed_redis_costs_no_request_and_is_used_again() {
    a_killed_cache(CacheServer::Redis, "redis");
}
