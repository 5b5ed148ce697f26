//! Every setting of the table with values of every wrong kind, in every format of the file: each is an
//! error at its place that names the kind wanted and the kind found, and those of guards end the start.

use std::path::Path;

use qlio_syntax::source::Position;

use super::{
    CommandLine, ConfigProblem, Fault, Place,
    names::Names,
    parse,
    setting::{Draft, Setting},
    slot::Kind,
    table,
};

/// Values as JSON, and how messages call them.
const VALUES: &[(&str, &str)] = &[
    ("null", "`null`"),
    ("true", "`true`"),
    ("5", "`5`"),
    ("-1", "`-1`"),
    ("1.5", "`1.5`"),
    ("\"\"", "the text ``"),
    ("\"soon or late\"", "the text `soon or late`"),
    ("[]", "a list"),
    ("[5]", "a list"),
    ("[[\"a\"]]", "a list"),
    ("{\"a\": 5}", "an object"),
];

/// Whether a setting may have a value, said another way than the reader says it.
fn may_have(setting: &Setting, kind: &Kind, value: &str) -> bool {
    let is_text = value.starts_with('"');
    match kind {
        Kind::Choice(_) | Kind::Fraction | Kind::Proxies => false,
        Kind::Flag => value == "true",
        Kind::Number | Kind::Milliseconds => value == "5",
        // Of the rules only that of values of headers takes no text or one with blanks.
        Kind::Text if setting.rule.is_some() => {
            is_text && matches!(setting.name, "userAgent" | "connection")
        }
        Kind::Text => is_text,
        Kind::Path => is_text && value != "\"\"",
        Kind::Texts => value == "[]" || (is_text && setting.rule.is_none()),
    }
}

/// The text of a file in which a setting has a value, with the place of the setting's name and of its
/// value.
fn write(ending: &str, path: &str, value: &str) -> Option<(String, Position, Position)> {
    let names: Vec<&str> = path.split('.').collect();
    let (outer, last) = (&names[..names.len() - 1], names[names.len() - 1]);
    let around = |part: &dyn Fn(usize, &str) -> String| {
        let parts = outer.iter().enumerate().map(|(depth, name)| part(depth, name));
        parts.collect::<Vec<_>>().concat()
    };
    let (start, line) = match ending {
        "json" => {
            let before = around(&|_, name| format!("\"{name}\": {{"));
            let after = "}".repeat(names.len());
            ("{\n".to_owned(), format!("  {before}\"{last}\": {value}{after}"))
        }
        "toml" if value.contains("null") => return None,
        "toml" => {
            let before = around(&|_, name| format!("{name}."));
            let value = value.replace("{\"a\": 5}", "{a = 5}");
            ("# Settings\n".to_owned(), format!("{before}{last} = {value}"))
        }
        _ => {
            let before = around(&|depth, name| format!("{}{name}:\n", "  ".repeat(depth)));
            (before, format!("{}{last}: {value}", "  ".repeat(names.len() - 1)))
        }
    };
    let text = format!("{start}{line}\n");
    let number = start.lines().count() as u32 + 1;
    let name_at = line.rfind(&format!("\"{last}\"")).or_else(|| line.rfind(last)).unwrap();
    let name_at = if ending == "toml" { line.find(" = ").unwrap() - last.len() } else { name_at };
    let value_at = name_at + line[name_at..].find([':', '=']).unwrap() + 2;
    let place = |at: usize| Position { line: number, column: at as u32 + 1 };
    Some((text, place(name_at), place(value_at)))
}

fn problems(text: &str, file: &str) -> Vec<ConfigProblem> {
    parse(text, Path::new(file), &CommandLine::default()).1
}

#[test]
fn every_setting_refuses_every_wrong_kind_at_its_place() {
    let names = Names::of_table();
    let mut refused = 0;
    for setting in table::all() {
        let kind = setting.slot(&mut Draft::new(false)).kind();
        for (path, (value, found)) in setting
            .spellings()
            .flat_map(|path| VALUES.iter().map(move |value| (path.clone(), value)))
        {
            let is_section = names.is_section(&path) && kind != Kind::Proxies;
            if may_have(setting, &kind, value) || (is_section && value.starts_with('{')) {
                continue;
            }
            for ending in ["json", "toml", "yaml"] {
                let file = format!("qlio.{ending}");
                let Some((text, name_at, value_at)) = write(ending, &path, value) else { continue };
                let problems = problems(&text, &file);
                let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
                let problem = problems.first().unwrap_or_else(|| panic!("{path} in {text}"));
                let Fault::WrongKind { wanted, found: told_found } = &problem.fault else {
                    panic!("{told:?}");
                };
                let inside = problem.setting.as_deref().and_then(|it| it.strip_prefix(&*path));
                let (at, expected) = match inside {
                    Some("") => (name_at, *found),
                    // The first element of a list, or the entry of a proxy.
                    Some("[0]") => {
                        let at = Position { column: value_at.column + 1, ..value_at };
                        (at, if *value == "[5]" { "`5`" } else { "a list" })
                    }
                    Some(".a") => {
                        let at = Position { column: value_at.column + 1, ..value_at };
                        (at, "`5`")
                    }
                    other => panic!("{other:?}: {told:?}"),
                };
                assert_eq!(problem.place, Place::File(file.into(), Some(at)), "{told:?}\n{text}");
                assert_eq!(told_found, expected, "{told:?}");
                assert!(!wanted.is_empty());
                assert_eq!(problem.ends_start(), setting.is_guard, "{told:?}");
                refused += 1;
            }
        }
    }
    assert!(refused > 1500, "{refused}");
}

#[test]
fn every_object_of_settings_refuses_what_is_no_object() {
    for section in
        ["adhoc", "trust", "tls", "egress", "cache", "hooks", "xml", "backoff", "requestId"]
    {
        for value in ["null", "1.5", "[5]"] {
            let problems = problems(&format!("{{\"{section}\": {value}}}"), "qlio.json");
            assert!(!problems.is_empty(), "{section}: {value}");
            let is_guard = matches!(section, "adhoc" | "trust" | "tls" | "egress");
            assert_eq!(problems.iter().any(ConfigProblem::ends_start), is_guard, "{section}");
        }
    }
}

#[test]
fn names_beside_guards_are_as_bad_as_wrong_values() {
    for (text, ends_start) in [
        (r#"{"egress": {"denny": ["h"]}}"#, true),
        (r#"{"adhoc": {"enable": false}}"#, true),
        (r#"{"trust": {"host": "h"}}"#, true),
        (r#"{"proxy": {"*": {"hots": "h"}}}"#, true),
        (r#"{"cache": {"impll": "memory"}}"#, false),
        (r#"{"secret": ["a"], "log": "a"}"#, false),
    ] {
        let problems = problems(text, "qlio.json");
        assert!(!problems.is_empty(), "{text}");
        assert_eq!(
            problems.iter().all(ConfigProblem::ends_start),
            ends_start,
            "{text}: {problems:?}"
        );
    }
}

#[test]
fn guards_refuse_texts_that_mean_nothing() {
    for (name, value) in [
        ("egress.deny", "[\"good.test\", \"https://evil.test/\"]"),
        ("egress.allow", "\"10.0.0.0/33\""),
        ("tls.insecureHosts", "[\"a b\"]"),
        ("trust.hosts", "[\"*x.test\"]"),
        ("trust.origins", "[\"console.example\"]"),
        ("wsOrigins", "\"https://console.example/\""),
        ("errors", "\"Full\""),
    ] {
        let (text, ..) = write("json", name, value).unwrap();
        let problems = problems(&text, "qlio.json");
        assert!(matches!(&problems[..], [problem] if problem.ends_start()), "{name}: {problems:?}");
    }
    for text in ["{", "[]", "5", ""] {
        let problems = problems(text, "qlio.json");
        assert!(problems[0].ends_start(), "{text}: {problems:?}");
    }
}

#[test]
fn secrets_that_name_nothing_end_the_start() {
    let told = problems(r#"{"a": {"key": 5}, "secrets": ["a", "b.c"]}"#, "qlio.json");
    assert_eq!(told.iter().filter(|problem| problem.ends_start()).count(), 2, "{told:?}");
}
