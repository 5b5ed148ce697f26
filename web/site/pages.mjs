// Which texts of the repository become pages, and where they lie in the site.
//
// In: the folder of the repository. Out: pages by their paths: all of docs/, README.md, and whatever
// these lead to by links, a text of an example included. The texts stay as they are read on a code host.

import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, extname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../", import.meta.url));

/** Texts beside the Markdown that are shown as pages, if something leads to them, and what they are. */
const SHOWN = { ".ql": "ql", ".json": "json", ".js": "js", ".yaml": "yaml", ".proto": "proto", ".toml": "toml", ".sh": "sh" };
/** What is copied if something leads to it: pictures, and data of docs/. */
const isCopied = (path) => /\.(svg|png)$/.test(path) || (path.startsWith("docs/") && extname(path) === ".json");
/** A text above this is a piece of data, not something to read. */
const SHOWN_BYTES_MAX = 64 * 1024;

/** The targets of all links of a text, without those to other hosts. */
const LINK = /\]\(([^)\s]+)\)/g;

/** @returns {{ pages: Map<string, Page>, copied: Set<string> }} pages and files by their paths */
export function findPages() {
  const pages = new Map();
  const copied = new Set();
  const waiting = ["README.md", ...markdownBelow("docs")];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (pages.has(path)) continue;
    const text = readFileSync(join(root, path), "utf8");
    const kind = SHOWN[extname(path)];
    pages.set(path, { path, text, kind, title: kind ? path : titleOf(text, path), output: outputOf(path) });
    if (kind) continue;
    for (const [, target] of text.matchAll(LINK)) {
      const file = targetOf(path, target);
      if (file === undefined) continue;
      if (file.endsWith(".md") || isShown(file)) waiting.push(file);
      else if (isCopied(file)) copied.add(file);
    }
  }
  return { pages: new Map([...pages].sort(([a], [b]) => (a < b ? -1 : 1))), copied };
}

/** The path that a link of a page leads to; nothing if that is another host or the page itself. */
export function targetOf(page, link) {
  if (/^[a-z]+:/i.test(link) || link.startsWith("#")) return undefined;
  const path = posix.join(posix.dirname(page), decodeURI(link.replace(/#.*/, "")));
  const full = join(root, path);
  if (path.startsWith("..") || !existsSync(full)) return undefined;
  if (!statSync(full).isDirectory()) return path;
  const readme = posix.join(path, "README.md");
  return existsSync(join(root, readme)) ? readme : path;
}

function isShown(path) {
  const isExample = path.startsWith("examples/") || path.startsWith("editors/");
  return isExample && SHOWN[extname(path)] !== undefined && statSync(join(root, path)).size <= SHOWN_BYTES_MAX;
}

function markdownBelow(folder) {
  return readdirSync(join(root, folder), { recursive: true })
    .filter((name) => name.endsWith(".md"))
    .map((name) => posix.join(folder, name.replaceAll("\\", "/")));
}

/** `docs/` is the site itself, what lies beside it keeps its path. */
export function outputOf(path) {
  const short = path.replace(/^docs\//, "");
  if (!short.endsWith(".md")) return `${short}.html`;
  const name = posix.basename(short, ".md");
  const folder = dirname(short);
  if (name === "README") return posix.join(folder, "index.html");
  return posix.join(folder, `${folder === "." ? name.toLowerCase() : name}.html`);
}

/** Where something that is copied lies in the site. */
export function outputOfCopy(path) {
  return path.replace(/^docs\//, "");
}

/** The first heading, without its marks. */
function titleOf(text, path) {
  const heading = /^# (.+)$/m.exec(text)?.[1];
  if (!heading) throw new Error(`${path} has no heading`);
  return heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "");
}

/** How a page is linked to from another one. */
export function relative(from, to) {
  return posix.relative(posix.dirname(from), to) || posix.basename(to);
}
