// Colours of code: classes that the style sheet knows, as the policy of the pages allows no inline style.
// Scripts are read by the grammar that editors get (editors/qlio.tmLanguage.json).

import { readFileSync } from "node:fs";
import { createHighlighter } from "shiki";

const grammar = JSON.parse(readFileSync(new URL("../../../editors/qlio.tmLanguage.json", import.meta.url), "utf8"));

/** Scopes of grammars by the class that shows them; a later line wins over an earlier one. */
const SCOPES = [
  ["keyword", ["keyword", "storage"]],
  ["string", ["string", "markup.inline"]],
  ["number", ["constant"]],
  ["comment", ["comment", "punctuation.definition.comment"]],
  ["name", ["support.type.property-name", "entity.name.tag", "support.function", "entity.name.function", "entity.name.section"]],
  ["token", ["string variable", "variable.parameter"]],
];
const colourOf = (place) => `#${(place + 1).toString(16).padStart(6, "0")}`;
const CLASSES = new Map(SCOPES.map(([name], place) => [colourOf(place), name]));
const theme = {
  name: "classes",
  type: "light",
  colors: { "editor.foreground": "#ffffff", "editor.background": "#eeeeee" },
  settings: SCOPES.map(([, scope], place) => ({ scope, settings: { foreground: colourOf(place) } })),
};
// `sql` stands where code hosts shall colour a script.
const NAMES = { ql: "qlio", sql: "qlio", sh: "shellscript", elisp: "emacs-lisp" };
const KNOWN = ["json", "yaml", "js", "toml", "ini", "lua", "emacs-lisp", "python", "shellscript", "html", "proto"];

const highlighter = await createHighlighter({ themes: [theme], langs: [...KNOWN, grammar] });

/** Code as HTML; of a kind that is not known, as it is. */
export function highlight(code, kind) {
  const lang = NAMES[kind] ?? kind;
  if (!highlighter.getLoadedLanguages().includes(lang)) return escape(code);
  const lines = highlighter.codeToTokensBase(code, { lang, theme: "classes" });
  return lines.map((tokens) => tokens.map(span).join("")).join("\n");
}

function span({ content, color = "" }) {
  const name = CLASSES.get(color.toLowerCase());
  return name ? `<span class="hl-${name}">${escape(content)}</span>` : escape(content);
}

export function escape(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
