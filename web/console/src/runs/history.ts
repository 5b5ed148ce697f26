// The last runs, kept over reloads: what was run, when, how long, how it ended. Pinned ones stay.

import { signal } from "@preact/signals";
import { read, write } from "../scripts/storage.ts";
import type { Exchange, Run, RunState } from "./run.ts";

export interface Past {
  id: string;
  text: string;
  at: number;
  elapsed: number;
  state: RunState;
  calls: number;
  isPinned: boolean;
}

const RUNS_MAX = 200;
/** Texts of all remembered runs together; the oldest that are not pinned go first. */
const TEXT_CHARS_MAX = 1 << 20;
/** Exchanges of so many runs are kept, for comparing, as long as the page lives. */
const COMPARABLE_MAX = 20;

const KEY = "qlio.history";

export const history = signal<Past[]>(read<Past[]>(KEY, Array.isArray) ?? []);

/** Exchanges of runs of this page, by id. */
const exchangesOf = new Map<string, readonly Exchange[]>();

export function remember(run: Run): void {
  const id = `${run.startedAt}-${run.number}`;
  exchangesOf.set(id, run.exchanges);
  for (const oldest of exchangesOf.keys()) {
    if (exchangesOf.size <= COMPARABLE_MAX) break;
    exchangesOf.delete(oldest);
  }
  const past: Past = {
    id,
    text: run.text,
    at: run.startedAt,
    elapsed: run.elapsed ?? 0,
    state: run.state,
    calls: run.exchanges.length + run.exchangesLeftOut,
    isPinned: false,
  };
  save([past, ...(read<Past[]>(KEY, Array.isArray) ?? history.peek())]);
}

export function exchangesOfPast(id: string): readonly Exchange[] | undefined {
  return exchangesOf.get(id);
}

export function pin(id: string, isPinned: boolean): void {
  save(history.peek().map((past) => (past.id === id ? { ...past, isPinned } : past)));
}

export function forgetAll(): void {
  save(history.peek().filter(({ isPinned }) => isPinned));
}

function save(runs: Past[]): void {
  let chars = 0;
  const kept = runs
    .sort((a, b) => Number(b.isPinned) - Number(a.isPinned) || b.at - a.at)
    .filter(({ text }, place) => {
      chars += text.length;
      return place < RUNS_MAX && chars <= TEXT_CHARS_MAX;
    })
    .sort((a, b) => b.at - a.at);
  history.value = kept;
  write(KEY, kept);
}
