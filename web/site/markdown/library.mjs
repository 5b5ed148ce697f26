// Markdown as the site shows it: headings and rules that can be linked to, links between pages, code
// with its colours and what it is of an example.

import { extname } from "node:path";
import { outputOf, outputOfCopy, relative, targetOf } from "../pages.mjs";
import { escape, highlight } from "./highlight.mjs";
import { Examples } from "./playable.mjs";

/** The number of a rule: it names the rule where that stands, and leads to it where it is a link. */
const RULE = /^[A-Z]{3}-\d+$/;

/**
 * @param {import("markdown-it")} library
 * @param {{ pages: Map<string, object>, copied: Set<string>, source: string | undefined }} site `source` is the
 *   address below which the repository's files are shown, if there is one
 */
export function teach(library, site) {
  library.core.ruler.push("places", ({ tokens, env }) => {
    const page = env.path;
    const seen = new Map();
    env.contents.length = 0;
    const examples = new Examples();
    tokens.forEach((token, place) => {
      if (token.type === "heading_open") markHeading(token, tokens[place + 1], seen, env.contents);
      if (token.type === "list_item_open") markRule(token, tokens[place + 2]);
      if (token.type === "th_open" || token.type === "td_open") alignByClass(token);
      if (token.type === "fence") token.meta = { playground: examples.take(token.info.trim(), token.content), page };
      if (token.type === "inline") for (const child of token.children) leadOn(child, token.children, page, site);
    });
  });
  // Of HTML in texts only line breaks are meant as such.
  library.renderer.rules.html_inline = (tokens, place) => (tokens[place].content === "<br>" ? "<br>" : escape(tokens[place].content));
  library.renderer.rules.html_block = (tokens, place) => `<p>${escape(tokens[place].content)}</p>\n`;
  library.renderer.rules.fence = (tokens, place) => code(tokens[place]);
  library.renderer.rules.table_open = () => '<div class="wide" tabindex="0" role="region" aria-label="Table"><table>\n';
  library.renderer.rules.table_close = () => "</table></div>\n";
  library.renderer.rules.heading_close = (tokens, place) => {
    const { tag } = tokens[place];
    const id = tokens[place - 2].attrGet("id");
    const title = escape(textOf(tokens[place - 1]));
    if (tag === "h1") return `</${tag}>\n`;
    return ` <a class="anchor" data-pagefind-ignore href="#${id}" aria-label="Link to ${title}">#</a></${tag}>\n`;
  };
}

function textOf(inline) {
  return inline.children
    .filter(({ type }) => type === "text" || type === "code_inline")
    .map(({ content }) => content)
    .join("");
}

/** Columns of numbers are told by a style, which the policy of the pages does not allow. */
function alignByClass(cell) {
  const side = /^text-align:(\w+)$/.exec(cell.attrGet("style") ?? "")?.[1];
  cell.attrs = side ? [["class", `to-${side}`]] : [];
}

/** Gives a heading the name that code hosts give it. */
function markHeading(token, inline, seen, contents) {
  const title = textOf(inline);
  const name = title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, "")
    .replaceAll(" ", "-");
  const times = seen.get(name) ?? 0;
  seen.set(name, times + 1);
  const id = times === 0 ? name : `${name}-${times}`;
  token.attrSet("id", id);
  if (token.tag === "h2" || token.tag === "h3") contents.push({ id, title, isDeep: token.tag === "h3" });
}

/** A rule can be linked to by its number. */
function markRule(item, inline) {
  const children = (inline?.children ?? []).filter(({ type, content }) => type !== "text" || content !== "");
  const number = children[1]?.content ?? "";
  if (children[0]?.type === "strong_open" && RULE.test(number)) item.attrSet("id", number);
}

/** Makes a link between texts one between pages. */
function leadOn(token, around, page, site) {
  if (token.type === "image") {
    token.attrSet("src", relative(outputOf(page), outputOfCopy(targetOf(page, token.attrGet("src")))));
    token.attrSet("loading", "lazy");
  }
  if (token.type !== "link_open") return;
  const link = token.attrGet("href");
  const file = targetOf(page, link);
  if (file === undefined) return;
  const hash = /#.*$/.exec(link)?.[0] ?? "";
  if (site.pages.has(file)) {
    const cited = around[around.indexOf(token) + 1]?.content ?? "";
    const place = hash || (RULE.test(cited) ? `#${cited}` : "");
    token.attrSet("href", relative(outputOf(page), outputOf(file)) + place);
  } else if (site.copied.has(file)) {
    token.attrSet("href", relative(outputOf(page), outputOfCopy(file)));
  } else if (site.source) {
    token.attrSet("href", `${site.source}/${file}${hash}`);
  } else {
    // It is in the sources only, and nobody knows where those are.
    token.tag = "span";
    token.attrs = [["title", file]];
    const close = around.slice(around.indexOf(token)).find(({ type }) => type === "link_close");
    close.tag = "span";
  }
}

/** What a block is to its example, in words. */
function caption(info) {
  const [kind, ...words] = info.split(/\s+/);
  const parts = words.map((word) => {
    const [what, name] = word.split("=");
    if (what === "table") return `tables/${name}`;
    if (what === "route") return `routes/${name}`;
    if (what === "file") return name;
    if (what === "error") return `fails with ${name}`;
    if (what === "exit") return `ends with exit code ${name}`;
    return { upstream: "what the API answers", http: "requests, and what comes back", config: "settings", request: "what the client sent" }[what];
  });
  return { kind, words: parts.filter(Boolean).join(", ") };
}

function code({ content, info, meta }) {
  const { kind, words } = caption(info.trim());
  const lines = highlight(content.replace(/\n$/, ""), kind);
  const play = meta.playground
    ? `<a class="play" href="${relative(outputOf(meta.page), "playground.html")}#${meta.playground}">Open in playground</a>`
    : "";
  const head = words || play ? `<figcaption data-pagefind-ignore>${escape(words)}${play}</figcaption>` : "";
  return `<figure class="code" data-kind="${kind}">${head}<pre tabindex="0"><code>${lines}</code></pre></figure>\n`;
}

/** A text that is no Markdown, as a page. */
export function sourcePage({ path, text, kind }) {
  const fragment = extname(path) === ".ql" && path.startsWith("examples/shop/");
  const play = fragment ? `<p><a class="play" href="${relative(outputOf(path), "playground.html")}#f=${path.replace("examples/shop/", "")}">Open in playground</a></p>` : "";
  return `<h1><code>${escape(path)}</code></h1>${play}<figure class="code"><pre tabindex="0"><code>${highlight(text.replace(/\n$/, ""), kind)}</code></pre></figure>`;
}
