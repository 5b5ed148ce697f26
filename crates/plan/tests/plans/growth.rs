//! The time for compiling, diagnosing and explaining grows with the length of the text, not with its
//! square, whatever the text is made of.
//!
//! A text and one four times as long are measured against each other, again and again until the
//! longer one takes clearly less than sixteen times as long: a busy machine makes single
//! measurements worthless, but cannot make quadratic code look linear.

use std::{
    fmt::Write,
    time::{Duration, Instant},
};

use qlio_plan::{
    CompileOptions, Origin,
    catalog::NoResources,
    compile, diagnose,
    explain::{Latency, explain, to_dot, to_json, to_svg, to_text, to_yuml},
    format,
};

use crate::catalog;

/// Parts of the shorter text.
const PARTS: usize = 600;

/// How much longer the longer text is.
const FACTOR: usize = 4;

/// Between four, the ratio of linear code, and sixteen, that of quadratic code.
const RATIO_MAX: f64 = 9.0;

const TRIES_MAX: usize = 30;

/// Makes a text of `n` parts.
type Shape = fn(n: usize) -> String;

/// Puts `n` numbered pieces one behind the other.
fn pieces(n: usize, piece: impl Fn(usize) -> String) -> String {
    (0..n).map(piece).collect()
}

const SHAPES: &[(&str, Shape)] = &[
    ("a chain of definitions", |n| {
        format!("v0 = 1\n{}return v{n}", pieces(n, |i| format!("v{} = \"{{v{i}}}\"\n", i + 1)))
    }),
    ("a chain against the order of text", |n| {
        let chain = pieces(n, |i| format!("v{i} = \"{{v{}}}\"\n", i + 1));
        format!("{chain}v{n} = 1\nreturn \"{{v0}}\"")
    }),
    ("statements that nobody needs", |n| {
        pieces(n, |i| format!("v{i} = select * from lib.book where id = {i}\n"))
    }),
    ("one object of many templates", |n| {
        let variables = pieces(n, |i| format!("v{i} = {i}\n"));
        format!(
            "{variables}return {{{}\"z\": 0}}",
            pieces(n, |i| format!("\"k{i}\": \"{{v{i}}}\","))
        )
    }),
    ("tokens that are no variables", |n| {
        format!("value = 1 return [{}0]", pieces(n, |i| format!("\"{{valeu{i}}}\",")))
    }),
    ("a long list", |n| {
        format!(
            "return select id from lib.book where id in ({}0)",
            pieces(n, |i| format!("'{i}',"))
        )
    }),
    ("many columns", |n| {
        format!("return select {}z from lib.book", pieces(n, |i| format!("c{i},")))
    }),
    ("many columns of a join", |n| {
        let columns = pieces(n, |i| format!("a.c{i} as x{i}, b.c{i} as y{i},"));
        format!(
            "return select {columns} a.z as z from lib.book as a, lib.rate as b where a.id = b.id"
        )
    }),
    ("many conditions", |n| {
        format!(
            "return select * from lib.book where {}z = 1",
            pieces(n, |i| format!("c{i} = {i} and "))
        )
    }),
    ("values of one insert", |n| {
        let (names, values) = (pieces(n, |i| format!("c{i},")), pieces(n, |i| format!("{i},")));
        format!("insert into lib.book ({names}z) values ({values}0)")
    }),
    ("writes to one variable", |n| {
        format!(
            "o = {{}}\n{}return o",
            pieces(n, |i| format!("insert into o (k{i}) values ({i})\n"))
        )
    }),
    ("writes that are read before they are made", |n| {
        let reads = pieces(n, |i| format!("\"{{w{}}}\",", n - 1 - i));
        let writes = pieces(n, |i| format!("w{i} = insert into o (k{i}) values ({i})\n"));
        format!("all = [{reads}0]\no = {{}}\n{writes}return all")
    }),
    ("fallbacks", |n| format!("return {}1", pieces(n, |i| format!("\"{{v{i}}}\" || ")))),
    ("a try with many statements in each part", |n| {
        let block = |name: &str| pieces(n / 4, |i| format!("{name}{i} = {i}\n"));
        let (body, catch) = (block("b"), block("c"));
        let (other, finally) = (block("d"), block("f"));
        format!(
            "try {{ throw (e)\n{body}}} catch (e) {{\n{catch}}} catch (!e) {{\n{other}}} finally {{\n{finally}}}"
        )
    }),
    ("blocks", |n| pieces(n, |i| format!("if (a{i}) {{ b{i} = 1 }} else {{ c{i} = 2 }}\n"))),
    ("deeply nested blocks", |n| {
        pieces(n / 100, |i| {
            let open = pieces(100, |j| format!("if (a) {{ v{i}x{j} = \"{{v{i}x{}}}\"\n", j + 1));
            format!("{open}{}\n", "}".repeat(100))
        })
    }),
    ("deeply nested values", |n| {
        let nested = format!("{}0{}", "[".repeat(100), "]".repeat(100));
        format!("return [{}0]", pieces(n / 100, |_| format!("{nested},")))
    }),
    ("inline tables", |n| {
        pieces(n, |i| {
            format!(
                "create table t{i} on select get from 'http://h.test/{i}?a={{a}}'\nselect * from t{i}\n"
            )
        })
    }),
    ("unknown tables", |n| pieces(n, |i| format!("select * from lib.bok{i}\n"))),
    ("comments", |n| format!("{}return 1", pieces(n, |i| format!("-- line {i}\n")))),
    ("mistakes", |n| pieces(n, |i| format!("v{i} = select from\n"))),
    ("one name bound again and again", |n| pieces(n, |_| "v = 1\n".to_owned())),
    ("returns of unknown names", |n| {
        let variables = pieces(n, |i| format!("name{i} = 1\n"));
        format!("{variables}return {}0", pieces(n, |i| format!("nmae{i} || ")))
    }),
    ("a long text", |n| format!("return \"{}\"", "a{b} ".repeat(n))),
    ("open braces", |n| format!("return \"{}\"", "{a".repeat(n))),
];

/// All that is done with a text, once.
fn work(text: &str) {
    let catalog = catalog();
    let options =
        CompileOptions { origin: Origin::Stored, file: "script", resources: &NoResources };
    if let Ok(compiled) = compile(text, &catalog, &options) {
        let explanation = explain(&compiled.plan);
        let latency = Latency::of(&explanation, Vec::new());
        let mut forms = [to_text, to_json, to_dot, to_svg]
            .map(|form| form(&explanation, Some(&latency)))
            .to_vec();
        forms.push(to_yuml(&explanation));
        assert!(forms.iter().any(|form| !form.is_empty()));
    }
    let _ = diagnose(text, &catalog);
    let _ = format(text);
}

#[expect(clippy::disallowed_methods, reason = "how time grows is what is tested")]
fn measured(text: &str) -> Duration {
    let start = Instant::now();
    work(text);
    start.elapsed()
}

#[test]
fn time_grows_with_the_length_of_the_text() {
    let mut slow = String::new();
    for (name, shape) in SHAPES {
        let (short, long) = (shape(PARTS), shape(PARTS * FACTOR));
        let (mut least_short, mut least_long) = (Duration::MAX, Duration::MAX);
        let mut ratio = f64::INFINITY;
        for _ in 0..TRIES_MAX {
            least_short = least_short.min(measured(&short));
            least_long = least_long.min(measured(&long));
            ratio = least_long.as_secs_f64() / least_short.as_secs_f64();
            if ratio < RATIO_MAX {
                break;
            }
        }
        println!(
            "{name}: {least_short:?}, {FACTOR} times as long {least_long:?}, ratio {ratio:.1}"
        );
        if ratio >= RATIO_MAX {
            // Writing to a string cannot fail.
            let _ = writeln!(slow, "{name}: {least_short:?} and {least_long:?}, ratio {ratio:.1}");
        }
    }
    assert!(slow.is_empty(), "{slow}");
}
