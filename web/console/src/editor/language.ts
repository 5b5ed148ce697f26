// Colours of scripts and their brackets, by words. What the server knows of a name comes with its
// diagnostics, hovers and completions; no second grammar lives here.

import { LanguageSupport, StreamLanguage, type StreamParser, type StringStream } from "@codemirror/language";
import { tags } from "@lezer/highlight";
import { KEYWORDS } from "./words.ts";

interface State {
  /** The quote of the text that is open, or `*` in a block comment. */
  inside: string;
}

const WORD = /^[A-Za-z_$][\w$]*(?:[.:][A-Za-z_$][\w$]*)*/;

const parser: StreamParser<State> = {
  name: "qlio",
  startState: () => ({ inside: "" }),
  copyState: ({ inside }) => ({ inside }),
  token(stream, state) {
    if (state.inside === "*") {
      if (stream.skipTo("*/")) {
        stream.match("*/");
        state.inside = "";
      } else stream.skipToEnd();
      return "comment";
    }
    if (state.inside) return insideText(stream, state);
    if (stream.eatSpace()) return null;
    if (stream.match("--")) {
      stream.skipToEnd();
      return "comment";
    }
    if (stream.match("/*")) {
      state.inside = "*";
      return "comment";
    }
    const quote = stream.peek();
    if (quote === '"' || quote === "'") {
      stream.next();
      state.inside = quote;
      return "string";
    }
    if (stream.match(/^\{[=^#|]?[A-Za-z_$][^\s{}"':,]*\}/)) return "token";
    if (stream.match(/^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/)) return "number";
    const word = stream.match(WORD);
    if (word && word !== true) return roleOf(word[0] ?? "", stream);
    stream.next();
    return null;
  },
  languageData: {
    commentTokens: { line: "--", block: { open: "/*", close: "*/" } },
    closeBrackets: { brackets: ["(", "[", "{", "'", '"'] },
  },
  tokenTable: { token: tags.special(tags.variableName), name: tags.typeName, function: tags.function(tags.variableName) },
};

function insideText(stream: StringStream, state: State): string {
  if (stream.match(/^\{[^\s{}"']*\}/)) return "token";
  while (!stream.eol()) {
    const char = stream.next();
    if (char === "\\") stream.next();
    else if (char === state.inside) {
      state.inside = "";
      return "string";
    } else if (stream.peek() === "{") return "string";
  }
  return "string";
}

function roleOf(word: string, stream: StringStream): string | null {
  const rest = stream.string.slice(stream.pos);
  const isFirst = stream.string.slice(0, stream.start).trim() === "";
  if (isFirst && /^\s*=(?!=)/.test(rest)) return "variableName.definition";
  if (word === "true" || word === "false" || word === "null") return "atom";
  if (KEYWORDS.has(word)) return "keyword";
  if (/^\s*\(/.test(rest)) return "function";
  return word.includes(".") ? "name" : null;
}

export const qlio = new LanguageSupport(StreamLanguage.define(parser));
