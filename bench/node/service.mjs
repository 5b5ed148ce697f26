// The work of all scenarios as a careful Node author would write it by hand: Fastify in front,
// an undici pool behind, one process per core.
//
// Usage: node service.mjs PORT UPSTREAM_PORT WORKERS SCHEMA

import cluster from 'node:cluster';

import { XMLParser } from 'fast-xml-parser';
import Fastify from 'fastify';
import protobuf from 'protobufjs';
import { Pool } from 'undici';

const [port, upstreamPort, workers] = process.argv.slice(2, 5).map(Number);
const schemaFile = process.argv[5];

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

  // B and G: three columns of every row.
  const columnsOf = (path) => async (request) => {
    const { results } = await fetchJson(`${path}?q=${encodeURIComponent(request.query.q)}`);
    return results.map((row) => ({ id: row.id, user_name: row.from_user_name, text: row.text }));
  };
  app.get('/b', columnsOf('/search'));
  app.get('/g', columnsOf('/large'));

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

  // J, E and F: the rows of a search answered as JSON, XML and Protocol Buffers; all of each row, or
  // three columns.
  const xml = new XMLParser({
    ignoreAttributes: false,
    attributeNamePrefix: '',
    textNodeName: '$t',
    parseAttributeValue: true,
    numberParseOptions: { hex: false, leadingZeros: false, eNotation: false },
  });
  const FindResponse = protobuf.loadSync(schemaFile).lookupType('market.search.FindResponse');
  const price = (value) => Math.round(value * 100) / 100;
  const wanted = ({ title, location, viewItemUrl }) => ({ title, location, viewItemUrl });
  const search = (suffix, request) => fetch(`/formats/rows.${suffix}?q=${encodeURIComponent(request.query.q)}`);

  const readers = {
    j: async (request) => (await (await search('json', request)).json()).searchResult.item,
    e: async (request) => {
      const document = xml.parse(await (await search('xml', request)).text());
      return document['soap:Envelope']['soap:Body'].findResponse.searchResult.item;
    },
    f: async (request) => {
      const message = FindResponse.decode(new Uint8Array(await (await search('protobuf', request)).arrayBuffer()));
      return message.searchResult.item;
    },
  };
  // Prices are 32-bit floats in the message; JSON needs the decimals that were meant.
  const plain = (item) => {
    const row = item.toJSON();
    for (const [part, name] of [
      ['shippingInfo', 'shippingCost'],
      ['sellingStatus', 'currentPrice'],
      ['sellingStatus', 'convertedPrice'],
      ['listingInfo', 'buyNowPrice'],
    ]) {
      if (row[part]?.[name] !== undefined) row[part][name] = price(row[part][name]);
    }
    return row;
  };
  for (const [name, read] of Object.entries(readers)) {
    app.get(`/${name}`, async (request) => {
      const items = await read(request);
      return [{ items: name === 'f' ? items.map(plain) : items }];
    });
    app.get(`/${name}3`, async (request) => (await read(request)).map(wanted));
  }

  // Growth: one call, then one for each id; columns of many rows; two lists joined.
  app.get('/fan', async (request) => {
    const { ids } = await fetchJson(`/ids?n=${request.query.n}`);
    const rows = await Promise.all(ids.map(({ id }) => fetchJson(`/cell?id=${encodeURIComponent(id)}`)));
    return rows.map((row) => ({ id: row.id, count: row.Count }));
  });
  app.get('/rows', async (request) => {
    const { rows } = await fetchJson(`/rows?n=${request.query.n}`);
    return rows.map(({ id, price }) => ({ id, price }));
  });
  app.get('/join', async (request) => {
    const [{ rows }, { ratings }] = await Promise.all(
      ['rows', 'ratings'].map((name) => fetchJson(`/${name}?n=${request.query.n}`)),
    );
    const byId = new Map(ratings.map(({ id, rating }) => [id, rating]));
    return rows
      .filter(({ id }) => byId.has(id))
      .map(({ id, price }) => ({ id, price, rating: byId.get(id) }));
  });

  app.listen({ port, host: '127.0.0.1', backlog: 4096 }).catch((error) => {
    console.error(error);
    process.exit(1);
  });
}
