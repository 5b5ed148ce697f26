// A proxy that puts a path in front of a server, with WebSockets, as people have them in production.

import { createServer, request } from "node:http";
import { once } from "node:events";
import { stopAtEnd } from "./harness.mjs";

export async function startProxy(target, prefix) {
  const { hostname, port } = new URL(target);
  const sockets = new Set();
  const onward = (incoming) => ({
    hostname,
    port,
    method: incoming.method,
    path: incoming.url.slice(prefix.length) || "/",
    headers: incoming.headers,
  });
  const server = createServer((incoming, outgoing) => {
    if (!incoming.url.startsWith(`${prefix}/`)) {
      outgoing.writeHead(404).end();
      return;
    }
    const upstream = request(onward(incoming), (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers);
      answer.pipe(outgoing);
    });
    upstream.on("error", () => outgoing.destroy());
    incoming.pipe(upstream);
  });
  server.on("upgrade", (incoming, socket) => {
    sockets.add(socket);
    const upstream = request(onward(incoming));
    upstream.on("upgrade", (answer, other) => {
      const heads = Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}`);
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${heads.join("\r\n")}\r\n\r\n`);
      socket.pipe(other).pipe(socket);
      socket.on("error", () => other.destroy());
      other.on("error", () => socket.destroy());
    });
    upstream.on("response", () => socket.destroy());
    upstream.on("error", () => socket.destroy());
    upstream.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stopAtEnd(() => {
    sockets.forEach((socket) => socket.destroy());
    server.closeAllConnections();
    server.close();
  });
  return {
    address: `http://127.0.0.1:${server.address().port}${prefix}`,
    /** Cuts all WebSockets. */
    cut: () => sockets.forEach((socket) => socket.destroy()),
  };
}
