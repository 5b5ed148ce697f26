//! The committed `TextMate` grammar is the one that is made of the words of the language.

use std::{env, fs, path::Path};

use qlio_language::textmate::grammar;
use qlio_syntax::tokens::KEYWORDS;

#[test]
fn the_committed_grammar_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors/qlio.tmLanguage.json");
    if env::var_os("UPDATE_GRAMMAR").is_some() {
        fs::write(&path, grammar()).expect("the grammar can be written");
    }
    let committed = fs::read_to_string(&path).expect("the grammar is there");
    assert!(
        committed == grammar(),
        "write it anew: UPDATE_GRAMMAR=1 cargo test -p qlio-language --test grammar"
    );
}

#[test]
fn all_words_are_in_it() {
    let grammar: serde_json::Value = serde_json::from_str(&grammar()).expect("it is JSON");
    assert_eq!(grammar["scopeName"], "source.qlio");
    let patterns = grammar["patterns"].as_array().expect("patterns");
    let keywords = patterns.iter().find(|rule| rule["name"] == "keyword.control.qlio");
    let pattern = keywords.and_then(|rule| rule["match"].as_str()).expect("a pattern");
    let (_, words) = pattern.split_once("(?:").expect("a list of words");
    let words: Vec<_> = words.split_once(')').expect("its end").0.split('|').collect();
    assert_eq!(words, KEYWORDS);
}
