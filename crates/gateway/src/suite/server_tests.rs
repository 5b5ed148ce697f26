//! Hooks that open servers of their own.

use std::{
    iter,
    net::TcpListener,
    sync::atomic::{AtomicU32, Ordering},
};

use super::tests::{directory, outcomes};

/// A port for hooks that name theirs: a free one of those that the system gives to nobody by itself, so that no other
/// test takes it meanwhile.
fn free_port() -> u16 {
    static TRIED: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(97);
    let ports = iter::repeat_with(|| {
        let offset = first.wrapping_add(TRIED.fetch_add(1, Ordering::Relaxed)) % 12_000;
        u16::try_from(20_000 + offset).unwrap()
    });
    ports.take(1_000).find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

fn script(port: u16) -> String {
    format!(
        "create table p on select get from 'http://localhost:{port}/x?n=1'; return select * from p"
    )
}

/// Hooks whose server answers with what `handler` does to `req` and `res`.
fn hooks(port: u16, handler: &str) -> String {
    format!(
        "var http = require('http');\n\
         exports.setup = function (cb) {{\n\
           var server = http.createServer(function (req, res) {{\n{handler}\n}});\n\
           server.listen({port}, function () {{ cb({{server: server}}); }});\n\
         }};\n\
         exports.tearDown = function (cb, ctx) {{ ctx.server.close(); cb(); }};\n"
    )
}

#[test]
fn a_server_of_hooks_sends_a_file_of_the_folder() {
    let port = free_port();
    let hooks = format!(
        "var http = require('http'), fs = require('fs'), util = require('util');\n\
         exports.setup = function (cb) {{\n\
           var server = http.createServer(function (req, res) {{\n\
             var path = __dirname + '/feed.xml';\n\
             res.writeHead(200, {{'Content-Type': 'application/xml', 'Content-Length': fs.statSync(path).size}});\n\
             util.pump(fs.createReadStream(path), res, function (error) {{\n\
               if (error) {{ console.log(error); }}\n\
               res.end();\n\
             }});\n\
           }});\n\
           server.listen({port}, function () {{ cb({{server: server}}); }});\n\
         }};\n\
         exports.test = function (test, err, result, ctx) {{\n\
           test.equals(result.body.feed.entry, 'é', 'the entry');\n\
           test.ok(ctx && ctx.server, 'the context');\n\
         }};\n\
         exports.tearDown = function (cb, ctx) {{ ctx.server.close(); cb(); }};"
    );
    let directory = directory(&[
        ("feed.ql", &script(port)),
        ("feed.xml", "<feed><entry>é</entry></feed>"),
        ("feed.js", &hooks),
    ]);
    assert_eq!(outcomes(directory.path()), ["feed"]);
    TcpListener::bind(("127.0.0.1", port)).expect("the port is free again");
}

#[test]
fn a_server_of_express_sends_back_what_it_was_sent() {
    sends_back(free_port().into());
}

/// As the published test of ql-unit does, which names the port 80126.
#[test]
fn a_port_above_the_last_is_what_node_took_for_it() {
    let port = free_port();
    sends_back((1 << 16) + u32::from(port));
    TcpListener::bind(("127.0.0.1", port)).expect("the port is free again");
}

/// Hooks listen at this port, and a table of the app calls it there.
fn sends_back(port: u32) {
    let hooks = format!(
        "var express = require('express');\n\
         exports.setup = function (cb) {{\n\
           var server = express.createServer(function (req, res) {{\n\
             var data = '';\n\
             req.on('data', function (piece) {{ data += piece; }});\n\
             req.on('end', function () {{\n\
               if (req.headers['content-type'] !== 'application/json') {{ res.send(415); return; }}\n\
               res.send(data, {{'Content-Type': 'application/json'}});\n\
             }});\n\
           }});\n\
           server.listen({port}, function () {{ cb({{server: server}}); }});\n\
         }};\n\
         exports.tearDown = function (cb, ctx) {{ ctx.server.close(); cb(); }};"
    );
    let table = format!(
        "create table ping on insert post to 'http://localhost:{port}/ping' using bodyTemplate 'ping.mu' type 'application/json'"
    );
    let directory = directory(&[
        ("tables/ping.ql", &table),
        ("tables/ping.mu", "{\"id\": \"{{params.id}}\", \"of\": \"é\"}"),
        (
            "routes/ping.ql",
            "return insert into ping (id) values ('{id}') via route '/ping' using method post",
        ),
        ("all.routes.csv", "name,request,type\nping,/ping,post\n"),
        ("ping.request.application.json", "{\"id\": \"abc\"}"),
        ("ping.expect.json", "{\"id\": \"abc\", \"of\": \"é\"}"),
        ("ping.js", &hooks),
    ]);
    assert_eq!(outcomes(directory.path()), ["ping"]);
}

#[test]
fn handlers_see_the_request_and_say_status_and_headers() {
    let port = free_port();
    let handler = "res.setHeader('X-Seen', req.method + ' ' + req.url);\n\
                   res.setHeader('Content-Type', 'application/json');\n\
                   setTimeout(function () { res.statusCode = 203; res.write('[1,'); res.end('2]'); }, 5000);";
    let directory = directory(&[
        ("late.ql", &script(port)),
        ("late.js", &hooks(port, handler)),
        ("late.expect.json", "[1, 2]"),
    ]);
    assert_eq!(outcomes(directory.path()), ["late"]);
}

#[test]
fn what_is_wrong_with_a_server_fails_the_test_with_its_place() {
    for (handler, wanted) in [
        ("", "the handler of the server never ended its answer"),
        ("throw new Error('oops');", ":4: oops"),
        ("while (true) {}", "time limit"),
        ("res.writeHead(999); res.end();", ""),
        ("res.writeHead(1); res.end();", "a handler can not answer with the status 1"),
        ("res.setHeader('a b', 'c'); res.end();", "`a b: c` is no header"),
        (
            "res.writeHead(200, {'Content-Length': 5}); res.end('four');",
            "its content-length is 5, but it has 4 bytes",
        ),
        ("var s = 'x'.repeat(1 << 20); for (;;) { res.write(s); }", "has at most 8388608 bytes"),
        ("http.get('/x');", ":4: `http.get` is not there for hooks of tests"),
    ] {
        let port = free_port();
        let directory = directory(&[("bad.ql", &script(port)), ("bad.js", &hooks(port, handler))]);
        let told = outcomes(directory.path()).remove(0);
        assert!(told.starts_with("bad: "), "{handler}: {told}");
        assert!(told.contains(wanted), "{handler}: {told}");
        TcpListener::bind(("127.0.0.1", port)).expect("the port is free again");
    }
}

#[test]
fn a_server_that_nobody_closes_ends_with_its_test() {
    let port = free_port();
    let hooks = hooks(port, "res.end('[]');").replace("ctx.server.close(); ", "");
    let directory = directory(&[("open.ql", &script(port)), ("open.js", &hooks)]);
    assert_eq!(outcomes(directory.path()), ["open"]);
    TcpListener::bind(("127.0.0.1", port)).expect("the port is free again");
}

#[test]
fn tests_that_share_a_port_wait_for_each_other() {
    let port = free_port();
    let handler =
        "res.writeHead(200, {'Content-Type': 'application/json'}); res.end('[\"NAME\"]');";
    let mut files = vec![
        ("mock.ql".to_owned(), script(port)),
        (format!("mock.{port}.200.application.json"), "[\"mock\"]".to_owned()),
        ("mock.expect.json".to_owned(), "[\"mock\"]".to_owned()),
    ];
    for name in ["a", "b", "c"] {
        files.push((format!("{name}.ql"), script(port)));
        files.push((format!("{name}.js"), hooks(port, &handler.replace("NAME", name))));
        files.push((format!("{name}.expect.json"), format!("[\"{name}\"]")));
    }
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let directory = directory(&files);
    assert_eq!(outcomes(directory.path()), ["mock", "a", "b", "c"]);
}

#[test]
fn a_port_that_is_none_or_taken_fails_the_set_up() {
    let holder = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let taken = holder.local_addr().unwrap().port();
    for (port, wanted) in [
        ("4294967296".to_owned(), "there is no port 4294967296".to_owned()),
        ("'/tmp/x'".to_owned(), "listens on the number of a port, not on `/tmp/x`".to_owned()),
        (taken.to_string(), format!("can not listen on {taken}: ")),
    ] {
        let hooks = format!(
            "exports.setup = function (cb) {{ require('http').createServer().listen({port}, cb); }};"
        );
        let directory = directory(&[("a.ql", "return 1"), ("a.js", &hooks)]);
        let told = outcomes(directory.path()).remove(0);
        assert!(told.contains(&wanted), "{told}");
    }
}

#[test]
fn the_servers_of_one_test_are_bounded() {
    let hooks = "exports.setup = function (cb) {\n\
                   var http = require('http');\n\
                   for (var i = 0; i < 17; i += 1) { http.createServer().listen(0); }\n\
                   cb();\n\
                 };";
    let directory = directory(&[("a.ql", "return 1"), ("a.js", hooks)]);
    assert_eq!(outcomes(directory.path()), ["a: a.js:3: hooks of a test have at most 16 servers"]);
}
