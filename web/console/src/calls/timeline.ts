// Where the bars of exchanges begin and end, and their sums.

import { type Exchange, PHASES, type Phase } from "../runs/run.ts";
import type { Header } from "../server/packets.ts";

export interface Span {
  /** Milliseconds since 1970 of the earliest start and the latest end. */
  from: number;
  to: number;
}

/** The phases that took place, in their order, with their lengths in milliseconds. */
export function phasesOf({ timings }: Exchange): { phase: Phase; length: number }[] {
  if (!timings) return [];
  return PHASES.map((phase) => ({ phase, length: timings[phase] })).filter(({ length }) => length > 0);
}

export interface Totals extends Span {
  count: number;
  bytesOut: number;
  bytesIn: number;
  wall: number;
  sum: number;
}

/** Made with each drawing of thousands of exchanges, so in one pass. */
export function totalsOf(exchanges: readonly Exchange[]): Totals {
  let from = Number.POSITIVE_INFINITY;
  let to = 0;
  let bytesOut = 0;
  let bytesIn = 0;
  let sum = 0;
  for (const exchange of exchanges) {
    const { start, time = 0, bodySize = 0 } = exchange;
    // Answers of the cache were not sent.
    if (start === undefined) continue;
    from = Math.min(from, start);
    to = Math.max(to, start + time);
    bytesOut += exchange.bytesOut;
    bytesIn += Math.max(0, bodySize);
    sum += time;
  }
  const count = exchanges.length;
  if (to === 0) return { count, bytesOut, bytesIn, sum, from: 0, to: 1, wall: 0 };
  to = Math.max(to, from + 1);
  return { count, bytesOut, bytesIn, sum, from, to, wall: to - from };
}

const encoder = new TextEncoder();

/** The bytes of a request's body. */
export function bytesOf(headers: readonly Header[], body: string | undefined): number {
  const told = headers.find(({ name }) => name.toLowerCase() === "content-length")?.value;
  if (told !== undefined && /^\d+$/.test(told)) return Number(told);
  return body === undefined ? 0 : bytesIn(body);
}

export function bytesIn(text: string): number {
  return encoder.encode(text).length;
}

export function callsText(count: number): string {
  return `${count} ${count === 1 ? "call" : "calls"}`;
}

export function bytesText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
