// One run of a script: what is known of it so far, as plain data that packets change.

import { signal } from "@preact/signals";
import type { EndPacket, ErrorBody, Header, Plan, Timings } from "../server/packets.ts";

export type StatementState = "waiting" | "running" | "done" | "failed" | "skipped" | "cancelled";

export interface Statement {
  node: string;
  line: number | undefined;
  state: StatementState;
  /** Milliseconds after the start of the run. */
  started?: number;
  elapsed?: number;
  /** How many rows it gave, if it gave a list. */
  rows?: number | undefined;
  asked: number;
  answered: number;
}

export type Phase = keyof Timings;
export const PHASES: readonly Phase[] = ["blocked", "dns", "connect", "send", "wait", "receive"];

export interface Exchange {
  id: string;
  node: string | undefined;
  line: number | undefined;
  method: string;
  uri: string;
  requestHeaders: Header[];
  requestBody?: string;
  /** Bytes of the request's body. */
  bytesOut: number;
  /** Milliseconds since 1970; `undefined` for an answer of the cache. */
  start: number | undefined;
  cause?: string;
  status?: number;
  statusText?: string;
  responseHeaders?: Header[];
  responseBody?: string;
  isBodyCut?: boolean;
  bodySize?: number;
  time?: number;
  timings?: Timings;
  error?: string;
  isCached: boolean;
}

export type RunState = "running" | "done" | "failed" | "cancelled" | "lost";

export interface Result {
  type: string;
  headers: Record<string, string>;
  /** The body as it came: JSON text where the type is JSON, else the text itself. */
  text: string;
}

/** Where a step-by-step run stands. */
export interface Pause {
  session: number;
  step: number;
  waiting: { node: string | undefined; line: number | undefined }[];
  variables: Record<string, unknown>;
  /** Names whose values are not those of the step before. */
  changed: Set<string>;
}

/** A run that goes on is drawn again after so long. */
const DRAW_PAUSE_MS = 50;

/** Packets of one run that are kept as exchanges; what comes later is counted only. */
export const EXCHANGES_MAX = 20_000;

export class Run {
  state: RunState = "running";
  readonly startedAt = Date.now();
  private readonly clock = performance.now();
  elapsed: number | undefined;
  readonly statements = new Map<string, Statement>();
  readonly exchanges: Exchange[] = [];
  readonly exchangeOf = new Map<string, Exchange>();
  exchangesLeftOut = 0;
  /** Those of them that have no answer yet, by id: it is not the answer of a cache. */
  readonly askedBeyond = new Set<string>();
  plan: Plan | undefined;
  result: Result | undefined;
  problem: ErrorBody | undefined;
  warnings: { line: number | undefined; text: string }[] = [];
  pause: Pause | undefined;
  /** Counts changes; read it to be drawn again. */
  readonly revision = signal(0);
  private isAnnounced = false;
  private announcedAt = Number.NEGATIVE_INFINITY;

  constructor(
    readonly number: number,
    readonly script: string,
    readonly text: string,
    readonly isDebug: boolean,
  ) {}

  get isOver(): boolean {
    return this.state !== "running";
  }

  /** Milliseconds since the start. */
  now(): number {
    return performance.now() - this.clock;
  }

  /** Has views drawn again with the next frame, but not as often as packets come. */
  announce(): void {
    if (this.isAnnounced) return;
    this.isAnnounced = true;
    const draw = () =>
      requestAnimationFrame(() => {
        this.isAnnounced = false;
        this.announcedAt = performance.now();
        this.revision.value += 1;
      });
    const rest = this.announcedAt + DRAW_PAUSE_MS - performance.now();
    if (rest > 0 && !this.isOver) setTimeout(draw, rest);
    else draw();
  }

  end(state: RunState): void {
    if (this.isOver) return;
    this.state = state;
    this.elapsed ??= this.now();
    this.pause = undefined;
    const rest: StatementState = state === "done" ? "skipped" : "cancelled";
    for (const statement of this.statements.values()) {
      if (statement.state === "waiting") statement.state = "skipped";
      if (statement.state === "running") statement.state = rest;
    }
    this.announce();
  }
}

/** Exact milliseconds of a packet, else its whole ones. */
export function elapsedOf(packet: EndPacket): number {
  return packet.exact?.elapsed ?? packet.elapsed;
}
