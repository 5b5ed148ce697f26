//! Messages that no good client sends: each is answered, and the next one is as if it had not been.

use serde_json::{Value, json};

use super::client::{Client, Memory};

const URI: &str = "file:///app/one.ql";

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().expect("an error")
}

#[test]
fn what_is_no_message_is_answered_with_an_error() {
    let mut client = Client::new(Memory::default());
    for (text, expected) in [
        ("", -32700),
        ("{", -32700),
        ("[]", -32600),
        ("7", -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":3}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"nothing"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"textDocument/hover"}"#, -32602),
    ] {
        let answers = client.send(text);
        assert_eq!(code(&answers[0]), expected, "{text}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(code(&client.send(&deep)[0]), -32700);
    assert!(client.send(r#"{"jsonrpc":"2.0","id":1,"result":null}"#).is_empty());
}

#[test]
fn nothing_is_answered_before_hello_and_after_goodbye() {
    let mut server = qlio_language::Server::new(Memory::default(), "/app");
    let answer = server.handle(r#"{"id":1,"method":"textDocument/hover"}"#);
    assert!(answer[0].contains("-32002"), "{answer:?}");
    server.handle(r#"{"id":2,"method":"initialize","params":{}}"#);
    server.handle(r#"{"id":3,"method":"shutdown"}"#);
    assert!(server.handle(r#"{"id":4,"method":"textDocument/hover"}"#)[0].contains("-32600"));
    server.handle(r#"{"method":"exit"}"#);
    assert_eq!(server.ending(), qlio_language::Ending::Done);
}

#[test]
fn bad_positions_are_moved_or_refused() {
    let mut client = Client::new(Memory::default());
    client.open(URI, "a = 1");
    let mut ask = |position: Value| {
        let params = json!({"textDocument": {"uri": URI}, "position": position});
        client.ask("textDocument/hover", params)
    };
    assert!(ask(json!({"line": 9_000_000_000_u64, "character": 9_000_000_000_u64})).is_ok());
    for bad in [json!({"line": -1, "character": 0}), json!({"line": 0.5, "character": 0}), json!(3)]
    {
        assert_eq!(ask(bad).expect_err("it is refused")["code"], -32602);
    }
}

#[test]
fn a_change_that_does_not_fit_leaves_the_document_out_of_step_until_all_of_it_comes() {
    let mut client = Client::new(Memory::default());
    let ask = |client: &mut Client| {
        client.ask("textDocument/formatting", json!({"textDocument": {"uri": URI}}))
    };
    let change = |client: &mut Client, version: u64, change: Value| {
        client.tell(
            "textDocument/didChange",
            json!({
                "textDocument": {"uri": URI, "version": version}, "contentChanges": [change],
            }),
        )
    };
    let place = |line: u64| json!({"line": line, "character": 0});
    client.open(URI, "a = 1\nb = 2");
    let backwards = json!({"range": {"start": place(1), "end": place(0)}, "text": ""});
    let told = change(&mut client, 2, backwards);
    assert_eq!(told[0]["method"], "window/showMessage");
    assert_eq!(ask(&mut client).expect_err("it is out of step")["code"], -32803);
    change(&mut client, 3, json!({"text": "a = 1"}));
    assert!(ask(&mut client).is_ok());
    let late = json!({"range": {"start": place(0), "end": place(0)}, "text": "x"});
    change(&mut client, 3, late);
    assert!(ask(&mut client).is_err(), "a change that is no newer");
}

#[test]
fn large_texts_are_refused_in_time() {
    let mut client = Client::new(Memory::default());
    client.open(URI, &"a = 1\n".repeat(300_000));
    let told = client.settle();
    let problems = &told[0]["params"]["diagnostics"];
    assert!(problems[0]["code"].as_str().is_some_and(|code| code.contains("Q7005")), "{problems}");
    client.open(URI, &"x".repeat(qlio_language::TEXT_BYTES_MAX + 1));
    let params = json!({"textDocument": {"uri": URI}});
    assert!(client.ask("textDocument/semanticTokens/full", params).is_err());
}

#[test]
fn a_long_line_costs_no_more_than_many_short_ones() {
    let mut client = Client::new(Memory::default());
    let text = format!("a = [{}]", "\"é{b}\", ".repeat(60_000) + "1");
    client.open(URI, &text);
    let params = json!({"textDocument": {"uri": URI}});
    let tokens = client.ask("textDocument/semanticTokens/full", params).expect("tokens");
    assert!(tokens["data"].as_array().is_some_and(|data| data.len() > 60_000 * 5));
}
