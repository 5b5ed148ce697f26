// Finding words in documents, stretch by stretch and in slices: a large one does not hold the page.

import type { Text } from "@codemirror/state";
import { inSlices } from "../parts/slices.ts";

/** Characters that are searched between two looks at the clock. */
const STRETCH_CHARS = 256 * 1024;

/** Matches `wanted` as it is written, in any letter case. */
export function patternOf(wanted: string): RegExp {
  return new RegExp(wanted.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "giu");
}

/** A stretch of a text. */
export interface Match {
  from: number;
  to: number;
}

/** Calls `found` with each match that begins between `from` and `to`, until it says `false`; gives whether all were seen. */
export async function search(
  doc: Text,
  wanted: string,
  { from, to }: Match,
  found: (match: Match) => boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const pattern = patternOf(wanted);
  let at = from;
  return inSlices(() => {
    const end = Math.min(to, at + STRETCH_CHARS);
    // A match may begin in this stretch and end in the next.
    const text = doc.sliceString(at, Math.min(doc.length, end + wanted.length - 1));
    let next = end;
    pattern.lastIndex = 0;
    for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
      const begin = at + match.index;
      if (begin >= end) break;
      next = Math.max(end, begin + match[0].length);
      if (!found({ from: begin, to: begin + match[0].length })) return false;
    }
    at = next;
    return at < to;
  }, signal);
}

/** The match that follows `at`, or goes before it; behind the last the first. */
export async function nextMatch(doc: Text, wanted: string, at: Match, isBackward: boolean, signal: AbortSignal): Promise<Match | undefined> {
  let result: Match | undefined;
  const first = (match: Match) => {
    result = match;
    return false;
  };
  const last = (match: Match) => {
    result = match;
    return true;
  };
  const before = { from: 0, to: at.from };
  const after = { from: at.to, to: doc.length };
  for (const stretch of isBackward ? [before, after] : [after, before]) {
    await search(doc, wanted, stretch, isBackward ? last : first, signal);
    if (result || signal.aborted) break;
  }
  // The one where the cursor stands may be the only one.
  if (!result) await search(doc, wanted, { from: at.from, to: doc.length }, first, signal);
  return signal.aborted ? undefined : result;
}
