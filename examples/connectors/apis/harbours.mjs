// A connector for qlio in Node.js, of its own modules alone: harbours, sent line by line.
//
//     node harbours.mjs 127.0.0.1:7072
//     node harbours.mjs unix:/run/harbours.sock
//
// docs/reference/connector-protocol.md describes the two requests that it answers.

import { createServer } from 'node:http';
import { existsSync, unlinkSync } from 'node:fs';

const REQUEST_BYTES_MAX = 1 << 20;

const HARBOURS = [
    { harbour: 'Brest', country: 'France', depth: 12.5 },
    { harbour: 'Rochefort', country: 'France', depth: 6 },
    { harbour: 'Nantes', country: 'France', depth: 9.3 },
    { harbour: 'Oban', country: 'Scotland', depth: 10 },
];

const DESCRIPTION = {
    protocol: 1,
    name: 'harbours',
    verbs: {
        find: {
            kinds: ['select'],
            parameters: { country: { type: 'text', about: 'Only those of this country.' } },
            columns: {
                harbour: { type: 'text', tests: ['='] },
                country: { type: 'text' },
                depth: { type: 'number', tests: ['>=', '<='] },
            },
            pushes: ['columns', 'limit'],
        },
    },
};

const TESTS = {
    '=': (a, b) => a === b,
    in: (a, b) => b.includes(a),
    '>=': (a, b) => a >= b,
    '<=': (a, b) => a <= b,
};

function* find({ parameters = {}, tests = [], columns, limit = Infinity }) {
    let sent = 0;
    for (const row of HARBOURS) {
        if (sent >= limit) { return; }
        if (parameters.country !== undefined && row.country !== parameters.country) { continue; }
        if (!tests.every(({ column, test, value }) => TESTS[test](row[column], value))) { continue; }
        yield columns ? Object.fromEntries(columns.map((name) => [name, row[name]])) : row;
        sent += 1;
    }
}

function refuse(response, status, message) {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message, status } }));
}

async function body(request) {
    let text = '';
    for await (const piece of request.setEncoding('utf8')) {
        text += piece;
        if (text.length > REQUEST_BYTES_MAX) { throw new RangeError('the request is too long'); }
    }
    return JSON.parse(text);
}

const server = createServer(async (request, response) => {
    if (request.method === 'GET' && request.url === '/describe') {
        response.writeHead(200, { 'content-type': 'application/json' });
        return response.end(JSON.stringify(DESCRIPTION));
    }
    if (request.method !== 'POST' || request.url !== '/execute') {
        return refuse(response, 404, 'only /describe and /execute are here');
    }
    try {
        const asked = await body(request);
        if (asked.verb !== 'find') { return refuse(response, 404, `there is no verb \`${asked.verb}\``); }
        response.writeHead(200, { 'content-type': 'application/x-ndjson' });
        for (const row of find(asked)) { response.write(JSON.stringify({ row }) + '\n'); }
        // Without this line qlio would take the answer for one that was cut off.
        response.end(JSON.stringify({ end: true }) + '\n');
    } catch (error) {
        if (response.headersSent) {
            response.end(JSON.stringify({ error: { message: error.message } }) + '\n');
        } else {
            refuse(response, 400, error.message);
        }
    }
});

const place = process.argv[2] ?? '127.0.0.1:7072';
if (place.startsWith('unix:')) {
    const path = place.slice('unix:'.length);
    if (existsSync(path)) { unlinkSync(path); }
    server.listen(path, () => console.log(`unix:${path}`));
} else {
    const [host, port] = place.split(':');
    server.listen(Number(port), host, () => console.log(`http://${host}:${server.address().port}`));
}
