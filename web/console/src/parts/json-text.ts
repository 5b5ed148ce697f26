// JSON as text: places of values in it, and its lines, without building what it says. Numbers stay as
// they were written, however many digits they have.

const BACKSLASH = 92;
const QUOTE = 34;

/** The end of the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return text.length;
    let slashes = 0;
    while (text.charCodeAt(quote - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

/** The end of the value that begins at `start`; there is no blank before it. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
      if (depth === 0) return at;
      continue;
    }
    const char = text[at];
    if (char === "{" || char === "[") depth += 1;
    else if (char === "}" || char === "]") {
      if (depth === 0) return at;
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (depth === 0 && (char === "," || char === " " || char === "\n")) return at;
    at += 1;
  }
  return at;
}

function skipBlanks(text: string, start: number): number {
  let at = start;
  while (at < text.length && text.charCodeAt(at) <= 32) at += 1;
  return at;
}

/** The text of a member of the object that `text` holds, or `undefined`. */
export function memberText(text: string, name: string): string | undefined {
  let at = skipBlanks(text, 0);
  if (text[at] !== "{") return undefined;
  at = skipBlanks(text, at + 1);
  while (text.charCodeAt(at) === QUOTE) {
    const end = endOfString(text, at);
    const key = text.slice(at + 1, end - 1);
    const start = skipBlanks(text, skipBlanks(text, end) + 1);
    const stop = endOfValue(text, start);
    if (key === name) return text.slice(start, stop);
    at = skipBlanks(text, stop);
    if (text[at] !== ",") return undefined;
    at = skipBlanks(text, at + 1);
  }
  return undefined;
}

const INDENT_MAX = 200;
const INDENTS = Array.from({ length: INDENT_MAX + 1 }, (_, depth) => `\n${"  ".repeat(depth)}`);
const indentAt = (depth: number) => INDENTS[Math.min(depth, INDENT_MAX)] ?? "\n";

/** The same JSON over several lines, two blanks for each level; what is empty stays on its line. */
export function indentJson(text: string): string {
  const parts: string[] = [];
  let depth = 0;
  let at = 0;
  while (at < text.length) {
    const char = text[at] as string;
    if (char === '"') {
      const end = endOfString(text, at);
      parts.push(text.slice(at, end));
      at = end;
      continue;
    }
    at += 1;
    if (char === "{" || char === "[") {
      const next = skipBlanks(text, at);
      if (text[next] === "}" || text[next] === "]") {
        parts.push(char, text[next] as string);
        at = next + 1;
      } else {
        depth += 1;
        parts.push(char, indentAt(depth));
      }
    } else if (char === "}" || char === "]") {
      depth = Math.max(0, depth - 1);
      parts.push(indentAt(depth), char);
    } else if (char === ",") parts.push(",", indentAt(depth));
    else if (char === ":") parts.push(": ");
    else if (char > " ") {
      let end = at;
      while (end < text.length && !/[\s,:{}[\]"]/.test(text[end] as string)) end += 1;
      parts.push(text.slice(at - 1, end));
      at = end;
    }
  }
  return parts.join("");
}

/** Reads JSON; integers that a number cannot hold exactly are given as they were written. */
export function readJson(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  type Source = { source?: string };
  const keep = (_key: string, value: unknown, context?: Source) =>
    typeof value === "number" && context?.source && !Number.isSafeInteger(value) && /^-?\d+$/.test(context.source)
      ? new Numeral(context.source)
      : value;
  return JSON.parse(text, keep as (key: string, value: unknown) => unknown);
}

/** A number as it was written. */
export class Numeral {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text;
  }
}
