//! `qlio lsp` as a process: over its pipes, and with an editor that somebody else has written.
//!
//! Without Neovim its test is skipped with a note; under `CI=true` it fails.

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use super::{binary, folder};

const TABLE: &str =
    "-- All goods.\ncreate table shop.goods on select get from 'http://h.test/{^key}'";
const ROUTE: &str =
    "return select x frm shop.goods where key = '1' via route '/a' using method get";

/// A conversation over the pipes of the process.
struct Conversation {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Conversation {
    fn start(app: &std::path::Path) -> Self {
        let mut process = Command::new(binary())
            .args(["lsp", "--stdio", "--app"])
            .arg(app)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, output }
    }

    fn send(&mut self, message: &Value) {
        let message = message.to_string();
        let input = self.process.stdin.as_mut().unwrap();
        write!(input, "Content-Length: {}\r\n\r\n{message}", message.len()).unwrap();
        input.flush().unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let length = line.strip_prefix("Content-Length: ").unwrap().trim_end().parse().unwrap();
        self.output.read_line(&mut line).unwrap();
        let mut message = vec![0; length];
        self.output.read_exact(&mut message).unwrap();
        serde_json::from_slice(&message).unwrap()
    }

    /// The next message that is about this.
    fn read_about(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.read();
            if is_wanted(&message) {
                return message;
            }
        }
    }

    fn ask(&mut self, id: u64, method: &str, params: Value) -> Value {
        let mut request = json!({"jsonrpc": "2.0", "id": id, "method": method});
        request["params"] = params;
        self.send(&request);
        self.read_about(|message| message["id"] == json!(id))["result"].take()
    }
}

#[test]
fn an_editor_is_answered_over_pipes() {
    let app = folder(&[("tables/shop.ql", TABLE), ("routes/a.ql", ROUTE), ("qlio.json", "{}")]);
    let root = app.path().canonicalize().unwrap();
    let uri = format!("file://{}/routes/a.ql", root.display());
    let mut editor = Conversation::start(&root);
    let hello = editor.ask(1, "initialize", json!({"capabilities": {}}));
    assert_eq!(hello["serverInfo"]["name"], "qlio");
    editor.send(&json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}));
    let is_about_route = |message: &Value| message["params"]["uri"] == json!(uri);
    // The file is not open, but it is a part of the app.
    let told = editor.read_about(is_about_route);
    assert_eq!(told["params"]["diagnostics"][0]["code"], "Q1001 unexpected-token", "{told}");
    let document = json!({
        "uri": uri, "languageId": "qlio", "version": 1, "text": ROUTE.replace("frm", "from"),
    });
    let opened = json!({ "textDocument": document });
    editor.send(&json!({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": opened}));
    let told = editor.read_about(is_about_route);
    assert_eq!(told["params"]["diagnostics"], json!([]), "{told}");
    let here = json!({"textDocument": {"uri": uri}, "position": {"line": 0, "character": 25}});
    let hover = editor.ask(2, "textDocument/hover", here.clone());
    assert!(hover["contents"]["value"].as_str().unwrap().contains("All goods."), "{hover}");
    let definition = editor.ask(3, "textDocument/definition", here);
    assert!(definition[0]["uri"].as_str().unwrap().ends_with("/tables/shop.ql"), "{definition}");
    assert!(editor.ask(4, "shutdown", Value::Null).is_null());
    editor.send(&json!({"jsonrpc": "2.0", "method": "exit"}));
    assert!(editor.process.wait().unwrap().success());
}

#[test]
fn what_is_no_message_ends_it_with_a_reason() {
    let app = folder(&[]);
    let finished = super::run(&["lsp"], app.path(), "Content-Length: x\r\n\r\n");
    assert_eq!(finished.code(), Some(1));
    assert!(finished.stderr.contains("is no length"), "{}", finished.stderr);
    assert_eq!(super::run(&["lsp"], app.path(), "").code(), Some(1));
}

/// What the editor does: opens a file, waits for its problem, mends it, asks what it stands on.
const EDITOR: &str = r#"
vim.cmd("edit routes/a.ql")
local found = {}
local client = vim.lsp.start_client({ name = "qlio", cmd = { vim.env.QLIO, "lsp" }, root_dir = vim.fn.getcwd() })
vim.lsp.buf_attach_client(0, client)
local function wait(what) assert(vim.wait(20000, what, 20), "nothing came") end
wait(function() return #vim.diagnostic.get(0) > 0 end)
table.insert(found, vim.diagnostic.get(0)[1].message)
vim.api.nvim_buf_set_text(0, 0, 16, 0, 19, { "from" })
wait(function() return #vim.diagnostic.get(0) == 0 end)
local function ask(method, more)
  local params = vim.tbl_extend("force", {
    textDocument = vim.lsp.util.make_text_document_params(), position = { line = 0, character = 25 },
  }, more or {})
  local answers = vim.lsp.buf_request_sync(0, "textDocument/" .. method, params, 20000)
  local _, answer = next(answers)
  return answer.result
end
table.insert(found, ask("hover").contents.value)
vim.lsp.util.apply_workspace_edit(ask("rename", { newName = "shop.wares" }), "utf-16")
table.insert(found, vim.api.nvim_buf_get_lines(0, 0, 1, true)[1])
vim.lsp.util.apply_text_edits(ask("formatting", { options = { tabSize = 2, insertSpaces = true } }), 0, "utf-16")
table.insert(found, table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), "|"))
vim.fn.writefile({ vim.fn.json_encode(found) }, "found.json")
vim.cmd("qall!")
"#;

#[test]
fn neovim_is_served() {
    if Command::new("nvim").arg("--version").output().is_err() {
        assert!(env::var("CI").as_deref() != Ok("true"), "Neovim is not installed");
        eprintln!("skipped: Neovim is not installed");
        return;
    }
    let app = folder(&[("tables/shop.ql", TABLE), ("routes/a.ql", ROUTE), ("go.lua", EDITOR)]);
    let finished = Command::new("nvim")
        .args(["--headless", "--clean", "-n", "-c", "luafile go.lua", "-c", "cquit"])
        .current_dir(app.path())
        .env("QLIO", binary())
        .output()
        .unwrap();
    let found = fs::read_to_string(app.path().join("found.json"));
    let found = found.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&finished.stderr)));
    let found: Vec<String> = serde_json::from_str(&found).unwrap();
    assert!(found[0].contains("did you mean `from`"), "{found:?}");
    assert!(found[1].contains("All goods."), "{found:?}");
    assert!(found[2].contains("select x from shop.wares where"), "{found:?}");
    assert!(found[3].starts_with("return select x from shop.wares"), "{found:?}");
}
