//! Rules, citations and links: every rule has a number of its own, every number that a comment, a case
//! or a page cites is that of a rule, every link leads to something that is here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::{docs, files_below, none};

/// Folders whose texts may cite rules.
const CITING: &[&str] =
    &["crates", "spec", "docs", "bench", "fuzz", "examples", "web", "scripts", "editors"];

/// Files whose comments or sentences may cite rules.
const ENDINGS: &[&str] = &["rs", "js", "mjs", "py", "yaml", "md", "ql", "html", "toml", "lua"];

/// Folders that hold what others have written or what was made from it.
const FOREIGN: &[&str] = &["target", "node_modules", "dist", "out"];

/// Members of cases that record facts about ql.io 0.8, in words of their own.
const RECORDS: &[&str] = &["fix:", "original:", "verified:"];

/// One text of the repository.
struct Source {
    path: PathBuf,
    text: String,
}

impl Source {
    fn place(&self, line: usize) -> String {
        let root = root().canonicalize().unwrap();
        let path = self.path.canonicalize().unwrap();
        format!("{}:{}", path.strip_prefix(root).unwrap_or(&path).display(), line + 1)
    }

    /// Whether a line of it is a sentence for readers: a page, a comment, or what a case shows.
    fn is_prose(&self, line: &str) -> bool {
        let line = line.trim_start();
        match self.path.extension().and_then(|ending| ending.to_str()) {
            Some("md") => true,
            Some("rs" | "js" | "mjs") => line.starts_with("//") || line.contains(" // "),
            Some("yaml") => {
                (line.starts_with('#') || line.contains("why:"))
                    && !RECORDS.iter().any(|record| line.starts_with(record))
            }
            Some(_) => line.starts_with(['#', '-']),
            None => false,
        }
    }
}

/// A citation as it stands in a text: three capitals, a hyphen, a number.
fn citations(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.match_indices('-').filter_map(|(at, _)| {
        let before = line[..at].bytes().rev().take_while(u8::is_ascii_alphanumeric).count();
        let digits = line[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        let (area, number) = (&line[at - before..at], &line[at + 1..at + 1 + digits]);
        let goes_on = line[at + 1 + digits..].starts_with(|c: char| c.is_ascii_alphabetic());
        let is_rule = area.len() == 3 && area.bytes().all(|byte| byte.is_ascii_uppercase());
        (is_rule && digits > 0 && !goes_on).then_some((area, number))
    })
}

fn root() -> PathBuf {
    docs().join("..")
}

fn sources() -> Vec<Source> {
    let root = root();
    let mut paths: Vec<PathBuf> = ENDINGS
        .iter()
        .flat_map(|ending| CITING.iter().map(move |folder| (folder, ending)))
        .filter(|(folder, _)| root.join(folder).is_dir())
        .flat_map(|(folder, ending)| files_below(&root.join(folder), ending))
        .filter(|path| !path.components().any(|part| is_foreign(part.as_os_str())))
        .collect();
    let top = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path());
    paths.extend(top.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    assert!(paths.len() > 300, "only {} texts", paths.len());
    let read = |path: PathBuf| fs::read_to_string(&path).ok().map(|text| Source { path, text });
    paths.into_iter().filter_map(read).collect()
}

fn is_foreign(part: &std::ffi::OsStr) -> bool {
    FOREIGN.iter().any(|folder| part == *folder)
}

/// The rules of all pages: area and number, to where they stand.
fn rules(problems: &mut Vec<String>) -> BTreeMap<(String, String), String> {
    let mut seen = BTreeMap::new();
    for path in files_below(&docs(), "md") {
        let page = Source { text: fs::read_to_string(&path).unwrap(), path };
        for (line, text) in page.text.lines().enumerate() {
            let Some((id, _)) = text.strip_prefix("- **").and_then(|rest| rest.split_once("**"))
            else {
                continue;
            };
            let Some((area, number)) = citations(id).next().filter(|_| id.len() < 8) else {
                if page.path.parent().is_some_and(|folder| folder.ends_with("language/reference")) {
                    problems.push(format!("{}: `{id}` is no number of a rule", page.place(line)));
                }
                continue;
            };
            let rule = (area.to_owned(), number.to_owned());
            if let Some(first) = seen.insert(rule, page.place(line)) {
                problems.push(format!("{}: {id} is taken by {first}", page.place(line)));
            }
        }
    }
    assert!(seen.len() > 300, "only {} rules", seen.len());
    seen
}

#[test]
fn every_rule_has_a_number_of_its_own() {
    let mut problems = Vec::new();
    let rules = rules(&mut problems);
    let mut pages: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for ((area, _), place) in &rules {
        let page = place.split(':').next().unwrap_or_default();
        pages.entry(area).or_default().insert(page);
    }
    for (area, pages) in pages.into_iter().filter(|(_, pages)| pages.len() > 1) {
        problems.push(format!("{area}: rules of one area stand on several pages: {pages:?}"));
    }
    none(&problems);
}

#[test]
fn every_citation_leads_to_a_rule() {
    let rules = rules(&mut Vec::new());
    let areas: BTreeSet<&str> = rules.keys().map(|(area, _)| area.as_str()).collect();
    let mut problems = Vec::new();
    let mut cited = 0;
    for source in sources() {
        for (line, text) in source.text.lines().enumerate() {
            for (area, number) in citations(text).filter(|(area, _)| areas.contains(area)) {
                cited += 1;
                if !rules.contains_key(&(area.to_owned(), number.to_owned())) {
                    problems.push(format!("{}: no rule {area}-{number}", source.place(line)));
                }
            }
        }
    }
    assert!(cited > 500, "only {cited} citations");
    none(&problems);
}

#[test]
fn nothing_cites_texts_that_are_not_here() {
    let mut problems = Vec::new();
    for source in sources() {
        // The texts by name would be found in this list of their names.
        if source.path.ends_with("tests/docs/rules.rs") {
            continue;
        }
        for (line, text) in source.text.lines().enumerate() {
            if !source.is_prose(text) {
                continue;
            }
            if let Some(what) = cited_outside(text) {
                problems.push(format!("{}: `{what}` is not here", source.place(line)));
            }
        }
    }
    none(&problems);
}

/// What a sentence cites that nobody has who clones this repository: a page beside it by its name, a
/// numbered decision, a number of a list of quirks.
fn cited_outside(line: &str) -> Option<&str> {
    let by_name = ["language.md", "connectors.md", "decisions.md", "`server.md`"];
    let named = by_name.into_iter().find(|name| line.contains(name));
    let mut words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '.');
    let mut is_decision = false;
    let numbered = words.find(|word| {
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        let found = is_decision && is_number || is_quirk(word);
        is_decision = matches!(*word, "decision" | "decisions" | "Ex");
        found
    });
    named.or(numbered)
}

/// Whether a word is an entry of such a list: `C-Q20`, `S-Q10`, `L33`, `Q7`.
fn is_quirk(word: &str) -> bool {
    let entry = word.strip_prefix("C-").or_else(|| word.strip_prefix("S-")).unwrap_or(word);
    let number = entry.strip_prefix(['Q', 'L']).unwrap_or_default();
    (1..=2).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[test]
fn every_link_leads_to_something() {
    let mut problems = Vec::new();
    for source in sources() {
        if source.path.extension().is_none_or(|ending| ending != "md") {
            continue;
        }
        let folder = source.path.parent().unwrap();
        for (line, text) in source.text.lines().enumerate() {
            for piece in text.split("](").skip(1) {
                let target = piece.split(')').next().unwrap_or_default();
                if target.contains("://") || target.contains(' ') {
                    continue;
                }
                let (file, heading) = target.split_once('#').unwrap_or((target, ""));
                let path = if file.is_empty() { source.path.clone() } else { folder.join(file) };
                if !path.exists() || !heading.is_empty() && !has_heading(&path, heading) {
                    problems.push(format!("{}: nothing at `{target}`", source.place(line)));
                }
            }
        }
    }
    none(&problems);
}

/// Whether a page has a heading that is linked to by this name.
fn has_heading(page: &Path, name: &str) -> bool {
    let Ok(text) = fs::read_to_string(page) else { return false };
    text.lines().filter(|line| line.starts_with('#')).any(|line| {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>() == name
    })
}

#[test]
fn what_is_not_here_is_recognised() {
    for (line, found) in [
        ("// (`language.md` 5.3)", Some("language.md")),
        ("// see decision 18", Some("18")),
        ("// a missing one is absent (C-Q4)", Some("C-Q4")),
        ("//! (L30)", Some("L30")),
        ("// Ex 44", Some("44")),
        ("// (SEL-4, CON-31), RFC 9112, Q2003, [server](server.md)", None),
    ] {
        assert_eq!(cited_outside(line), found, "{line}");
    }
    let found: Vec<_> = citations("(SEL-4, UTF-8x, TAB-12), HTTP-2, x-Q1").collect();
    assert_eq!(found, [("SEL", "4"), ("TAB", "12")]);
}
