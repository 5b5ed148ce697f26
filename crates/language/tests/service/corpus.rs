//! All scripts of the project, opened and asked everything.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use qlio_syntax::tokens::{KEYWORDS, TokenKind, tokens};
use serde_json::json;

use super::client::{Client, Memory, position};

/// The texts of all scripts in examples, and all lines of cases that begin like one.
pub(crate) fn scripts() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for folder in ["examples", "spec"] {
        collect(&root.join(folder), &mut found);
    }
    assert!(found.len() > 500, "{} scripts", found.len());
    found
}

fn collect(folder: &Path, found: &mut Vec<String>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, found);
            continue;
        }
        match path.extension().and_then(|kind| kind.to_str()) {
            Some("ql") => found.push(fs::read_to_string(&path).expect("a script")),
            Some("yaml") => blocks(&fs::read_to_string(&path).expect("cases"), found),
            _ => {}
        }
    }
}

/// The `script: |` blocks and one-line scripts of a case file.
fn blocks(text: &str, found: &mut Vec<String>) {
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start().trim_start_matches("- ");
        let Some((key, value)) = trimmed.split_once(": ") else { continue };
        let is_script = matches!(key, "script" | "text")
            || Path::new(key).extension().is_some_and(|kind| kind == "ql");
        if !is_script {
            continue;
        }
        if !value.starts_with('|') {
            found.push(value.trim_matches('"').to_owned());
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let mut block = String::new();
        while let Some(next) = lines.peek() {
            let own = next.len() - next.trim_start().len();
            if !next.trim().is_empty() && own <= indent {
                break;
            }
            block.push_str(next.trim_start());
            block.push('\n');
            lines.next();
        }
        found.push(block);
    }
}

#[test]
fn every_script_is_answered_about() {
    let mut client = Client::new(Memory::default());
    for (number, text) in scripts().iter().enumerate() {
        let uri = format!("file:///app/{number}.ql");
        client.open(&uri, text);
        client.settle();
        let end = position(text, text.len());
        let middle = position(text, text.floor_char_boundary(text.len() / 2));
        let whole = json!({"start": {"line": 0, "character": 0}, "end": end});
        for about in [
            "completion",
            "hover",
            "signatureHelp",
            "definition",
            "references",
            "documentSymbol",
            "documentHighlight",
            "foldingRange",
            "documentLink",
            "semanticTokens/full",
            "semanticTokens/range",
            "inlayHint",
            "codeLens",
            "codeAction",
            "formatting",
            "diagnostic",
            "prepareRename",
        ] {
            for place in [&middle, &end] {
                let params = json!({
                    "textDocument": {"uri": uri}, "position": place, "range": whole,
                    "context": {"includeDeclaration": true},
                });
                if let Err(error) = client.ask(&format!("textDocument/{about}"), params) {
                    assert_eq!(about, "prepareRename", "{error} in {text}");
                }
            }
        }
        client.tell("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
    }
}

#[test]
fn all_keywords_of_scripts_are_known() {
    let mut unknown = BTreeSet::new();
    for text in scripts() {
        let read = tokens(&text);
        if !read.diagnostics.is_empty() {
            continue;
        }
        for token in read.tokens {
            let word = &text[token.span.range()];
            // Time bounds may be written in any letter case.
            let is_known = KEYWORDS.iter().any(|known| known.eq_ignore_ascii_case(word));
            if token.kind == TokenKind::Keyword && !is_known {
                unknown.insert(word.to_owned());
            }
        }
    }
    assert!(unknown.is_empty(), "read as keywords, but missing in `KEYWORDS`: {unknown:?}");
    assert!(KEYWORDS.is_sorted(), "keywords stand in order");
}
