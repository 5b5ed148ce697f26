// Where the bars of exchanges begin and end, and their sums.

import { type Exchange, PHASES, type Phase } from "../runs/run.ts";

export interface Span {
  /** Milliseconds since 1970 of the earliest start and the latest end. */
  from: number;
  to: number;
}

export function spanOf(exchanges: readonly Exchange[]): Span {
  let from = Number.POSITIVE_INFINITY;
  let to = 0;
  for (const { start, time = 0 } of exchanges) {
    if (start === undefined) continue;
    from = Math.min(from, start);
    to = Math.max(to, start + time);
  }
  return from === Number.POSITIVE_INFINITY ? { from: 0, to: 1 } : { from, to: Math.max(to, from + 1) };
}

/** The phases that took place, in their order, with their lengths in milliseconds. */
export function phasesOf({ timings }: Exchange): { phase: Phase; length: number }[] {
  if (!timings) return [];
  return PHASES.map((phase) => ({ phase, length: timings[phase] })).filter(({ length }) => length > 0);
}

export interface Totals {
  count: number;
  bytesOut: number;
  bytesIn: number;
  wall: number;
  sum: number;
}

export function totalsOf(exchanges: readonly Exchange[]): Totals {
  const { from, to } = spanOf(exchanges);
  const sent = exchanges.filter(({ start }) => start !== undefined);
  const add = (measure: (exchange: Exchange) => number) => sent.reduce((sum, exchange) => sum + measure(exchange), 0);
  return {
    count: exchanges.length,
    bytesOut: add(bytesOut),
    bytesIn: add(({ bodySize = 0 }) => Math.max(0, bodySize)),
    wall: sent.length > 0 ? to - from : 0,
    sum: add(({ time = 0 }) => time),
  };
}

const encoder = new TextEncoder();

/** The bytes of a request's body. */
export function bytesOut({ requestHeaders, requestBody }: Exchange): number {
  const told = requestHeaders.find(({ name }) => name.toLowerCase() === "content-length")?.value;
  if (told !== undefined && /^\d+$/.test(told)) return Number(told);
  return requestBody === undefined ? 0 : encoder.encode(requestBody).length;
}

export function bytesText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
