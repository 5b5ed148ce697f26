// The language server inside of the extension: WebAssembly, asked by calls.
//
// In: bytes of the module, files of the app, messages as objects. Out: messages as objects. It runs where
// the extension runs, as an answer takes a few milliseconds; what was put off is done when no message waits.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The server, with its memory. */
export class Inside {
  #module;

  /** @param {BufferSource} bytes of the WebAssembly module */
  static async load(bytes) {
    const { instance } = await WebAssembly.instantiate(bytes, {});
    return new Inside(instance.exports);
  }

  constructor(module) {
    this.#module = module;
  }

  /** Hands a file in; false if all files together would be too large. */
  put(uri, bytes) {
    return this.#with([encoder.encode(uri), bytes], (...parts) => this.#module.put_file(...parts)) === 1;
  }

  /** Takes a file back, or a folder with all that lies below it. */
  remove(uri) {
    this.#with([encoder.encode(uri)], (...parts) => this.#module.remove_file(...parts));
  }

  /** The messages that answer one. */
  handle(message) {
    const text = encoder.encode(JSON.stringify(message));
    return this.#read(this.#with([text], (...parts) => this.#module.handle(...parts)));
  }

  /** The messages of what was put off. */
  settle() {
    return this.#read(this.#module.settle());
  }

  #with(texts, call) {
    const places = texts.map((bytes) => {
      const start = this.#module.alloc(bytes.length) >>> 0;
      new Uint8Array(this.#module.memory.buffer, start, bytes.length).set(bytes);
      return [start, bytes.length];
    });
    try {
      return call(...places.flat());
    } finally {
      for (const [start, length] of places) this.#module.free(start, length);
    }
  }

  #read(answer) {
    const place = BigInt.asUintN(64, answer);
    const [start, length] = [Number(place >> 32n), Number(place & 0xffffffffn)];
    const text = decoder.decode(new Uint8Array(this.#module.memory.buffer, start, length));
    this.#module.free(start, length);
    return JSON.parse(text).map((message) => JSON.parse(message));
  }
}

/** A conversation with the server, as the client library wants it: one who reads, one who writes. */
export class Conversation {
  #server;
  #heard = () => {};
  #failed = new Set();
  #settling = false;

  /**
   * @param {Inside} server
   * @param {(then: () => void) => void} later calls back when no message waits
   */
  constructor(server, later = (then) => setTimeout(then, 0)) {
    this.#server = server;
    this.later = later;
    const never = () => ({ dispose() {} });
    this.reader = {
      onError: (listener) => {
        this.#failed.add(listener);
        return { dispose: () => this.#failed.delete(listener) };
      },
      onClose: never,
      onPartialMessage: never,
      listen: (callback) => {
        this.#heard = callback;
        return { dispose: () => { this.#heard = () => {}; } };
      },
      dispose() {},
    };
    this.writer = {
      onError: never,
      onClose: never,
      write: async (message) => this.#say(() => this.#server.handle(message)),
      end() {},
      dispose() {},
    };
  }

  /** Has problems found again, as the app's files are others now. */
  settle() {
    if (this.#settling) return;
    this.#settling = true;
    this.later(() => {
      this.#settling = false;
      this.#tell(() => this.#server.settle());
    });
  }

  #say(answer) {
    this.#tell(answer);
    this.settle();
  }

  #tell(answer) {
    try {
      for (const message of answer()) this.#heard(message);
    } catch (error) {
      for (const listener of this.#failed) listener(error);
    }
  }
}
