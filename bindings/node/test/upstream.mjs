// An API on a free port: products, one of which never comes. And an app over it.

import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';

export async function startUpstream() {
  const state = { asked: 0, hungUp: 0 };
  const server = createServer((request, response) => {
    state.asked += 1;
    response.on('close', () => {
      if (!response.writableEnded) state.hungUp += 1;
    });
    if (request.url === '/products/slow') return;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ title: 'Mira lantern', price: 42 }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    base: `http://127.0.0.1:${server.address().port}`,
    state,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A folder with the app `shop` of the README. */
export function makeApp() {
  const folder = mkdtempSync(path.join(tmpdir(), 'qlio-node-'));
  const files = {
    'tables/product.ql': "create table product on select get from '{config.shop}/products/{^id}'",
    'routes/product.ql':
      "return select title as title, price as price from product where id = '{id}'\n" +
      "  via route '/products/{id}' using method get",
  };
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(folder, 'shop', name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return { folder, app: path.join(folder, 'shop'), remove: () => rmSync(folder, { recursive: true }) };
}
