// Serves the built site on loopback, to look at it: node serve.mjs [--port 8000] [FOLDER]

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".wasm": "application/wasm",
};

/** A server of a folder, below a path, that listens on loopback; `port` 0 takes a free one. */
export async function serve(folder, port = 0, below = "") {
  const root = resolve(folder);
  const server = createServer(async (request, response) => {
    try {
      const path = decodeURIComponent(new URL(request.url, "http://site").pathname);
      if (!path.startsWith(`${below}/`)) throw new Error("not below the path");
      let file = join(root, path.slice(below.length));
      if (file !== root && !file.startsWith(root + sep)) throw new Error("outside of the folder");
      if ((await stat(file)).isDirectory()) file = join(file, "index.html");
      const { size } = await stat(file);
      const type = TYPES[extname(file)] ?? "application/octet-stream";
      response.writeHead(200, { "content-type": type, "content-length": size, "x-content-type-options": "nosniff" });
      createReadStream(file).pipe(response);
    } catch {
      response.writeHead(404, { "content-type": "text/plain" }).end("not here\n");
    }
  });
  await new Promise((listening, failed) => server.once("error", failed).listen(port, "127.0.0.1", listening));
  return { address: `http://127.0.0.1:${server.address().port}`, stop: () => server.close() };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values, positionals } = parseArgs({ options: { port: { type: "string", default: "8000" } }, allowPositionals: true });
  const root = fileURLToPath(new URL("../../", import.meta.url));
  const { address } = await serve(positionals[0] ?? resolve(root, process.env.CARGO_TARGET_DIR ?? "target", "site"), Number(values.port));
  console.log(address);
}
