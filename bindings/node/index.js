// qlio inside of a Node.js program. The work is done by threads of the module in `native/`; here are the shapes that
// programs see: promises, signals, iterators and errors.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** The module for this machine. */
function loadNative() {
  const name = `qlio.${process.platform}-${process.arch}.node`;
  const file = fileURLToPath(new URL(`./native/${name}`, import.meta.url));
  if (!existsSync(file)) {
    throw new Error(`@qlio/engine is not built for ${process.platform} on ${process.arch}: there is no native/${name}`);
  }
  return createRequire(import.meta.url)(file);
}

const native = loadNative();

/** A run without an answer. `kind` is `compile`, `run`, `timed-out`, `busy` or `closed`. */
export class QlioError extends Error {
  constructor({ kind, status, body }) {
    super(body.message ?? 'the run failed');
    this.name = 'QlioError';
    this.kind = kind;
    this.status = status;
    this.code = body.code;
    this.body = body;
  }
}

const headersOf = (flat) => {
  const headers = {};
  for (let at = 0; at < flat.length; at += 2) {
    const name = flat[at].toLowerCase();
    headers[name] = name in headers ? `${headers[name]}, ${flat[at + 1]}` : flat[at + 1];
  }
  return headers;
};

/** Waits for a run of the module, and gives it up when the signal says so. */
async function outcomeOf(run, signal) {
  const giveUp = () => run.cancel();
  signal?.addEventListener('abort', giveUp, { once: true });
  try {
    const outcome = await run.outcome();
    if (outcome.failure === undefined || outcome.failure === null) return outcome;
    const failure = JSON.parse(outcome.failure);
    if (failure.kind === 'cancelled') signal?.throwIfAborted();
    throw new QlioError(failure);
  } finally {
    signal?.removeEventListener('abort', giveUp);
  }
}

async function* eventsOf(next) {
  for (let event = await next(); event; event = await next()) {
    yield { name: event.name, data: JSON.parse(event.data) };
  }
}

/** A script under way: a promise of its answer, whose `events` can be read meanwhile. */
class Run extends Promise {
  static get [Symbol.species]() {
    return Promise;
  }
}

function beginRun(run, signal) {
  const answer = outcomeOf(run, signal).then(({ text, headers, warnings }) => ({
    body: JSON.parse(text),
    headers: headersOf(headers),
    warnings,
  }));
  const promise = new Run((resolve, reject) => answer.then(resolve, reject));
  promise.cancel = () => run.cancel();
  promise.events = eventsOf(() => run.nextEvent());
  return promise;
}

const jsonOf = (what) => JSON.stringify(what);

/** An app that is open: its tables, its routes, and threads that run scripts. */
export class Engine {
  #app;
  #closing;

  /** @param {object} options see `index.d.ts` */
  constructor(options = {}) {
    this.#app = new native.NativeApp(jsonOf(options));
  }

  /** The same, as a promise. */
  static async open(options) {
    return new Engine(options);
  }

  get warnings() {
    return this.#app.warnings;
  }

  get tables() {
    return this.#app.size[0];
  }

  get routes() {
    return this.#app.size[1];
  }

  get fingerprint() {
    return this.#app.fingerprint;
  }

  /** Runs a script. */
  exec(script, more = {}) {
    const { signal, ...said } = typeof script === 'string' ? { script, ...more } : script;
    signal?.throwIfAborted();
    return beginRun(this.#app.exec(jsonOf(said)), signal);
  }

  /** Asks a route, as a client would over HTTP. */
  async call(path, more = {}) {
    const { signal, body, ...said } = typeof path === 'string' ? { path, ...more } : path;
    signal?.throwIfAborted();
    const isBytes = body instanceof Uint8Array;
    const isText = typeof body === 'string';
    const text = isText ? body : jsonOf(body);
    const bytes = isBytes ? Buffer.from(body) : Buffer.from(body === undefined ? '' : text);
    if (body !== undefined && !isBytes && !isText) {
      const names = Object.keys(said.headers ?? {}).map((name) => name.toLowerCase());
      if (!names.includes('content-type')) {
        said.headers = { ...said.headers, 'content-type': 'application/json' };
      }
    }
    const { status, headers, bytes: answer } = await outcomeOf(
      this.#app.call(jsonOf(said), bytes),
      signal,
    );
    return {
      status,
      headers: headersOf(headers),
      body: answer,
      text: () => answer.toString('utf8'),
      json: () => JSON.parse(answer.toString('utf8')),
    };
  }

  /** What a server would write to its log. */
  notes() {
    return eventsOf(() => this.#app.nextNote());
  }

  /** Takes no more runs, lets those under way go on for `graceMs`, then gives them up. */
  close({ graceMs = 5000 } = {}) {
    this.#closing ??= this.#app.close(graceMs);
    return this.#closing;
  }

  async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
    await this.close();
  }
}
