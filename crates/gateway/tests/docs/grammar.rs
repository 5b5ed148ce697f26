//! The grammar of the reference: nothing in it is undefined, its words are those that the parser knows,
//! and pages that repeat a production repeat it as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use qlio_syntax::tokens::KEYWORDS;

use super::{docs, files_below, none};

/// What is explained in words: kinds of texts, numbers and characters.
const SMALLEST: &[&str] =
    &["character", "digit", "digits", "integer", "letter", "number", "raw", "text"];

/// Where reading begins: a script, and a token inside of an address.
const ROOTS: &[&str] = &["script", "uri-token"];

/// Literals, which are no keywords.
const LITERALS: &[&str] = &["true", "false", "null"];

/// Stands in a production of which a page shows a part.
const IN_PART: char = '…';

/// One item of a production.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    Quoted(String),
    Name(String),
    Sign(char),
}

fn items(production: &str) -> Vec<Item> {
    let mut found = Vec::new();
    let mut rest = production.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if first == '"' {
            let end = rest[1..].find('"').expect("a quote is closed") + 2;
            found.push(Item::Quoted(rest[1..end - 1].to_owned()));
            end
        } else if first.is_ascii_alphabetic() {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            found.push(Item::Name(rest[..end].to_owned()));
            end
        } else {
            found.push(Item::Sign(first));
            first.len_utf8()
        };
        rest = rest[length..].trim_start();
    }
    found
}

/// The productions of a page by name.
fn productions(page: &str) -> Vec<(String, Vec<Item>)> {
    let blocks = page.split("```ebnf\n").skip(1).map(|block| block.split("```").next().unwrap());
    let lines = blocks.flat_map(|block| block.split(" ;\n"));
    let split = lines.filter_map(|line| line.split_once(" = "));
    split.map(|(name, rest)| (name.trim().to_owned(), items(rest))).collect()
}

fn grammar() -> BTreeMap<String, Vec<Item>> {
    let page = fs::read_to_string(docs().join("language/reference/grammar.md")).unwrap();
    let all = productions(&page);
    let count = all.len();
    let grammar: BTreeMap<_, _> = all.into_iter().collect();
    assert_eq!(grammar.len(), count, "a production stands twice");
    assert!(count > 60, "only {count} productions");
    grammar
}

#[test]
fn everything_is_defined_and_used() {
    let grammar = grammar();
    let names: BTreeSet<&str> = grammar
        .values()
        .flatten()
        .filter_map(|item| match item {
            Item::Name(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    let is_defined = |name: &&&str| grammar.contains_key(**name) || SMALLEST.contains(*name);
    let undefined = names.iter().filter(|name| !is_defined(name));
    none(&undefined.map(|name| format!("`{name}` is not defined")).collect::<Vec<_>>());
    let is_used = |name: &&String| ROOTS.contains(&name.as_str()) || names.contains(name.as_str());
    let unused = grammar.keys().filter(|name| !is_used(name));
    none(&unused.map(|name| format!("`{name}` is not used")).collect::<Vec<_>>());
}

#[test]
fn its_words_are_those_of_the_parser() {
    let written: BTreeSet<String> = grammar()
        .into_values()
        .flatten()
        .filter_map(|item| match item {
            Item::Quoted(word) if word.starts_with(|c: char| c.is_ascii_alphabetic()) => Some(word),
            _ => None,
        })
        .filter(|word| !LITERALS.contains(&word.as_str()))
        .collect();
    let known: BTreeSet<String> = KEYWORDS.iter().map(|word| (*word).to_owned()).collect();
    let missing = known.difference(&written).map(|word| format!("the grammar lacks `{word}`"));
    let unknown = written.difference(&known).map(|word| format!("the parser lacks `{word}`"));
    none(&missing.chain(unknown).collect::<Vec<_>>());
}

#[test]
fn pages_repeat_it_as_it_is() {
    let grammar = grammar();
    let mut different = Vec::new();
    let mut repeated = 0;
    for page in files_below(&docs().join("language/reference"), "md") {
        let text = fs::read_to_string(&page).unwrap();
        for (name, production) in productions(&text) {
            if production.contains(&Item::Sign(IN_PART)) {
                continue;
            }
            repeated += 1;
            if grammar.get(&name) != Some(&production) {
                different.push(format!("{} has `{name}` otherwise", page.display()));
            }
        }
    }
    assert!(repeated > grammar.len() + 40, "only {repeated} productions");
    none(&different);
}
