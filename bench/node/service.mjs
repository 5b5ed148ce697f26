// The work of all scenarios as a careful Node author would write it by hand: Fastify in front,
// an undici pool behind, one process per core.
//
// Usage: node service.mjs PORT UPSTREAM_PORT WORKERS

import cluster from 'node:cluster';

import Fastify from 'fastify';
import { Pool } from 'undici';

const [port, upstreamPort, workers] = process.argv.slice(2).map(Number);

if (cluster.isPrimary) {
  for (let worker = 0; worker < workers; worker += 1) cluster.fork();
  // A worker that dies would silently halve the figures.
  cluster.on('exit', (_worker, code) => process.exit(code || 1));
  process.on('SIGTERM', () => {
    cluster.removeAllListeners('exit');
    for (const worker of Object.values(cluster.workers)) worker.kill('SIGKILL');
    process.exit(0);
  });
} else {
  serve();
}

function serve() {
  const pool = new Pool(`http://127.0.0.1:${upstreamPort}`, {
    connections: 512,
    pipelining: 1,
    keepAliveTimeout: 3_600_000,
  });
  const app = Fastify({ logger: false, keepAliveTimeout: 3_600_000 });

  async function fetch(path) {
    const answer = await pool.request({ method: 'GET', path });
    if (answer.statusCode !== 200) throw new Error(`${path} answered ${answer.statusCode}`);
    return answer.body;
  }

  const fetchJson = async (path) => (await fetch(path)).json();

  // A: the answer as it came; buffering it is faster here than piping a stream.
  app.get('/a', async (request, reply) => {
    const body = await fetch(`/search?q=${encodeURIComponent(request.query.q)}`);
    reply.type('application/json');
    return Buffer.from(await body.arrayBuffer());
  });

  // B: three columns of every row.
  app.get('/b', async (request) => {
    const { results } = await fetchJson(`/search?q=${encodeURIComponent(request.query.q)}`);
    return results.map((row) => ({ id: row.id, user_name: row.from_user_name, text: row.text }));
  });

  // C: ids from the first call, the rows for these ids from the second.
  app.get('/c', async (request) => {
    const found = await fetchJson(`/find?keywords=${encodeURIComponent(request.query.q)}`);
    const ids = found.searchResult.item.map((item) => item.itemId[0]).join(',');
    const { Item } = await fetchJson(`/items?ids=${encodeURIComponent(ids)}`);
    return Item.map((item) => [item.ItemID, item.Url, item.Location]);
  });

  // D: five ids, then details and reviews of each in parallel, joined by id through a map.
  app.get('/d', async (request) => {
    const { products } = await fetchJson(`/prods?k=${encodeURIComponent(request.query.k)}`);
    const call = (name) =>
      Promise.all(products.map(({ pid }) => fetchJson(`/${name}?id=${encodeURIComponent(pid)}&kind=Ref`)));
    const [details, reviews] = await Promise.all([call('details'), call('reviews')]);
    const ratings = new Map(reviews.map((review) => [review.id, review.Rating]));
    return details
      .filter((detail) => ratings.has(detail.id))
      .map((detail) => ({
        id: detail.id,
        title: detail.Title,
        reviewCount: detail.Count,
        rating: ratings.get(detail.id),
      }));
  });

  app.listen({ port, host: '127.0.0.1', backlog: 4096 }).catch((error) => {
    console.error(error);
    process.exit(1);
  });
}
