//! Whatever is edited, the state is that of opening the final text.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::client::{Client, Memory, position};

const URI: &str = "file:///app/one.ql";

/// An edit: two places as parts of the text, and what comes between them.
type Edit = (u16, u16, String);

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let piece = prop_oneof![
        Just("a = select x from t where y = \"{b}\"\n".to_owned()),
        Just("return \"é𝄞{a}\"\r\n".to_owned()),
        Just("/* c\r".to_owned()),
        "[a-z{}'\" \\n\\r𝄞]{0,12}",
    ];
    prop::collection::vec((any::<u16>(), any::<u16>(), piece), 1..12)
}

fn place(text: &str, part: u16) -> usize {
    let mut at = text.len() * usize::from(part) / usize::from(u16::MAX);
    // The place between the two halves of a line end is none.
    while !text.is_char_boundary(at)
        || (at > 0 && text[..at].ends_with('\r') && text[at..].starts_with('\n'))
    {
        at -= 1;
    }
    at
}

/// Positions of LF, CR and CRLF.
fn place_of(text: &str, offset: usize) -> Value {
    let plain = text[..offset].replace("\r\n", "\n").replace('\r', "\n");
    position(&plain, plain.len())
}

fn state(client: &mut Client) -> (Vec<Value>, Value, Value) {
    let told = client.settle();
    let told = told.iter().map(|message| message["params"]["diagnostics"].clone()).collect();
    let params = json!({"textDocument": {"uri": URI}});
    let tokens = client.ask("textDocument/semanticTokens/full", params.clone()).expect("tokens");
    let outline = client.ask("textDocument/documentSymbol", params).expect("an outline");
    (told, tokens, outline)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn edits_end_where_opening_begins(first in "[a-z =\n]{0,40}", edits in edits()) {
        let mut client = Client::new(Memory::default());
        client.open(URI, &first);
        let mut text = first;
        for (version, (one, other, new)) in edits.into_iter().enumerate() {
            let (one, other) = (place(&text, one), place(&text, other));
            let (start, end) = (one.min(other), one.max(other));
            let range = json!({"start": place_of(&text, start), "end": place_of(&text, end)});
            client.tell("textDocument/didChange", json!({
                "textDocument": {"uri": URI, "version": version + 2},
                "contentChanges": [{"range": range, "text": new}],
            }));
            text.replace_range(start..end, &new);
        }
        let mut fresh = Client::new(Memory::default());
        fresh.open(URI, &text);
        prop_assert_eq!(state(&mut client), state(&mut fresh));
    }
}
