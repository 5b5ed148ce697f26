//! `qlio bench`: what each measurement prints, its JSON form, and what it refuses. The figures
//! themselves are free; that they fit each other is checked.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener},
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use qlio_testkit::process::{Finished, ServerProcess, run_to_end};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{binary, folder, start};

/// A measurement starts other processes, on a machine that may be busy.
const PATIENCE: Duration = Duration::from_mins(2);

fn bench(arguments: &str, folder: &Path) -> Finished {
    let arguments: Vec<&str> =
        ["bench"].into_iter().chain(arguments.split_whitespace()).chain(["--quiet"]).collect();
    run_to_end(binary(), &arguments, folder, "", PATIENCE).unwrap()
}

/// The JSON report of a measurement that succeeds.
fn report(arguments: &str) -> Value {
    let folder = folder(&[]);
    let finished = bench(&format!("{arguments} --json"), folder.path());
    assert_eq!(finished.code(), Some(0), "{arguments}: {}", finished.stderr);
    serde_json::from_str(&finished.stdout).unwrap()
}

fn upstream(folder: &Path) -> ServerProcess {
    start(&["mock", "--bench-upstream", "--port", "0"], folder)
}

/// A server whose answers depend on how many it has given; counts them.
fn answering(
    answer: impl Fn(usize) -> (u16, String) + Send + Sync + 'static,
) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (count, answer) = (Arc::new(AtomicUsize::new(0)), Arc::new(answer));
    let counted = Arc::clone(&count);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (Ok(stream), count, answer) = (stream, Arc::clone(&count), Arc::clone(&answer))
            else {
                return;
            };
            thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let mut stream = stream;
                while let Some(Ok(line)) = lines.next() {
                    if !line.is_empty() {
                        continue;
                    }
                    let (status, body) = answer(count.fetch_add(1, Ordering::SeqCst));
                    let length = body.len();
                    let text =
                        format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n\r\n{body}");
                    if stream.write_all(text.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (address, counted)
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The members of a report that programs rely on.
fn check_frame(report: &Value, command: &str) {
    let frame =
        ["command", "environment", "failure", "metrics", "notes", "options", "qlioBench", "result"];
    assert_eq!(keys(report), frame);
    assert_eq!((&report["qlioBench"], &report["command"]), (&1.into(), &command.into()));
    let environment = ["cpu", "memoryBytes", "profile", "system", "threads", "version"];
    assert_eq!(keys(&report["environment"]), environment);
    let metrics = report["metrics"].as_array().unwrap();
    assert!(!metrics.is_empty());
    for metric in metrics {
        assert_eq!(keys(metric), ["moreIsBetter", "name", "unit", "value"]);
        assert!(number(&metric["value"]).is_finite());
    }
    assert_eq!(report["failure"], Value::Null);
}

// Loads (`docs/reference/bench.md`).

#[test]
fn load_prints_the_eight_lines_and_keeps_the_closed_loop_law() {
    let folder = folder(&[]);
    let upstream = upstream(folder.path());
    let finished = bench(
        &format!(
            "load --url {}/search --users 4 --duration 600ms --think 20ms --warm-up 0s --capacity 200ms",
            upstream.url()
        ),
        folder.path(),
    );
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    let labels = [
        ("Number of Samples:", ""),
        ("Average Response Time:", " ms"),
        ("Minimum Response Time:", " ms"),
        ("Maximum Response Time:", " ms"),
        ("Standard Deviation:", " ms"),
        ("Error Percentage:", " %"),
        ("Transaction rate:", " trans/sec"),
        ("Throughput:", " KB/sec"),
    ];
    let lines: Vec<&str> = finished.stdout.lines().collect();
    for ((label, unit), line) in labels.iter().zip(&lines) {
        assert!(line.starts_with(label) && line.ends_with(unit), "{line}");
        // The figures end at the same column.
        let figure = &line[label.len()..line.len() - unit.len()];
        assert_eq!(line.len() - unit.len(), 36, "{line}");
        assert!(figure.trim().replace(',', "").parse::<f64>().is_ok(), "{line}");
    }
    assert!(finished.stdout.contains("Error Percentage:               0.00 %"));
    assert!(finished.stdout.contains("Closed-loop check:"));
    assert!(finished.stdout.contains("Zero-think capacity:"));
}

#[test]
fn figures_of_a_load_fit_each_other() {
    let folder = folder(&[]);
    let upstream = upstream(folder.path());
    let url = format!("{}/hotels.json", upstream.url());
    let report = report(&format!(
        "load --url {url} --users 5 --duration 600ms --ramp 0s --think 30ms --think-dev 2ms --warm-up 0s --capacity 0s"
    ));
    check_frame(&report, "load");
    let result = &report["result"];
    let members = [
        "averageMs",
        "bytes",
        "capacityPerSecond",
        "closedLoopMs",
        "connections",
        "deviationMs",
        "elapsedSeconds",
        "errorPercent",
        "errors",
        "keepAliveRequests",
        "loop",
        "maximumMs",
        "minimumMs",
        "percentilesMs",
        "points",
        "ratePerSecond",
        "samples",
        "serviceMs",
        "startDelayMs",
        "statuses",
        "throughputKbPerSecond",
        "usersMean",
    ];
    assert_eq!(keys(result), members);
    let figure = |name: &str| number(&result[name]);
    assert!((figure("ratePerSecond") * figure("elapsedSeconds") - figure("samples")).abs() < 1.0);
    let throughput = figure("bytes") / 1024.0 / figure("elapsedSeconds");
    assert!((throughput - figure("throughputKbPerSecond")).abs() < 0.01);
    assert!(
        figure("minimumMs") <= figure("averageMs") && figure("averageMs") <= figure("maximumMs")
    );
    // users / rate - average: the think time, and what timers and a busy machine add.
    assert!(figure("closedLoopMs") > 20.0, "{}", figure("closedLoopMs"));
    let connections = figure("connections");
    assert!((5.0..=6.0).contains(&connections), "{connections}");
    assert!((figure("keepAliveRequests") + connections - figure("samples")).abs() < 0.5);
    let quantiles = &result["percentilesMs"];
    let ordered = ["p50", "p80", "p90", "p95", "p99", "p99_9"].map(|name| number(&quantiles[name]));
    assert!(ordered.is_sorted(), "{ordered:?}");
    let samples: f64 =
        result["points"].as_array().unwrap().iter().map(|point| number(&point["samples"])).sum();
    assert!((samples - figure("samples")).abs() < 0.5);
}

#[test]
fn an_open_loop_sends_what_is_due_and_counts_from_then() {
    // One user and answers of 20 ms: of 100 requests in half a second, most wait for the user.
    let (address, _) = answering(|_| {
        thread::sleep(Duration::from_millis(20));
        (200, "x".to_owned())
    });
    let report = report(&format!(
        "load --url http://{address}/ --users 1 --rate 200 --duration 500ms --ramp 0s --warm-up 0s --capacity 0s"
    ));
    let result = &report["result"];
    assert_eq!(result["loop"], "open");
    let all = number(&result["samples"]) + number(&result["errors"]["unsent"]);
    assert!((all - 100.0).abs() < 0.5, "{all}");
    let (response, service) =
        (number(&result["percentilesMs"]["p50"]), number(&result["serviceMs"]["p50"]));
    // A closed loop would have reported the service time.
    assert!(response > 5.0 * service && service >= 20.0, "{response} {service}");
}

#[test]
fn every_own_subject_is_loaded_without_errors() {
    let subjects = [
        "--path xml",
        "--path protobuf",
        "--path json",
        "--path msgpack",
        "--scenario A",
        "--scenario B",
        "--scenario C",
        "--scenario D",
        "",
    ];
    for subject in subjects {
        let report =
            report(&format!("load {subject} --requests 24 --users 3 --workers 1 --warm-up 0s"));
        let result = &report["result"];
        assert_eq!(result["samples"], 24, "{subject}");
        assert!(number(&result["errorPercent"]).abs() < 1e-9, "{subject}");
    }
}

#[test]
fn other_programs_words_are_known() {
    let folder = folder(&[]);
    let upstream = upstream(folder.path());
    let load = |style: &str| {
        let url = format!("{}/find", upstream.url());
        let arguments = format!("load --url {url} -n 20 -u 2 --warm-up 0s --format {style}");
        bench(&arguments, folder.path()).stdout
    };
    let ab = load("ab");
    for label in ["Complete requests:      20", "Requests per second:", "  50%", " 100%"] {
        assert!(ab.contains(label), "{ab}");
    }
    let siege = load("siege");
    for label in ["Transactions:", "Availability:", "Longest transaction:"] {
        assert!(siege.contains(label), "{siege}");
    }
}

#[test]
fn a_connection_per_request_can_be_asked_for() {
    let folder = folder(&[]);
    let upstream = upstream(folder.path());
    let report = report(&format!(
        "load --url {}/find -n 10 -u 2 --warm-up 0s --keepalive off",
        upstream.url()
    ));
    assert_eq!(report["result"]["connections"], 10);
    assert_eq!(report["result"]["keepAliveRequests"], 0);
}

// What is refused, and what fails.

#[test]
fn what_cannot_be_loaded_is_refused_with_two() {
    let folder = folder(&[]);
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let cases = [
        ("load --url http://192.0.2.1/ -n 1".to_owned(), "--allow-remote"),
        ("load --url http://192.0.2.1/ --allow-remote --users 51 -d 1s".to_owned(), "1 to 50"),
        ("load --url http://192.0.2.1/ --allow-remote --users 5".to_owned(), "at most 120 s"),
        ("load --url http://192.0.2.1/ --allow-remote --users 5 -n 9".to_owned(), "at most 120 s"),
        (format!("load --url http://{free}/ -n 1"), "cannot reach"),
        ("load --url https://127.0.0.1/ -n 1".to_owned(), "plain HTTP"),
        ("load --url 127.0.0.1 -n 1".to_owned(), "http://"),
        ("load --users 0".to_owned(), "at least 1"),
        ("load --duration 5d".to_owned(), "5s"),
        ("load --rate 0 -n 1".to_owned(), "rate"),
        ("load --rate 5 --think 1s".to_owned(), "--think"),
        ("load --scenario E".to_owned(), "scenarios A, B, C and D"),
        ("codecs --codecs yaml".to_owned(), "msgpack-map"),
        ("codecs --shape hotel --codecs struct".to_owned(), "--shape header"),
        ("codecs --messages 0".to_owned(), "--messages"),
        ("codecs --messages 10000000 --shape items".to_owned(), "fewer"),
        ("codecs --sample none.json".to_owned(), "none.json"),
        ("ops --tests deser-yaml".to_owned(), "deser-json"),
        ("ops --tests deser-json-second".to_owned(), "--second"),
        ("codecs --baseline none.json".to_owned(), "none.json"),
        ("workers --list 0".to_owned(), "at least 1"),
    ];
    for (arguments, reason) in cases {
        let finished = bench(&arguments, folder.path());
        assert_eq!(finished.code(), Some(2), "{arguments}: {}", finished.stderr);
        assert!(finished.stderr.contains(reason), "{arguments}: {}", finished.stderr);
        assert!(finished.stdout.is_empty(), "{arguments}: {}", finished.stdout);
    }
}

#[test]
fn a_bad_first_answer_ends_with_one_before_anything_is_measured() {
    let (address, count) = answering(|_| (503, "no".to_owned()));
    let folder = folder(&[]);
    let finished = bench(&format!("load --url http://{address}/ -n 50 -u 2"), folder.path());
    assert_eq!(finished.code(), Some(1));
    assert!(finished.stderr.contains("503"), "{}", finished.stderr);
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[test]
fn failing_answers_are_counted_and_end_with_one() {
    let folder = folder(&[]);
    let (address, _) = answering(|count| (if count % 2 == 1 { 500 } else { 200 }, "x".to_owned()));
    let arguments = format!("load --url http://{address}/ -n 10 -u 1 --warm-up 0s --json");
    let finished = bench(&arguments, folder.path());
    assert_eq!(finished.code(), Some(1));
    assert!(finished.stderr.contains("5 of 10 requests failed"), "{}", finished.stderr);
    let report: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(report["result"]["statuses"]["500"], 5);
    assert!((number(&report["result"]["errorPercent"]) - 50.0).abs() < 1e-9);
    assert!(report["failure"].is_string());
}

#[test]
fn changing_bodies_are_errors_when_they_should_be_equal() {
    let folder = folder(&[]);
    let (address, _) = answering(|count| (200, count.to_string()));
    let load = format!("load --url http://{address}/ -n 5 -u 1 --warm-up 0s --json");
    assert_eq!(bench(&load, folder.path()).code(), Some(0));
    let finished = bench(&format!("{load} --same-body"), folder.path());
    assert_eq!(finished.code(), Some(1));
    let report: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(report["result"]["errors"]["body"], 5);
}

#[test]
fn an_interrupt_ends_a_load_with_what_it_has() {
    let (address, count) = answering(|_| (200, "x".to_owned()));
    let url = format!("http://{address}/");
    let child = Command::new(binary())
        .args(["bench", "load", "--url", &url, "--users", "2", "--duration", "600s", "--json"])
        .args(["--think", "1ms", "--warm-up", "0s", "--ramp", "0s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while count.load(Ordering::SeqCst) < 20 {
        assert!(began.elapsed() < PATIENCE, "nothing was sent");
        thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(number(&report["result"]["samples"]) >= 10.0);
    assert!(report["notes"].to_string().contains("stopped early"), "{}", report["notes"]);
}

// The other measurements.

#[test]
fn workers_are_compared_with_the_first_row() {
    let report = report("workers --list 1,2 --requests 60 --concurrency 4 --warm-up 0s");
    check_frame(&report, "workers");
    let rows = report["result"]["rows"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| &row["workers"]).collect::<Vec<_>>(), [1, 2]);
    assert!((number(&rows[0]["speedUp"]) - 1.0).abs() < 1e-9);
    for row in rows {
        let members = ["cpu", "cpuMsPerRequest", "peakBytes", "run", "speedUp", "workers"];
        assert_eq!(keys(row), members);
        assert_eq!((&row["run"]["samples"], &row["run"]["errors"]), (&60.into(), &0.into()));
        if cfg!(target_os = "linux") {
            assert!(number(&row["peakBytes"]) > 1e6 && number(&row["cpuMsPerRequest"]) > 0.0);
        }
    }
}

#[test]
fn a_matrix_has_every_cell() {
    let report =
        report("matrix --scenarios A,D --concurrency 2,3 --workers 1 --requests 20 --warm-up 0s");
    check_frame(&report, "matrix");
    let cells = report["result"]["cells"].as_array().unwrap();
    let names: Vec<String> = cells
        .iter()
        .map(|cell| format!("{}{}", cell["scenario"].as_str().unwrap(), cell["concurrency"]))
        .collect();
    assert_eq!(names, ["A2", "D2", "A3", "D3"]);
    assert!(cells.iter().all(|cell| cell["run"]["errors"] == 0 && cell["run"]["samples"] == 20));
}

/// `docs/reference/bench.md`.
#[test]
fn codecs_print_two_lines_each_and_the_published_sizes() {
    let folder = folder(&[]);
    let arguments =
        "codecs --messages 1000 --repeat 2 --codecs struct,protobuf,http --shape header";
    let finished = bench(arguments, folder.path());
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    let mut lines = finished.stdout.lines();
    for codec in ["struct", "protobuf", "http"] {
        for direction in ["serialization", "deserialization"] {
            let line = lines.next().unwrap();
            let seconds = line
                .strip_prefix(&format!("{codec} {direction} time: "))
                .and_then(|rest| rest.strip_suffix(" seconds"))
                .unwrap_or_else(|| panic!("{line}"));
            assert!(seconds.parse::<f64>().is_ok(), "{line}");
            assert_eq!(seconds.split_once('.').map(|(_, decimals)| decimals.len()), Some(6));
        }
    }
    let row = |codec: &str| {
        finished.stdout.lines().find(|line| line.starts_with(&format!("{codec}  "))).unwrap()
    };
    for (codec, bytes) in [("struct", " 63 "), ("protobuf", " 61 (+4) "), ("http", " 96 ")] {
        assert!(row(codec).contains(bytes), "{}", row(codec));
    }
}

#[test]
fn codecs_of_every_shape_are_measured() {
    for (shape, count) in [("header", 7), ("hotel", 5), ("items", 5)] {
        let report = report(&format!("codecs --shape {shape} --messages 3 --repeat 2"));
        check_frame(&report, "codecs");
        let codecs = report["result"]["codecs"].as_array().unwrap();
        assert_eq!(codecs.len(), count, "{shape}");
        for codec in codecs {
            let members =
                ["bytesPerMessage", "codec", "decode", "encode", "framingBytes", "gzipBytes"];
            assert_eq!(keys(codec), members);
            assert!(number(&codec["decode"]["messagesPerSecond"]) > 0.0);
        }
    }
}

#[test]
fn a_sample_of_the_user_shows_what_it_would_save() {
    let proto = "syntax = \"proto3\"; package shop; message Row { string id = 1; double price = 2; }\n\
                 message Answer { repeated Row rows = 1; }";
    let folder = folder(&[
        (
            "answer.json",
            "{\"rows\": [{\"id\": \"a\", \"price\": 1.5}, {\"id\": \"b\", \"price\": 0}]}",
        ),
        ("spaced.json", "{\"a b\": 1}"),
        ("shop.proto", proto),
        ("other.json", "{\"rows\": [{\"id\": \"a\", \"unknown\": 1}]}"),
    ]);
    let arguments =
        "codecs --sample answer.json --proto shop.proto --message Answer -n 50 --repeat 2";
    let finished = bench(arguments, folder.path());
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    assert!(finished.stdout.contains("What leaving JSON would save:"), "{}", finished.stdout);
    assert!(finished.stdout.contains("protobuf serialization time:"));
    let arguments = "codecs --sample other.json --proto shop.proto --message shop.Answer";
    let finished = bench(arguments, folder.path());
    assert_eq!(finished.code(), Some(1));
    assert!(finished.stderr.contains("unknown"), "{}", finished.stderr);
    // XML has no such names; without being asked for it is left out.
    let finished = bench("codecs --sample spaced.json -n 5 --repeat 2", folder.path());
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    assert!(finished.stderr.contains("`xml` cannot hold the message"), "{}", finished.stderr);
    let finished = bench("codecs --sample spaced.json --codecs xml", folder.path());
    assert_eq!(finished.code(), Some(1));
    let finished = bench("codecs --sample answer.json --proto shop.proto", folder.path());
    assert_eq!(finished.code(), Some(2));
    assert!(finished.stderr.contains("shop.Answer, shop.Row"), "{}", finished.stderr);
}

/// `docs/reference/bench.md`.
#[test]
fn ops_print_as_benchmark_js_does() {
    let folder = folder(&[]);
    let finished = bench("ops --tests deser-json,deser-protobuf --time 100ms", folder.path());
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    let lines: Vec<&str> = finished.stdout.lines().collect();
    for (name, line) in ["deser-json", "deser-protobuf"].iter().zip(&lines) {
        let rest = line.strip_prefix(&format!("{name} x ")).unwrap_or_else(|| panic!("{line}"));
        let (rate, rest) = rest.split_once(" ops/sec ±").unwrap();
        let (error, rest) = rest.split_once("% (").unwrap();
        let runs = rest.strip_suffix(" runs sampled)").unwrap();
        assert!(rate.replace(',', "").parse::<f64>().unwrap() > 0.0, "{line}");
        assert_eq!(error.split_once('.').map(|(_, decimals)| decimals.len()), Some(2), "{line}");
        assert!(runs.parse::<usize>().unwrap() >= 5, "{line}");
    }
    assert!(lines[2].starts_with("Fastest is deser-"), "{}", finished.stdout);
}

#[test]
fn endpoints_are_measured_against_the_own_and_a_second_server() {
    let folder = folder(&[]);
    let second = upstream(folder.path());
    let report = report(&format!(
        "ops --tests endpoint-json,e2e-protobuf,endpoint-json-second --second {} --time 60ms",
        second.url()
    ));
    check_frame(&report, "ops");
    assert_eq!(keys(&report["result"]), ["fastest", "indistinguishable", "tests"]);
    let tests = report["result"]["tests"].as_array().unwrap();
    assert_eq!(tests.len(), 3);
    assert!(tests.iter().all(|test| number(&test["runs"]) >= 5.0));
}

#[test]
fn go_prints_as_go_does() {
    let folder = folder(&[]);
    for command in ["go", "ops --format go"] {
        let arguments = format!("{command} --tests deser-json,endpoint-protobuf --time 20ms");
        let finished = bench(&arguments, folder.path());
        assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
        for (name, line) in ["BenchmarkJsonProcessing-", "BenchmarkProtobufEndpoint-"]
            .iter()
            .zip(finished.stdout.lines())
        {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert!(words.len() == 4 && words[0].starts_with(name), "{line}");
            assert!(words[1].parse::<u64>().is_ok() && words[2].parse::<u64>().is_ok(), "{line}");
            assert_eq!(words[3], "ns/op");
        }
    }
}

// Reports.

#[test]
fn reports_are_written_in_every_form() {
    let folder = folder(&[]);
    let finished =
        bench("codecs --messages 20 --repeat 2 --out made/report --seeds", folder.path());
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    assert!(finished.stdout.contains("Published"));
    let read =
        |name: &str| fs::read_to_string(folder.path().join("made/report").join(name)).unwrap();
    let json: Value = serde_json::from_str(&read("codecs.json")).unwrap();
    check_frame(&json, "codecs");
    assert!(read("codecs.txt").contains("json serialization time:"));
    assert!(read("codecs-formats.csv").starts_with("codec,encode us/msg,"));
    for chart in ["codecs-times.svg", "codecs-bytes.svg"] {
        let svg = read(chart);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{chart}");
        assert!(!svg.contains("NaN"), "{chart}");
    }
    let page = read("codecs.html");
    assert!(page.contains("<svg ") && !page.contains("<script") && !page.contains("src="));
    let csv = bench("codecs --messages 20 --repeat 2 --csv", folder.path());
    assert!(csv.stdout.starts_with("codec,"), "{}", csv.stdout);
    let html = bench("codecs --messages 20 --repeat 2 --html", folder.path());
    assert!(html.stdout.starts_with("<!doctype html>"));
}

#[test]
fn an_earlier_report_can_be_compared_with() {
    let folder = folder(&[]);
    let first = bench("codecs --messages 20 --repeat 2 --codecs json --json", folder.path());
    fs::write(folder.path().join("before.json"), &first.stdout).unwrap();
    let arguments = "codecs --messages 20 --repeat 2 --codecs json --baseline before.json";
    let second = bench(arguments, folder.path());
    assert_eq!(second.code(), Some(0), "{}", second.stderr);
    let row = second.stdout.lines().find(|line| line.starts_with("json/bytes")).unwrap();
    assert!(row.contains("1.000") && row.ends_with("same"), "{row}");
    let other = bench("ops --tests deser-json --time 50ms --baseline before.json", folder.path());
    assert_eq!(other.code(), Some(2));
    assert!(other.stderr.contains("bench codecs"), "{}", other.stderr);
}

#[test]
fn the_experiment_prints_its_figures_beside_the_published_ones() {
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/experiment");
    let mut experiment = Command::new(script);
    let sizes = [("USERS", "2"), ("DURATION", "1s"), ("THINK", "1ms"), ("THINK_DEV", "0ms")];
    let done = experiment.envs(sizes).env("QLIO_EXECUTABLE", binary()).output().unwrap();
    let told = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{told}{}", String::from_utf8_lossy(&done.stderr));
    let figures = told.split("== Protocol Buffers").collect::<Vec<_>>();
    assert_eq!(figures.len(), 2, "{told}");
    for figure in &figures {
        assert!(figure.contains("Error Percentage:               0.00 %"), "{told}");
    }
    assert!(figures[1].contains("734,339   772,200"), "{told}");
}
