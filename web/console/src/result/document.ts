// Texts as documents of CodeMirror, made in slices: a large one does not hold the page.

import { Text } from "@codemirror/state";
import { JsonLines } from "../parts/json-text.ts";
import { inSlices } from "../parts/slices.ts";

/** Texts above this are shown in part; all of it can be saved. */
const SHOWN_CHARS_MAX = 20_000_000;

/** Lines that are made between two looks at the clock. */
const LINES_PER_STEP = 1_000;

/** Lines of a text as they are, whatever ends them. */
class PlainLines {
  private readonly end = /\r\n?|\n/g;
  private isOver = false;

  constructor(private readonly text: string) {}

  /** The next line; `undefined` behind the last. */
  next(): string | undefined {
    if (this.isOver) return undefined;
    const from = this.end.lastIndex;
    const found = this.end.exec(this.text);
    this.isOver = found === null;
    return this.text.slice(from, found?.index);
  }
}

export interface Made {
  doc: Text;
  /** It is the beginning only. */
  isCut: boolean;
}

/** The document of a text, JSON with a line for each value; nothing if `signal` is given before it is made. */
export async function documentOf(text: string, isJson: boolean, signal: AbortSignal): Promise<Made | undefined> {
  const source = isJson ? new JsonLines(text) : new PlainLines(text);
  let doc: Text | undefined;
  let room = SHOWN_CHARS_MAX;
  let isOver = false;
  const step = () => {
    // What is appended goes on in the last line, so it begins with the end of that.
    const lines = doc ? [""] : [];
    while (lines.length < LINES_PER_STEP && room > 0) {
      const line = source.next();
      isOver = line === undefined;
      if (line === undefined) break;
      lines.push(line.slice(0, room));
      room -= line.length + 1;
    }
    if (lines.length > (doc ? 1 : 0)) doc = doc ? doc.append(Text.of(lines)) : Text.of(lines);
    return !isOver && room > 0;
  };
  if (!(await inSlices(step, signal))) return undefined;
  const isLineCut = room < -1;
  return { doc: doc ?? Text.empty, isCut: isLineCut || (!isOver && source.next() !== undefined) };
}
