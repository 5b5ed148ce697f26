//! `qlio shell` with pipes and on a pseudo-terminal, and the forms in which results are printed.
//!
//! The terminal is Python's (`terminal.py`): without `python3` its tests are skipped with a note, and under `CI=true`
//! they fail.

use std::{
    env, fs,
    io::Write as _,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use qlio_testkit::upstream::{Expectation, Fault, Respond, Upstream};
use serde_json::{Value, json};

use super::{PATIENCE, binary, folder, run};

const GOODS: &str = r#"[{"name":"ランプ","price":9.5,"tags":["old","red"],"note":null},
{"name":"chair","price":120,"note":"x, \"y\"\n\u001b[31mz"}]"#;

/// A table of the goods that a server answers with.
fn table(name: &str, uri: &str) -> String {
    format!("-- All goods.\ncreate table {name} on select get from '{uri}'")
}

/// What a terminal has shown, and how the program ended.
struct Shown {
    text: String,
    code: Option<i32>,
    problem: String,
}

impl Shown {
    /// The text without colours and movements.
    fn plain(&self) -> String {
        let mut out = String::new();
        let mut rest = self.text.as_str();
        while let Some((before, behind)) = rest.split_once("\x1b[") {
            out.push_str(before);
            rest = behind.trim_start_matches(|c: char| c.is_ascii_digit() || ";?".contains(c));
            rest = rest.get(1..).unwrap_or_default();
        }
        out + rest
    }
}

/// Runs the program on a terminal of 80 columns; nothing without Python.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn on_terminal(
    arguments: &[&str],
    folder: &Path,
    environment: &[(&str, &str)],
    steps: &[Value],
) -> Option<Shown> {
    if Command::new("python3").arg("--version").output().is_err() {
        assert!(env::var("CI").as_deref() != Ok("true"), "`python3` is not installed");
        eprintln!("skipped: `python3` is not installed");
        return None;
    }
    let patience = PATIENCE.as_secs().to_string();
    let mut child = Command::new("python3")
        .args(["-c", include_str!("terminal.py"), "80", &patience])
        .arg(binary())
        .args(arguments)
        .current_dir(folder)
        .env("TERM", "xterm")
        .env("HOME", folder)
        .env_remove("XDG_STATE_HOME")
        .env_remove("NO_COLOR")
        .envs(environment.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = child.stdin.take().unwrap();
    for step in steps {
        writeln!(lines, "{step}").unwrap();
    }
    drop(lines);
    let finished = child.wait_with_output().unwrap();
    let shown = Shown {
        text: String::from_utf8_lossy(&finished.stdout).into_owned(),
        code: finished.status.code(),
        problem: String::from_utf8_lossy(&finished.stderr).into_owned(),
    };
    assert!(shown.problem.is_empty(), "{}\n{}", shown.problem, shown.plain());
    Some(shown)
}

fn types(text: &str) -> Value {
    json!({ "type": text })
}

fn sees(text: &str) -> Value {
    json!({ "see": text })
}

/// Somewhere in what `terminal.py` sees: the shell reads from now on.
const READY: &str = "<ready>";

/// The prompt, then an input, then what is shown of it.
fn asks(input: &str, shown: &str) -> [Value; 3] {
    [sees(READY), types(&format!("{input}\r")), sees(shown)]
}

/// The prompt, and the end.
fn leaves() -> [Value; 3] {
    [sees(READY), types("\u{4}"), json!({ "end": true })]
}

#[test]
fn stdin_is_a_script_where_it_is_no_terminal() {
    let folder = folder(&[("tables/shop.ql", &table("shop.goods", "http://127.0.0.1:9/"))]);
    let script = "ids = [{\"a\": 1}, {\"a\": 2}]\n\nreturn select a from ids";
    let finished = run(&["shell"], folder.path(), script);
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("[1,2]\n", ""));

    let inputs = ".tables\n.output csv\n.routes\nreturn [{\"a\": 1}]\n.output ndjson\nids = [1, 2]\nreturn \"{ids}\"\n.quit\nretrn";
    let finished = run(&["shell"], folder.path(), inputs);
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    let tables = "[{\"name\":\"shop.goods\",\"verbs\":\"select\",\"about\":\"All goods.\"}]\n";
    assert_eq!(finished.stdout, format!("{tables}a\n1\n1\n2\n"));
    assert!(!finished.stdout.contains('\u{1b}') && finished.stderr.is_empty());
}

#[test]
fn the_first_failure_of_a_script_from_a_pipe_ends_it() {
    let folder = folder(&[]);
    for (inputs, reason) in [
        (".time on\nreturn 1 }\n.output json\nreturn 2\n", "stdin from line 2:1:10"),
        (".tabels\nreturn 2\n", "did you mean .tables?"),
        ("select * from nope\n.output json\nreturn 2\n", "No such table nope"),
        (".describe nope\nreturn 2", "there is no table `nope`"),
    ] {
        let finished = run(&["shell"], folder.path(), inputs);
        assert_eq!(finished.code(), Some(1), "{inputs}");
        assert!(finished.stderr.contains(reason), "{inputs}: {}", finished.stderr);
        assert!(!finished.stdout.contains('2') && !finished.stderr.contains('\u{1b}'), "{inputs}");
    }
    assert_eq!(run(&["shell", "--app", "nowhere"], folder.path(), "").code(), Some(2));
}

#[test]
fn a_shell_loads_its_app_anew() {
    let folder = folder(&[]);
    let inputs = ".reload\n.tables\n.output csv\n.tables\n";
    fs::write(folder.path().join("tables/a.ql"), table("a", "http://127.0.0.1:9/")).unwrap();
    let finished = run(&["shell"], folder.path(), inputs);
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    assert!(
        finished.stdout.ends_with("name,verbs,about\na,select,All goods.\n"),
        "{}",
        finished.stdout
    );
    assert!(finished.stderr.contains("1 table and 0 routes"), "{}", finished.stderr);
}

#[test]
fn results_are_printed_as_they_are_asked_for() {
    let goods = Respond::text("application/json", GOODS);
    let upstream = Upstream::with([Expectation::get("/").any_calls().respond(goods)]).unwrap();
    let folder = folder(&[("tables/shop.ql", &table("goods", &format!("{}/", upstream.base())))]);
    let print = |output: &str| {
        let script = "select {name, price, tags, note} from goods";
        let finished = run(&["run", "--output", output, "-e", script], folder.path(), "");
        assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
        finished.stdout
    };
    let ndjson = print("ndjson");
    let lines: Vec<Value> =
        ndjson.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        lines[0],
        json!({"name": "ランプ", "price": 9.5, "tags": ["old", "red"], "note": null})
    );
    assert_eq!(lines.len(), 2);
    let json: Value = serde_json::from_str(&print("json")).unwrap();
    assert_eq!(json, Value::from(lines));
    assert_eq!(
        print("csv"),
        "name,price,tags,note\nランプ,9.5,\"[\"\"old\"\",\"\"red\"\"]\",\nchair,120,,\"x, \"\"y\"\"\n\u{1b}[31mz\"\n"
    );
    let expected = "\
name    price  tags           note
------  -----  -------------  -------------------
ランプ    9.5  [\"old\",\"red\"]  null
chair     120                 x, \"y\"\\n\\u001b[31mz
(2 rows)
";
    assert_eq!(print("table"), expected);
    // Rows that are lists are called as the select writes them.
    let lists = ["run", "--output", "csv", "-e", "x = select name, price from goods return x"];
    let finished = run(&lists, folder.path(), "");
    assert_eq!(finished.stdout, "name,price\nランプ,9.5\nchair,120\n");
}

#[test]
fn forms_that_do_not_fit_are_refused() {
    let folder = folder(&[]);
    let members: Vec<String> = (0..1001).map(|at| format!("\"m{at}\":{at}")).collect();
    let wide = format!("return {{{}}}", members.join(","));
    for output in ["csv", "table"] {
        let finished = run(&["run", "--output", output, "-"], folder.path(), &wide);
        assert_eq!((finished.code(), finished.stdout.as_str()), (Some(1), ""));
        assert!(finished.stderr.contains("more than 1000 columns"), "{}", finished.stderr);
    }
    let both = run(&["run", "--output", "csv", "--envelope", "-e", "return 1"], folder.path(), "");
    assert_eq!(both.code(), Some(2), "{}", both.stderr);
}

#[test]
fn a_terminal_has_history_completion_colours_and_inputs_of_several_lines() {
    let folder = folder(&[("tables/shop.ql", &table("shop.goods", "http://127.0.0.1:9/"))]);
    let environment = [("QLIO_HISTORY", "kept/history")];
    let steps = [
        asks("return [{\"a\": \"漢字\\u001b[31m\"}]", "漢字\\u001b[31m"),
        // The binding waits for what follows, the brace for its end.
        asks("ids = [1, 2]\rreturn {\r\"n\": \"{ids}\"}", "[1,2]"),
        asks("ids = [{\"b\": 3}]\r", "(1 row)"),
        asks("retrn 1", "hint: did you mean `return`?"),
        asks(".describe shop.g\t", "**table** `shop.goods`"),
        asks(".rows 2", READY),
    ];
    let more = [
        [types("return [\"p\",\"q\",\"r\"]\r"), sees("q"), sees("(2 of 3 rows)")],
        [sees(READY), types("select * from shop.go\t"), sees("shop.goods")],
        // Given up before it was asked.
        [types("\u{3}"), sees(READY), types(".plan select * from shop.goods\r")],
        [sees("select from shop.goods"), sees(READY), types(".time on\r")],
        asks("return 1", " ms"),
        leaves(),
    ];
    let steps: Vec<Value> = steps.into_iter().chain(more).flatten().collect();
    let Some(shown) = on_terminal(&["shell"], folder.path(), &environment, &steps) else { return };
    assert_eq!(shown.code, Some(0), "{}", shown.plain());
    assert!(shown.text.contains("\u{1b}[35mreturn\u{1b}[0m"), "keywords have a colour");
    let plain = shown.plain();
    assert!(
        plain.contains("\r\n漢字\\u001b[31m\r\n(1 row)"),
        "an upstream paints nothing: {plain}"
    );

    let history = folder.path().join("kept/history");
    assert_eq!(fs::metadata(&history).unwrap().permissions().mode() & 0o777, 0o600);
    let kept = fs::read_to_string(&history).unwrap();
    assert!(kept.contains("ids = [1, 2]\\nreturn {\\n\"n\": \"{ids}\"}\n"), "{kept}");

    // The next shell knows what was typed in this one; without colours if nobody wants them.
    let environment = [("QLIO_HISTORY", "kept/history"), ("NO_COLOR", "1")];
    let steps = [
        [sees(READY), types("\u{1b}[A"), sees("return 1")],
        [types("\r"), sees("(1 row)"), sees(READY)],
        [types(" return \"secret\"\r"), sees("(1 row)"), json!({})],
        leaves(),
    ];
    let shown = on_terminal(&["shell"], folder.path(), &environment, &steps.concat()).unwrap();
    assert!(!shown.text.contains("\u{1b}[35m"), "{}", shown.text);
    assert!(!fs::read_to_string(&history).unwrap().contains("secret"), "a blank keeps it out");
}

#[test]
fn no_history_is_kept_where_none_is_wanted() {
    let folder = folder(&[]);
    let steps = [asks("return 1", "(1 row)"), leaves()].concat();
    for (value, is_kept) in [(Some(""), false), (None, true)] {
        let environment: Vec<(&str, &str)> =
            value.map(|value| ("QLIO_HISTORY", value)).into_iter().collect();
        if on_terminal(&["shell"], folder.path(), &environment, &steps).is_none() {
            return;
        }
        assert_eq!(folder.path().join(".local/state/qlio/history").exists(), is_kept);
    }
}

#[test]
fn an_interrupt_stops_the_run_and_not_the_shell() {
    let never = Expectation::get("/").respond(Respond::fault(Fault::Never));
    let upstream = Upstream::with([never]).unwrap();
    let folder = folder(&[("tables/t.ql", &table("slow", &format!("{}/", upstream.base())))]);
    let steps = [
        // Which also tells how it comes along.
        asks("select * from slow", "1 request, 1 under way").to_vec(),
        vec![types("\u{3}"), sees("stopped")],
        asks("return \"still here\"", "(1 row)").to_vec(),
        leaves().to_vec(),
    ]
    .concat();
    let Some(shown) = on_terminal(&["shell"], folder.path(), &[], &steps) else { return };
    assert_eq!(shown.code, Some(0), "{}", shown.plain());
    assert!(upstream.wait_until(PATIENCE, |ledger| ledger.hang_ups() == 1), "the request is ended");
}

#[test]
fn an_interrupt_stops_what_is_printed() {
    let rows: Vec<u32> = (0..100_000).collect();
    let rows = Expectation::get("/").json(json!(rows));
    let upstream = Upstream::with([rows]).unwrap();
    let folder = folder(&[("tables/t.ql", &table("many", &format!("{}/", upstream.base())))]);
    let steps = [
        vec![sees(READY), types(".rows all\r")],
        asks("select * from many", "value").to_vec(),
        vec![types("\u{3}"), sees("stopped; this is not all")],
        leaves().to_vec(),
    ]
    .concat();
    let Some(shown) = on_terminal(&["shell"], folder.path(), &[], &steps) else { return };
    assert_eq!(shown.code, Some(0), "{}", shown.plain());
    assert!(!shown.text.contains("99999"), "the last row is not reached");
}

#[test]
fn progress_is_for_terminals_alone() {
    let late = |delay| Expectation::get("/").respond(Respond::json(json!([1])).delay(delay));
    let upstream = Upstream::with([late(2500), late(1500)]).unwrap();
    let folder = folder(&[("tables/t.ql", &table("late", &format!("{}/", upstream.base())))]);
    let arguments = ["run", "-e", "select * from late"];
    let steps = [sees("1 request, 1 under way"), sees("[1]"), json!({ "end": true })];
    let shown = on_terminal(&arguments, folder.path(), &[], &steps);
    let finished = run(&arguments, folder.path(), "");
    assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("[1]\n", ""));
    if let Some(shown) = shown {
        assert!(
            shown.text.contains("under way\r\u{1b}[K[1]"),
            "the line goes away: {}",
            shown.text
        );
    }
}

#[test]
fn a_hundred_thousand_rows_are_printed_as_a_table() {
    let row = |at: u32| Value::from("x".repeat((at % 90) as usize));
    let rows: Vec<Value> = (0..100_000).map(row).collect();
    let upstream = Upstream::with([Expectation::get("/").json(json!(rows))]).unwrap();
    let folder = folder(&[("tables/t.ql", &table("many", &format!("{}/", upstream.base())))]);
    let arguments = ["run", "--output", "table", "-e", "select * from many"];
    let finished = run(&arguments, folder.path(), "");
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    assert_eq!(finished.stdout.lines().count(), 100_003);
    assert!(finished.stdout.ends_with("\n(100000 rows; 32219 cells are cut, json has all)\n"));
}
