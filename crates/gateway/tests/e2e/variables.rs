//! Settings out of the environment, and out of files of secrets.

use std::fs;

use super::{folder, run_with};

const ROUTE: (&str, &str) = ("routes/r.ql", "return 1 via route '/r' using method get");

/// The lines of `qlio config show --origin`, which must succeed.
fn shown(environment: &[(&str, &str)], settings: &str) -> (String, String) {
    let app = folder(&[ROUTE, ("qlio.toml", settings)]);
    let shown = run_with(environment, &["config", "show", "--origin"], app.path());
    (shown.stdout, shown.stderr)
}

fn assert_shows(shown: &str, lines: &[&str]) {
    for line in lines {
        assert!(shown.lines().any(|found| found == *line), "{line}\n{shown}");
    }
}

#[test]
fn a_variable_beats_the_file_and_a_flag_beats_both() {
    let environment = [
        ("QLIO_TIMEOUT", "111"),
        ("QLIO_LIMITS_MEMORY_MIB", "7"),
        ("QLIO_EGRESS_DENY", "a.test, *.b.test"),
        (
            "QLIO_PROXY",
            r#"{"*": {"host": "p.test", "port": 8080, "user": "u", "password": "s3cret-word"}}"#,
        ),
        ("QLIO_JSONP", "true"),
        ("QLIO_DEADLINE", ""),
    ];
    let settings = "timeout = 5\ndeadline = 6\nmaxPages = 3\n[limits]\nmemoryMiB = 9\n";
    let (shown, told) = shown(&environment, settings);
    assert_eq!(told, "");
    assert_shows(
        &shown,
        &[
            "timeout = 111  # QLIO_TIMEOUT",
            "limits.memoryMiB = 7  # QLIO_LIMITS_MEMORY_MIB",
            r#"egress.deny = ["a.test","*.b.test"]  # QLIO_EGRESS_DENY"#,
            r#"proxy = {"*":{"host":"p.test","port":8080}}  # QLIO_PROXY"#,
            "jsonp = true  # QLIO_JSONP",
            "deadline = 6  # qlio.toml:2:1",
            "maxPages = 3  # qlio.toml:3:1",
        ],
    );
    assert!(!shown.contains("s3cret"), "{shown}");
    // The flag is the one that is wrong: it was asked first.
    let app = folder(&[ROUTE]);
    let arguments = ["serve", "-p", "0", "--ecvPath", "nowhere"];
    let finished = run_with(&[("QLIO_ECV_PATH", "elsewhere")], &arguments, app.path());
    assert_eq!(finished.code(), Some(1));
    assert!(
        finished.stderr.contains("--ecvPath: setting `ecvPath` must be"),
        "{}",
        finished.stderr
    );
}

#[test]
fn what_a_variable_holds_is_told_by_its_name_alone() {
    let app = folder(&[ROUTE]);
    let environment = [("QLIO_TIMEOUT", "hunter2"), ("QLIO_TRUST_HOSTS", "not a host!")];
    let finished = run_with(&environment, &["check"], app.path());
    assert_eq!(finished.code(), Some(1));
    for told in [
        "QLIO_TIMEOUT: setting `timeout` must be a whole number of milliseconds from 1 to 4294967295, \
         not what `QLIO_TIMEOUT` of the environment holds",
        "QLIO_TRUST_HOSTS: setting `trust.hosts[0]` must be",
    ] {
        assert!(finished.stderr.contains(told), "{told}\n{}", finished.stderr);
    }
    assert!(!finished.stderr.contains("hunter2"), "{}", finished.stderr);
}

#[test]
fn a_variable_of_no_setting_is_an_error_unless_the_file_refers_to_it() {
    let app = folder(&[ROUTE, ("qlio.toml", "[shop]\nkey = '${QLIO_SHOP_KEY}'\n")]);
    let environment =
        [("QLIO_TIMOUT", "5"), ("QLIO_SHOP_KEY", "k"), ("QLIO_PORT", "tcp://10.0.0.1:3000")];
    let finished = run_with(&environment, &["serve", "-p", "0"], app.path());
    assert_eq!(finished.code(), Some(1), "{}", finished.stderr);
    let told = "error[Q3021 unknown-setting]: QLIO_TIMOUT: no setting has a variable of this name; did you mean `QLIO_TIMEOUT`?";
    assert!(finished.stderr.contains(told), "{}", finished.stderr);
    assert!(!finished.stderr.contains("SHOP_KEY") && !finished.stderr.contains("QLIO_PORT"));
    // Beside a guard no mode starts.
    for mode in ["--dev", "--lenient"] {
        let finished =
            run_with(&[("QLIO_ADMIN_TOKN", "x")], &["serve", "-p", "0", mode], app.path());
        assert_eq!(finished.code(), Some(1), "{mode}: {}", finished.stderr);
        assert!(
            finished.stderr.contains("did you mean `QLIO_ADMIN_TOKEN`?"),
            "{}",
            finished.stderr
        );
    }
}

#[test]
fn values_have_defaults_and_come_from_files() {
    let app = folder(&[ROUTE, ("token", "t0ken-of-the-file\n")]);
    let token = app.path().join("token");
    let settings = format!(
        "timeout = '${{T_UNSET:-123}}'\nmaxPages = '${{T_EMPTY:-4}}'\ndeadline = '${{T_SET:-5}}'\n\
         [shop]\nkey = 'file:{}'\nuri = 'file://elsewhere'\n",
        token.display()
    );
    fs::write(app.path().join("qlio.toml"), settings).unwrap();
    let environment = [("T_EMPTY", ""), ("T_SET", "777")];
    let shown = run_with(&environment, &["config", "show", "--origin"], app.path());
    assert_eq!(shown.code(), Some(0), "{}", shown.stderr);
    assert_shows(
        &shown.stdout,
        &[
            "timeout = 123  # qlio.toml:1:1",
            "maxPages = 4  # qlio.toml:2:1",
            "deadline = 777  # ${T_SET} in qlio.toml:3:1",
            r#"shop = {"key":"[redacted]","uri":"file://elsewhere"}  # qlio.toml:4:2"#,
        ],
    );
    let value = run_with(&environment, &["run", "-e", "return \"{config.shop.key}\""], app.path());
    assert_eq!(value.stdout, "\"t0ken-of-the-file\"\n", "{}", value.stderr);
    let by_variable = [("QLIO_ADMIN_TOKEN", &*format!("file:{}", token.display()))];
    let shown = run_with(&by_variable, &["config", "show", "--origin"], app.path());
    assert_shows(&shown.stdout, &["admin.token = \"[redacted]\"  # QLIO_ADMIN_TOKEN"]);
    // A file that is not there names itself and its setting.
    fs::write(app.path().join("qlio.toml"), "[admin]\ntoken = 'file:/no/such/secret'\n").unwrap();
    let checked = run_with(&[], &["check"], app.path());
    assert_eq!(checked.code(), Some(1));
    let told = "error[Q3022 missing-secret]: qlio.toml:2:1: cannot read the value of `admin.token` from `/no/such/secret`: No such file";
    assert!(checked.stderr.contains(told), "{}", checked.stderr);
}
