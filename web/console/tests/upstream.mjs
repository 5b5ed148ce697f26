// An upstream with odd answers, for scripts of the tests.

import { createServer } from "node:http";
import { once } from "node:events";
import { stopAtEnd } from "./harness.mjs";

/** `answers` maps a path to what is sent: text, or a function of request and response. */
export async function startUpstream(answers) {
  const server = createServer((request, response) => {
    const answer = answers[new URL(request.url, "http://x").pathname];
    if (typeof answer === "function") answer(request, response);
    else if (answer === undefined) response.writeHead(404).end();
    else response.writeHead(200, { "content-type": "application/json" }).end(answer);
  });
  // A connection that is closed while a request comes on it is a call more.
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stopAtEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return { address: `http://127.0.0.1:${server.address().port}` };
}

/** A script that returns what `path` answers. */
export const scriptFor = (address, path) =>
  `create table t on select get from "${address}${path}"\nreturn select * from t\n`;
