//! Three servers behind nginx with Redis as their shared cache, under load: they are restarted one after the other, one
//! is killed, and a new catalog is rolled out. No client sees an error, or an answer of two catalogs.

use std::{fs, net::SocketAddr, path::Path};

use qlio_testkit::{
    process::{ServerProcess, wait},
    program::{CacheServer, Nginx, Running},
    upstream::{Expectation, Respond, Upstream},
};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    PATIENCE,
    admin::{admin_of, ask, json_of},
    binary, folder,
    load::Load,
};

const INSTANCES: usize = 3;
const CLIENTS: usize = 4;

/// The files of a version of the app: route and table say its number.
fn version(number: u32, upstream: &str) -> [(&'static str, String); 2] {
    let table = format!("create table t on select get from '{upstream}/{number}' expires 600");
    let route = format!(
        "row = select * from t\n\
         return {{\"route\": {number}, \"table\": \"{{=row.n}}\"}} via route '/v' using method get"
    );
    [("tables/t.ql", table), ("routes/v.ql", route)]
}

struct Instance {
    folder: TempDir,
    server: ServerProcess,
}

impl Instance {
    /// Starts one at a port, or at a free one.
    fn start(folder: &Path, port: u16) -> Option<ServerProcess> {
        let port = port.to_string();
        let arguments = ["serve", "--port", &port, "--admin", "0", "--workers", "1"];
        ServerProcess::start(binary(), &arguments, folder, &[], PATIENCE).ok()
    }

    fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Starts it again where it was, once it has ended.
    fn start_again(&mut self) {
        let port = self.address().port();
        assert!(wait(PATIENCE, || self.server.has_ended()));
        // For a moment the port may be that of somebody who connects.
        let mut started = None;
        wait(PATIENCE, || {
            started = Self::start(self.folder.path(), port);
            started.is_some()
        });
        self.server = started.expect("it starts again");
    }

    /// The hash of its catalog, which three places agree about.
    fn hash(&self) -> String {
        let admin = admin_of(&self.server);
        let hash = json_of(admin, "/catalog")["hash"].as_str().unwrap().to_owned();
        let ready = ask(admin, "GET", "/readyz?verbose").text();
        assert!(ready.lines().any(|line| line == format!("catalog {hash}")), "{ready}");
        let metrics = ask(admin, "GET", "/metrics").text();
        let sample = format!("qlio_catalog_info{{hash=\"{hash}\"}} 1");
        assert!(metrics.lines().any(|line| line == sample), "{metrics}");
        hash
    }
}

/// The hash that all tell.
fn common_hash(instances: &[Instance]) -> String {
    let hashes: Vec<_> = instances.iter().map(Instance::hash).collect();
    assert!(hashes.iter().all(|hash| *hash == hashes[0]), "{hashes:?}");
    hashes[0].clone()
}

#[test]
fn clients_of_several_instances_notice_no_restart_no_death_and_no_rollout() {
    let answers = [0, 1].map(|number| {
        let answer = Respond::json(json!({ "n": number }));
        Expectation::get(&format!("/{number}")).any_calls().respond(answer)
    });
    let upstream = Upstream::with(answers).unwrap();
    let Some(redis) = Running::start(CacheServer::Redis) else { return };
    // Long, so that a machine that is busy does not miss what is there.
    let settings = json!({"cache": {
        "impl": "redis",
        "timeoutMs": 5000,
        "options": redis.address().to_string(),
    }});
    let settings = settings.to_string();
    let mut instances: Vec<_> = (0..INSTANCES)
        .map(|_| {
            let [table, route] = version(0, upstream.base());
            let files = [(table.0, &*table.1), (route.0, &*route.1), ("qlio.json", &*settings)];
            let folder = folder(&files);
            let server = Instance::start(folder.path(), 0).expect("it starts");
            Instance { folder, server }
        })
        .collect();
    let line = |instance: &Instance| format!("server {} max_fails=0;", instance.address());
    let servers = instances.iter().map(line).collect::<Vec<_>>().join(" ");
    let nginx = Nginx::new(format!(
        "upstream qlio {{ {servers} keepalive 16; }}
        server {{
            listen 127.0.0.1:{{port}};
            keepalive_requests 1000000;
            location / {{
                proxy_pass http://qlio;
                proxy_http_version 1.1;
                proxy_set_header Connection \"\";
            }}
        }}"
    ));
    let Some(nginx) = Running::start(nginx) else { return };
    let load = Load::start(nginx.address(), "/v", CLIENTS);
    load.wait_until_well();

    for instance in &mut instances {
        instance.server.signal(Signal::TERM).unwrap();
        instance.start_again();
        load.wait_until_well();
    }
    instances[1].server.signal(Signal::KILL).unwrap();
    load.wait_until_well();
    instances[1].start_again();
    load.wait_until_well();

    let before = common_hash(&instances);
    for instance in &instances {
        for (name, text) in version(1, upstream.base()) {
            fs::write(instance.folder.path().join(name), text).unwrap();
        }
        instance.server.signal(Signal::HUP).unwrap();
        let is_told = |text: &str| text.contains("reloaded (SIGHUP)");
        assert!(instance.server.wait_for_stderr(PATIENCE, is_told), "{}", instance.server.stderr());
    }
    assert_ne!(common_hash(&instances), before);
    // What was under way when the last one was reloaded may be of the catalog that it began with.
    let is_new = |body: &Value| *body == json!({"route": 1, "table": 1});
    load.wait_for(|answers| answers.iter().any(|answered| is_new(&answered.body)));
    let done = load.count() + CLIENTS;
    load.wait_for(|answers| answers.len() > 2 * CLIENTS);
    assert!(load.since(done).iter().all(|answered| is_new(&answered.body)));

    load.assert_unharmed();
    let bodies: Vec<_> = load.since(0).into_iter().map(|answered| answered.body).collect();
    let mixed = bodies.iter().find(|body| body["route"] != body["table"]);
    assert_eq!(mixed, None, "an answer of two catalogs");
    // Whoever starts finds what others have fetched; at first none of them has anything.
    let calls = upstream.look(|ledger| ledger.requests().len());
    assert!(calls <= 2 * INSTANCES, "{calls} calls for {} answers", bodies.len());
}
