//! The pages of `docs/` against the real executable: every example that they show is run, every code has
//! its page. Rules, citations and links are checked in [`rules`].
//!
//! How an example is written stands in `docs/language/README.md`, "How these pages are tested".

#![expect(clippy::disallowed_methods, reason = "tests make files")]
#![expect(clippy::unwrap_used, reason = "a broken test bench must fail the test")]

mod console;
mod grammar;
mod metrics;
mod rules;
mod security;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use qlio_syntax::diagnostic::{Code, codes};
use qlio_testkit::case::load::parse_cases;
use qlio_testkit::process::{ServerProcess, run_to_end};
use qlio_testkit::runner::binary::BinaryEngine;
use qlio_testkit::runner::{CASE_PATIENCE, CaseFolder, run_case};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_qlio");

/// Starting a process and waiting for it costs little of a core.
const EXAMPLES_AT_ONCE: usize = 8;

/// Folders of pages that have examples.
const FOLDERS: &[&str] = &["errors", "language", "reference", "guide"];

/// Fenced blocks of these kinds are only shown.
const SHOWN_ONLY: &[&str] = &["text", "sh", "ebnf", "sql"];

/// So are blocks with this word behind their kind.
const SHOWN: &str = "shown";

/// One page of Markdown.
struct Page {
    path: PathBuf,
    text: String,
}

/// One fenced block: the words behind the opening fence, its text and the line it starts at.
struct Block {
    info: Vec<String>,
    text: String,
    line: usize,
}

/// One example: the parts of a case file, and what is run.
struct Example {
    place: String,
    setup: Setup,
    outcome: Outcome,
}

/// What an example needs before it can run.
#[derive(Default)]
struct Setup {
    /// `tables`, `routes` and `files`: file name to text.
    texts: BTreeMap<&'static str, BTreeMap<String, String>>,
    /// `config`, `request` and `upstream`, as they stand on the page.
    parts: BTreeMap<&'static str, String>,
}

/// What a block is to its example.
enum Part {
    /// Something that the example needs.
    Setup,
    /// A script, whose value follows.
    Script,
    /// The last block of the example.
    End(Outcome),
}

/// How an example ends.
enum Outcome {
    /// A script and the value it must have.
    Value { script: String, value: Value },
    /// A script and the code of its error.
    Error { script: String, code: String },
    /// Requests to a server, as in a case file.
    Http(String),
    /// Files that `qlio check` complains about with this code.
    Check(String),
    /// A command line, how it ends, and the lines that it prints.
    Command { line: String, end: CommandEnd, lines: String },
}

/// How a command ends.
#[derive(Clone, Copy)]
enum CommandEnd {
    /// With this code.
    Exit(i32),
    /// Not by itself: it is a server that has started.
    Serves,
}

/// What stands for any text in a line that a command prints.
const ANYTHING: &str = "…";

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let mut wanted: BTreeMap<String, String> = BTreeMap::new();
    for code in codes::ALL {
        wanted.insert(format!("Q{:04}-{}.md", code.number, code.slug), format!("{code}"));
    }
    let index = fs::read_to_string(docs().join("errors/README.md")).unwrap();
    let mut problems = Vec::new();
    for page in pages("errors") {
        let name = page.path.file_name().unwrap().to_str().unwrap().to_owned();
        if name == "README.md" {
            continue;
        }
        let Some(code) = wanted.remove(&name) else {
            problems.push(format!("{name}: no such code"));
            continue;
        };
        if page.text.lines().next() != Some(&format!("# {code}")) {
            problems.push(format!("{name}: the heading must be `# {code}`"));
        }
        for heading in ["## Meaning", "## Example", "## Fix"] {
            if !page.text.lines().any(|line| line == heading) {
                problems.push(format!("{name}: no `{heading}`"));
            }
        }
        if !index.contains(&format!("({name})")) {
            problems.push(format!("{name}: missing in the index"));
        }
    }
    problems.extend(wanted.into_keys().map(|name| format!("{name}: no such page")));
    none(&problems);
}

#[test]
fn every_code_is_raised_by_something() {
    let raising: String = rust_sources().into_iter().map(|(code, _)| code).collect();
    let silent = codes::ALL.iter().filter(|code| !names(&raising, &constant(code)));
    none(&silent.map(|code| format!("{code}: nothing raises it")).collect::<Vec<_>>());
}

#[test]
fn every_code_is_raised_by_a_test() {
    let mut tests: String = rust_sources().into_iter().map(|(_, tests)| tests).collect();
    for file in files_below(&docs().join("../spec"), "yaml") {
        tests.push_str(&fs::read_to_string(file).unwrap());
    }
    let mut missing = Vec::new();
    for code in codes::ALL {
        let number = format!("Q{:04}", code.number);
        let page = docs().join(format!("errors/{number}-{}.md", code.slug));
        let page = fs::read_to_string(page).unwrap_or_default();
        let has_example = page.contains(&format!(" error={number}\n"))
            || page.contains(&format!("code: {number}"));
        if !has_example && !tests.contains(&number) && !names(&tests, &constant(code)) {
            missing.push(format!("{code}: no example on its page, no case and no test"));
        }
    }
    none(&missing);
}

#[test]
fn every_error_example_raises_its_code() {
    let mut examples = Vec::new();
    let mut problems = Vec::new();
    for page in pages("errors") {
        let name = page.path.file_name().unwrap().to_str().unwrap().to_owned();
        for example in examples_of(&page, &mut problems) {
            // A page may also show the same script without the mistake.
            if let Outcome::Error { code, .. } | Outcome::Check(code) = &example.outcome
                && !name.starts_with(code.as_str())
            {
                problems.push(format!("{}: an example of another code", example.place));
            }
            examples.push(example);
        }
    }
    problems.extend(run_all(&examples));
    none(&problems);
}

#[test]
fn every_example_of_the_language_gives_what_it_says() {
    let mut examples = Vec::new();
    let mut problems = Vec::new();
    for page in pages("language") {
        let found = examples_of(&page, &mut problems);
        let is_index = page.path.ends_with("README.md");
        if found.is_empty() && !is_index && !page.path.ends_with("grammar.md") {
            problems.push(format!("{}: no example", shown(&page.path)));
        }
        examples.extend(found);
    }
    assert!(examples.len() >= 50, "only {} examples", examples.len());
    problems.extend(run_all(&examples));
    none(&problems);
}

#[test]
fn every_example_of_guides_and_reference_gives_what_it_says() {
    let mut problems = Vec::new();
    let pages = pages("reference").into_iter().chain(pages("guide"));
    let examples: Vec<_> = pages.flat_map(|page| examples_of(&page, &mut problems)).collect();
    assert!(examples.len() >= 8, "only {} examples", examples.len());
    problems.extend(run_all(&examples));
    none(&problems);
}

#[test]
fn every_named_code_exists() {
    let numbers: BTreeSet<String> =
        codes::ALL.iter().map(|code| format!("Q{:04}", code.number)).collect();
    let mut problems = Vec::new();
    for page in FOLDERS.iter().flat_map(|folder| pages(folder)) {
        for (at, _) in page.text.match_indices('Q') {
            let number: String = page.text[at..].chars().take(5).collect();
            let is_code = number.len() == 5 && number[1..].chars().all(|c| c.is_ascii_digit());
            if is_code && !numbers.contains(&number) {
                problems.push(format!("{}: no code {number}", shown(&page.path)));
            }
        }
    }
    none(&problems);
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The constant of a code as it stands in sources; the registry names each one after its slug.
fn constant(code: &Code) -> String {
    format!("codes::{}", code.slug.to_uppercase().replace('-', "_"))
}

/// Whether a text holds a constant, and not only one that begins like it.
fn names(text: &str, constant: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c == '_' || c.is_ascii_alphanumeric());
    text.split(constant).skip(1).any(ends)
}

/// All Rust sources of the workspace but the registry of codes: what runs and what tests it.
fn rust_sources() -> Vec<(String, String)> {
    let mut sources = Vec::new();
    for path in files_below(&docs().join("../crates"), "rs") {
        if path.ends_with("diagnostic/codes.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let is_test = path.components().any(|part| part.as_os_str() == "tests")
            || path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("tests"));
        let (code, tests) = match text.split_once("#[cfg(test)]") {
            _ if is_test => (String::new(), text),
            Some((code, tests)) => (code.to_owned(), tests.to_owned()),
            None => (text, String::new()),
        };
        sources.push((code, tests));
    }
    assert!(sources.len() > 100, "only {} sources", sources.len());
    sources
}

/// The files with this ending below a folder, in the order of their names.
fn files_below(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == ending) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The Markdown pages below a folder of the documentation, in the order of their names.
fn pages(folder: &str) -> Vec<Page> {
    let paths = files_below(&docs().join(folder), "md");
    assert!(!paths.is_empty(), "no pages in {folder}");
    paths.into_iter().map(|path| Page { text: fs::read_to_string(&path).unwrap(), path }).collect()
}

fn shown(path: &Path) -> String {
    path.strip_prefix(docs()).unwrap_or(path).display().to_string()
}

fn none(problems: &[String]) {
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => {
                let info = info.split_whitespace().map(str::to_owned).collect();
                open = Some(Block { info, text: String::new(), line: index + 1 });
            }
            (Some(_), Some("")) => blocks.extend(open.take()),
            (Some(block), _) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is never closed");
    blocks
}

/// The examples of a page, in their order. What a block is follows from the words behind its fence.
fn examples_of(page: &Page, problems: &mut Vec<String>) -> Vec<Example> {
    let mut examples = Vec::new();
    let mut setup = Setup::default();
    let mut script: Option<(String, String)> = None;
    let mut command: Option<(String, String, CommandEnd)> = None;
    for block in blocks(&page.text) {
        let place = format!("{}:{}", shown(&page.path), block.line);
        let kind = block.info.first().map_or("", String::as_str);
        if let Some((place, line, end)) = command.take() {
            if kind == "text" && block.info.len() == 1 {
                let outcome = Outcome::Command { line, end, lines: block.text };
                examples.push(Example { place, setup: std::mem::take(&mut setup), outcome });
            } else {
                problems.push(format!("{place}: a command needs its output right behind it"));
            }
            continue;
        }
        if let ("sh", Some(word)) = (kind, block.info.get(1)) {
            let end = match word.strip_prefix("exit=").map(str::parse) {
                Some(Ok(code)) => Some(CommandEnd::Exit(code)),
                None if word == "serves" => Some(CommandEnd::Serves),
                _ => None,
            };
            match end {
                Some(end) => command = Some((place, block.text, end)),
                None => problems.push(format!("{place}: `{word}` is no end of a command")),
            }
            continue;
        }
        let is_shown = block.info.get(1).is_some_and(|word| word == SHOWN);
        if is_shown || SHOWN_ONLY.contains(&kind) && block.info.len() == 1 {
            continue;
        }
        if kind == "json" && block.info.len() == 1 {
            match (script.take(), serde_json::from_str(&block.text)) {
                (Some((place, script)), Ok(value)) => {
                    let outcome = Outcome::Value { script, value };
                    examples.push(Example { place, setup: std::mem::take(&mut setup), outcome });
                }
                (None, _) => problems.push(format!("{place}: a value without a script")),
                (_, Err(error)) => problems.push(format!("{place}: {error}")),
            }
            continue;
        }
        if let Some((place, _)) = &script {
            problems.push(format!("{place}: a script needs its value right behind it"));
            script = None;
        }
        match part_of_example(&block, &mut setup) {
            Ok(Part::Setup) => {}
            Ok(Part::Script) => script = Some((place, block.text)),
            Ok(Part::End(outcome)) => {
                examples.push(Example { place, setup: std::mem::take(&mut setup), outcome });
            }
            Err(reason) => problems.push(format!("{place}: {reason}")),
        }
    }
    if let Some((place, _)) = script {
        problems.push(format!("{place}: a script needs its value right behind it"));
    }
    if let Some((place, ..)) = command {
        problems.push(format!("{place}: a command needs its output right behind it"));
    }
    examples
}

/// What a block is to its example, once what belongs to the setup was put there.
fn part_of_example(block: &Block, setup: &mut Setup) -> Result<Part, String> {
    let words: Vec<&str> = block.info.iter().map(String::as_str).collect();
    let (words, code) = match words.split_last() {
        Some((last, first)) if last.starts_with("error=") => (first, last.strip_prefix("error=")),
        _ => (words.as_slice(), None),
    };
    let code = code.map(str::to_owned);
    let text = block.text.clone();
    let mut file = |folder: &'static str, name: &str| {
        setup.texts.entry(folder).or_default().insert(name.to_owned(), text.clone());
    };
    match words {
        ["ql"] => {
            let failed = |code| Part::End(Outcome::Error { script: text, code });
            return Ok(code.map_or(Part::Script, failed));
        }
        ["yaml", "http"] => return Ok(Part::End(Outcome::Http(text))),
        ["yaml", "upstream"] => drop(setup.parts.insert("upstream", text)),
        ["json", "config"] => drop(setup.parts.insert("config", text)),
        ["json", "request"] => drop(setup.parts.insert("request", text)),
        [_, part] => match part.split_once('=') {
            Some(("table", name)) => file("tables", name),
            Some(("route", name)) => file("routes", name),
            Some(("file", name)) => file("files", name),
            _ => return Err(format!("unknown kind of block `{}`", block.info.join(" "))),
        },
        _ => return Err(format!("unknown kind of block `{}`", block.info.join(" "))),
    }
    Ok(code.map_or(Part::Setup, |code| Part::End(Outcome::Check(code))))
}

/// Runs all examples; answers what is wrong with them.
fn run_all(examples: &[Example]) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let problems = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..EXAMPLES_AT_ONCE {
            scope.spawn(|| {
                while let Some(example) = examples.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(why) = run(example) {
                        problems.lock().unwrap().push(format!("{}: {why}", example.place));
                    }
                }
            });
        }
    });
    let mut problems = problems.into_inner().unwrap();
    problems.sort();
    problems
}

fn run(example: &Example) -> Result<(), String> {
    let text = case_text(example);
    let case = parse_cases(&text).map_err(|error| format!("{error}\n{text}"))?.remove(0);
    let folder = CaseFolder::lay_out(&case).map_err(|error| error.to_string())?;
    let code = match &example.outcome {
        Outcome::Check(code) => code,
        Outcome::Command { line, end, lines } => {
            return run_command(line, *end, lines, folder.path());
        }
        _ => return run_case(&BinaryEngine::new(BINARY), &case),
    };
    let arguments = ["check", "--config", CaseFolder::CONFIG].map(str::to_owned);
    let finished = run_to_end(Path::new(BINARY), &arguments, folder.path(), "", CASE_PATIENCE)
        .map_err(|error| error.to_string())?;
    if finished.stderr.contains(&format!("[{code} ")) {
        return Ok(());
    }
    Err(format!("`qlio check` does not say {code}: {}", finished.stderr.trim()))
}

/// Runs `qlio …` in a folder; it must end as it should, and print all these lines in their order.
fn run_command(line: &str, end: CommandEnd, lines: &str, folder: &Path) -> Result<(), String> {
    let mut words = line.split_whitespace().map(str::to_owned);
    if words.next().as_deref() != Some("qlio") {
        return Err(format!("`{}` is no command of qlio", line.trim()));
    }
    let arguments: Vec<String> = words.collect();
    let binary = Path::new(BINARY);
    let printed = match end {
        CommandEnd::Exit(code) => {
            let finished = run_to_end(binary, &arguments, folder, "", CASE_PATIENCE)
                .map_err(|error| error.to_string())?;
            let printed = format!("{}{}", finished.stderr, finished.stdout);
            if finished.code() != Some(code) {
                return Err(format!("ended with {:?}, printed {printed}", finished.code()));
            }
            printed
        }
        CommandEnd::Serves => {
            let server = ServerProcess::start(binary, &arguments, folder, &[], CASE_PATIENCE)
                .map_err(|error| error.to_string())?;
            let all = |stderr: &str, stdout: &str| format!("{stderr}{stdout}");
            server.wait_for_stderr(CASE_PATIENCE, |stderr| {
                prints(&all(stderr, &server.stdout()), lines).is_ok()
            });
            let finished = server.stop(CASE_PATIENCE);
            all(&finished.stderr, &finished.stdout)
        }
    };
    prints(&printed, lines)
}

/// Whether a text has all these lines in their order, others between them.
fn prints(printed: &str, lines: &str) -> Result<(), String> {
    let mut rest = printed.lines();
    for wanted in lines.lines().filter(|line| !line.trim().is_empty()) {
        if !rest.any(|line| is_like(line.trim(), wanted.trim())) {
            return Err(format!("does not print `{wanted}`, but:\n{printed}"));
        }
    }
    Ok(())
}

/// Whether a line is as a page has it, where [`ANYTHING`] stands for any text.
fn is_like(line: &str, wanted: &str) -> bool {
    let mut pieces = wanted.split(ANYTHING);
    let Some(mut rest) = line.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let mut is_open = false;
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
        is_open = piece.is_empty();
    }
    is_open || rest.is_empty()
}

/// The example as a case file: JSON is YAML, and what stands on the page as YAML is indented.
fn case_text(example: &Example) -> String {
    let mut case = format!("- id: {}\n  why: an example\n", json!(example.place));
    let mut add = |key: &str, value: &str| {
        writeln!(case, "  {key}:").unwrap();
        for line in value.lines() {
            writeln!(case, "    {line}").unwrap();
        }
    };
    for (key, texts) in &example.setup.texts {
        add(key, &json!(texts).to_string());
    }
    for (key, text) in &example.setup.parts {
        add(key, text);
    }
    match &example.outcome {
        Outcome::Value { script, value } => {
            add("script", &json!(script).to_string());
            add("expect", &json!({"value": value}).to_string());
        }
        Outcome::Error { script, code } => {
            add("script", &json!(script).to_string());
            add("expect", &json!({"error": {"match": {"code": code}}}).to_string());
        }
        // Only laid out, never run as a script.
        Outcome::Check(_) | Outcome::Command { .. } => {
            add("script", &json!("1").to_string());
            add("expect", &json!({"value": 1}).to_string());
        }
        Outcome::Http(parts) => {
            for line in parts.lines() {
                writeln!(case, "  {line}").unwrap();
            }
        }
    }
    case
}
