// The gutter of marks: what the statements of a run do, by their lines. Every mark has a shape and
// words, not only a colour. An edit takes them away, since lines are then others.

import { RangeSet, StateEffect, StateField, type Text } from "@codemirror/state";
import { type EditorView, GutterMarker, gutter } from "@codemirror/view";
import { shapeOf, wordOf } from "../plan/states.ts";
import type { Run, Statement, StatementState } from "../runs/run.ts";

export interface LineMark {
  line: number;
  state: StatementState;
  /** Milliseconds, if the statement is over. */
  elapsed: number | undefined;
  isNext: boolean;
}

class Mark extends GutterMarker {
  constructor(private readonly mark: LineMark) {
    super();
  }

  override eq(other: Mark): boolean {
    const { state, elapsed, isNext } = this.mark;
    return other.mark.state === state && other.mark.elapsed === elapsed && other.mark.isNext === isNext;
  }

  override toDOM(): Node {
    const { state, elapsed, isNext, line } = this.mark;
    const element = document.createElement("span");
    element.className = `mark mark-${isNext ? "next" : state}`;
    const time = elapsed === undefined || state === "skipped" ? "" : `${Math.round(elapsed)} ms`;
    element.textContent = isNext ? "▶ next" : time ? `${shapeOf(state)} ${time}` : shapeOf(state);
    element.title = `line ${line}: ${isNext ? "waits, next step" : wordOf(state)}${time ? `, ${time}` : ""}`;
    return element;
  }
}

const setMarks = StateEffect.define<RangeSet<Mark>>();

const field = StateField.define<RangeSet<Mark>>({
  create: () => RangeSet.empty,
  update(marks, transaction) {
    let next = transaction.docChanged ? RangeSet.empty : marks;
    for (const effect of transaction.effects) if (effect.is(setMarks)) next = effect.value;
    return next as RangeSet<Mark>;
  },
});

function marksOf(shown: readonly LineMark[], doc: Text): RangeSet<Mark> {
  const places = shown.filter(({ line }) => line >= 1 && line <= doc.lines);
  return RangeSet.of(
    places.map((mark) => new Mark(mark).range(doc.line(mark.line).from)),
    true,
  );
}

export const marks = [
  field,
  gutter({ class: "cm-marks", markers: (view) => view.state.field(field), initialSpacer: () => new Mark(WIDEST) }),
];

const WIDEST: LineMark = { line: 0, state: "done", elapsed: 999, isNext: false };

const RANK: Record<StatementState, number> = { failed: 6, running: 5, cancelled: 4, waiting: 3, done: 2, skipped: 1 };

/** One mark for each line; of several statements on a line the one that matters most. */
export function lineMarks(run: Run): LineMark[] {
  const byLine = new Map<number, Statement>();
  for (const statement of run.statements.values()) {
    const { line } = statement;
    if (line === undefined || statement.state === "waiting") continue;
    const shown = byLine.get(line);
    if (!shown || RANK[statement.state] > RANK[shown.state]) byLine.set(line, statement);
  }
  const result = [...byLine.values()].map(({ line, state, elapsed }) => ({
    line: line as number,
    state,
    elapsed,
    isNext: false,
  }));
  const next = run.pause?.waiting[0]?.line;
  if (next === undefined) return result;
  return [...result.filter(({ line }) => line !== next), { line: next, state: "waiting", elapsed: undefined, isNext: true }];
}

export function showMarks(view: EditorView, shown: readonly LineMark[]): void {
  const next = marksOf(shown, view.state.doc);
  // Most packets of a run change no mark, and a dispatch has the editor measured.
  if (!RangeSet.eq([next], [view.state.field(field)])) view.dispatch({ effects: setMarks.of(next) });
}
