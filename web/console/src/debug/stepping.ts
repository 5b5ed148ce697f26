// Step-by-step runs: going on to a line.

import { effect } from "@preact/signals";
import { current, step } from "../runs/runs.ts";

export function isStepping(): boolean {
  return current.peek()?.pause !== undefined;
}

/** The line at which to stop, and the run that goes there. */
let target: { line: number; run: number } | undefined;

/** Goes on until a statement of `line` is next, or to the end. */
export function runTo(line: number): void {
  const run = current.peek();
  if (!run?.pause) return;
  target = { line, run: run.number };
  step();
}

/** Makes the steps towards the line that was asked for. */
export function followTarget(): void {
  effect(() => {
    const run = current.value;
    void run?.revision.value;
    const next = run?.pause?.waiting[0];
    if (!target || !run || run.number !== target.run || run.isOver) {
      if (run?.isOver) target = undefined;
      return;
    }
    if (!next) return;
    const here = run.pause?.waiting.find(({ line }) => line === target?.line);
    if (here) {
      target = undefined;
      return;
    }
    queueMicrotask(() => step());
  });
}
