/** The app to open. What is absent is looked for in its folder. */
export interface EngineOptions {
  /** Folder of the app; default the current one. */
  app?: string;
  tables?: string;
  routes?: string;
  connectors?: string;
  xformers?: string;
  /** A settings file, or the settings themselves. */
  config?: string | Record<string, unknown>;
  /** Threads that run scripts; default one for each core. */
  threads?: number;
  /** Most runs under way at once; default 1024. */
  maxRuns?: number;
}

/** The request that a script sees. */
export interface ScriptRequest {
  params?: Record<string, unknown>;
  headers?: Record<string, string | string[]>;
  routeParams?: Record<string, unknown>;
  body?: unknown;
}

export interface ExecOptions {
  /** How errors call the script. */
  name?: string;
  /** Variables that the script may use, also as sources. */
  context?: Record<string, unknown>;
  request?: ScriptRequest;
  /** `client` for a text that is not the program's own: it may do what a script sent to `/q` may. Default `app`. */
  trust?: 'app' | 'client';
  /** `true`, or names of events and variables. */
  events?: boolean | string[];
  timeoutMs?: number;
  signal?: AbortSignal;
}

export interface Answer {
  body: any;
  headers: Record<string, string>;
  warnings: string[];
}

export interface RunEvent {
  name: string;
  data: any;
}

/** A script under way. */
export interface Run extends Promise<Answer> {
  /** What happens meanwhile; ends with the run. */
  readonly events: AsyncIterableIterator<RunEvent>;
  /** Gives it up: the promise is rejected with kind `cancelled`. */
  cancel(): void;
}

export interface CallOptions {
  method?: string;
  headers?: Record<string, string | string[]>;
  /** Bytes and text are sent as they are, anything else as JSON. */
  body?: unknown;
  timeoutMs?: number;
  signal?: AbortSignal;
}

export interface CallAnswer {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
  text(): string;
  json(): any;
}

export class QlioError extends Error {
  readonly kind: 'compile' | 'run' | 'cancelled' | 'timed-out' | 'busy' | 'closed';
  /** The status that a client would be answered with over HTTP. */
  readonly status: number;
  /** The number of its page in the documentation. */
  readonly code?: string;
  readonly body: Record<string, any>;
}

export class Engine {
  /** Loads an app; reads files and waits for it. Throws with all that is wrong. */
  constructor(options?: EngineOptions);
  static open(options?: EngineOptions): Promise<Engine>;
  /** What is odd about the files of the app. */
  readonly warnings: string[];
  /** The number of tables. */
  readonly tables: number;
  /** The number of routes. */
  readonly routes: number;
  /** Tells this catalog from any other. */
  readonly fingerprint: string;
  exec(script: string, options?: ExecOptions): Run;
  exec(options: ExecOptions & { script: string }): Run;
  call(path: string, options?: CallOptions): Promise<CallAnswer>;
  call(options: CallOptions & { path: string }): Promise<CallAnswer>;
  /** What a server would write to its log: incidents, failures of the cache. */
  notes(): AsyncIterableIterator<RunEvent>;
  close(options?: { graceMs?: number }): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
