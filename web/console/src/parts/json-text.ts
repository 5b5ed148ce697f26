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
const INDENTS = Array.from({ length: INDENT_MAX + 1 }, (_, depth) => "  ".repeat(depth));
const indentAt = (depth: number) => INDENTS[Math.min(depth, INDENT_MAX)] ?? "";

const isOpening = (char: string | undefined) => char === "{" || char === "[";
const isClosing = (char: string | undefined) => char === "}" || char === "]";

/** JSON line by line, two blanks for each level; what is empty stays on its line. */
export class JsonLines {
  private at = 0;
  private depth = 0;
  /** What the next line begins with; after the last there is none. */
  private begun: string | undefined = "";

  constructor(private readonly text: string) {}

  /** The next line; `undefined` behind the last. */
  next(): string | undefined {
    const { text } = this;
    let line = this.begun;
    if (line === undefined) return undefined;
    while (this.at < text.length) {
      const char = text[this.at] as string;
      if (char === '"') {
        const end = endOfString(text, this.at);
        line += text.slice(this.at, end);
        this.at = end;
        continue;
      }
      this.at += 1;
      if (char === ",") return this.breakLine(`${line},`);
      if (char === ":") line += ": ";
      else if (isOpening(char)) {
        const next = skipBlanks(text, this.at);
        const end = text[next];
        if (end === undefined || !isClosing(end)) {
          this.depth += 1;
          return this.breakLine(line + char);
        }
        line += char + end;
        this.at = next + 1;
      } else if (isClosing(char)) {
        this.depth = Math.max(0, this.depth - 1);
        return this.breakLine(line, char);
      } else if (char > " ") {
        const end = endOfWord(text, this.at);
        line += text.slice(this.at - 1, end);
        this.at = end;
      }
    }
    this.begun = undefined;
    return line;
  }

  private breakLine(line: string, next = ""): string {
    this.begun = indentAt(this.depth) + next;
    return line;
  }
}

const AFTER_WORD = /[\s,:{}[\]"]/g;

/** The end of the number or word that goes on at `start`. */
function endOfWord(text: string, start: number): number {
  AFTER_WORD.lastIndex = start;
  return AFTER_WORD.exec(text)?.index ?? text.length;
}

/** The same JSON over several lines. */
export function indentJson(text: string): string {
  const source = new JsonLines(text);
  const lines: string[] = [];
  for (let line = source.next(); line !== undefined; line = source.next()) lines.push(line);
  return lines.join("\n");
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
  /** Browsers that tell how a number was written can write it so, too. */
  toJSON(): unknown {
    return (JSON as { rawJSON?: (text: string) => unknown }).rawJSON?.(this.text) ?? this.text;
  }
  toString(): string {
    return this.text;
  }
}
