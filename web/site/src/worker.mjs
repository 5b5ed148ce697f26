// The language service, beside the page: whatever it takes for an answer, typing goes on.
//
// In: { file: [uri, text] } puts a file of the app there, { message } is one of the protocol.
// Out: { ready }, { message }, { failed } if the module cannot be loaded or has stopped.

import { Inside } from "../../../editors/vscode/src/inside.mjs";

const encoder = new TextEncoder();
let isSettling = false;

const server = fetch(new URL("language.wasm", import.meta.url))
  .then((answer) => {
    if (!answer.ok) throw new Error(`the module is not there (${answer.status})`);
    return answer.arrayBuffer();
  })
  .then((bytes) => Inside.load(bytes));

function fail(error) {
  postMessage({ failed: String(error?.message ?? error) });
}

function tell(messages) {
  for (const message of messages) postMessage({ message: JSON.stringify(message) });
}

/** What was put off is done when no message waits. */
function settle(loaded) {
  if (isSettling) return;
  isSettling = true;
  setTimeout(() => {
    isSettling = false;
    try {
      tell(loaded.settle());
    } catch (error) {
      fail(error);
    }
  }, 0);
}

addEventListener("message", async ({ data }) => {
  try {
    const loaded = await server;
    if (data.file) {
      const [uri, text] = data.file;
      if (!loaded.put(uri, encoder.encode(text))) throw new Error("the files are too large together");
      return;
    }
    tell(loaded.handle(JSON.parse(data.message)));
    settle(loaded);
  } catch (error) {
    fail(error);
  }
});

server.then(() => postMessage({ ready: true }), fail);
