// The messages of the server, as docs/reference/websocket.md and trace.md describe them.

export interface Header {
  name: string;
  value: string;
}

export interface Timings {
  blocked: number;
  dns: number;
  connect: number;
  send: number;
  wait: number;
  receive: number;
}

/** What all packets of a statement say. */
interface OfStatement {
  line?: number;
  node?: string;
}

export interface RequestPacket extends OfStatement {
  id: string;
  method: string;
  uri: string;
  headers: Header[];
  start: number;
  body?: string;
  bodyTruncated?: boolean;
  table?: string;
  cause?: "retry" | "redirect" | "token";
}

export interface ResponsePacket extends OfStatement {
  id: string;
  status: number;
  statusText: string;
  headers: Header[];
  time: number;
  body?: string;
  bodyTruncated?: boolean;
  bodySize?: number;
  timings: Timings;
  exact?: Timings & { time: number };
  cached?: boolean;
  method?: string;
  uri?: string;
  table?: string;
}

export interface RequestErrorPacket extends OfStatement {
  id: string;
  error: string;
  time: number;
}

export interface EndPacket extends OfStatement {
  elapsed: number;
  exact?: { elapsed: number };
  /** Of a statement that gave a list. */
  rows?: number;
  cancelled?: boolean;
}

export interface DebugPacket {
  context: Record<string, unknown>;
  emitterID: number;
  waiting?: { node: string; line?: number }[];
}

/** The body of an error answer. */
export interface ErrorBody {
  message?: string;
  name?: string;
  code?: string;
  line?: number;
  column?: number;
  hint?: string;
  [member: string]: unknown;
}

export interface PlanNode {
  id: string;
  line?: number;
  kind: string;
  assign?: string;
  tables?: string[];
  label?: string;
  depth: number;
  row: number;
  sources?: { table: string; requestsMax?: number; because?: string }[];
  /** Nobody wrote it, and no packets come for it. */
  standsIn?: boolean;
  fallbackOf?: string;
  scope?: { block: string; branch: string };
}

export interface Plan {
  nodes: PlanNode[];
  edges: { from: string; to: string; kind: string }[];
  levels?: string[][];
  summary?: string;
  /** The most calls there can be, or where that depends on data, the fewest. */
  requests?: { most?: number; least?: number; perStatement?: number };
}

/** What a script came to. */
export interface ResultHead {
  headers: Record<string, string>;
  url?: string;
  bytes?: number;
}

/** Events that a run asks for; assignments of variables are not among them. */
export const EVENTS = [
  "ack",
  "plan",
  "compile-error",
  "statement-in-flight",
  "statement-skipped",
  "statement-request",
  "statement-response",
  "statement-request-error",
  "statement-success",
  "statement-error",
  "warning",
  "ql.io-debug",
  "script-done",
] as const;

/** Comes in development mode when the files of the app have changed, whatever runs. */
export const RELOADED = "app-reloaded";

/** An event of a run, with its packet. */
export interface Packet {
  type: string;
  data: unknown;
}
