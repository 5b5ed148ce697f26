// What the states of statements are called and drawn as.

import type { StatementState } from "../runs/run.ts";

const SHAPES: Record<StatementState, string> = {
  waiting: "●",
  running: "◐",
  done: "✓",
  failed: "✕",
  skipped: "↷",
  cancelled: "■",
};

const WORDS: Record<StatementState, string> = {
  waiting: "waits",
  running: "runs",
  done: "done",
  failed: "failed",
  skipped: "skipped",
  cancelled: "stopped",
};

export const shapeOf = (state: StatementState): string => SHAPES[state];
export const wordOf = (state: StatementState): string => WORDS[state];
