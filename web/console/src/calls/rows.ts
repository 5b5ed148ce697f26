// Exchanges as rows: those of one statement that are many are one row until it is opened.

import type { Exchange } from "../runs/run.ts";

export type CallRow =
  | { kind: "group"; key: string; exchanges: Exchange[]; isOpen: boolean }
  | { kind: "call"; key: string; exchange: Exchange; isInGroup: boolean };

/** A statement with more exchanges than this is a group. */
const GROUP_MIN = 6;

export function rowsOf(exchanges: readonly Exchange[], opened: ReadonlySet<string>, filter: string): CallRow[] {
  const words = filter.trim().toLowerCase();
  const shown = words ? exchanges.filter((exchange) => matches(exchange, words)) : exchanges;
  const byStatement = new Map<string, Exchange[]>();
  for (const exchange of shown) {
    const key = exchange.node ?? (exchange.line === undefined ? exchange.id : `line ${exchange.line}`);
    const same = byStatement.get(key);
    if (same) same.push(exchange);
    else byStatement.set(key, [exchange]);
  }
  const rows: CallRow[] = [];
  for (const [key, same] of byStatement) {
    const isGroup = same.length > GROUP_MIN;
    const isOpen = opened.has(key);
    if (isGroup) rows.push({ kind: "group", key, exchanges: same, isOpen });
    if (isGroup && !isOpen) continue;
    for (const exchange of same) rows.push({ kind: "call", key: exchange.id, exchange, isInGroup: isGroup });
  }
  return rows;
}

function matches({ method, cause, isCached, uri, status, error }: Exchange, words: string): boolean {
  const kind = cause ?? (isCached ? "cache" : "");
  return `${method} ${kind} ${uri} ${status ?? ""} ${error ?? ""}`.toLowerCase().includes(words);
}

export type Outcome = "open" | "ok" | "bad" | "cached";

export function outcomeOf({ status, error, isCached }: Exchange): Outcome {
  if (error !== undefined || (status !== undefined && status >= 400)) return "bad";
  if (isCached) return "cached";
  return status === undefined ? "open" : "ok";
}
