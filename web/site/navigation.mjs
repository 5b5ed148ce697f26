// The order of the pages beside the text, and which one comes after another.
//
// A section takes the order of the links of its own page, or the one that stands here; a page that
// neither knows comes behind them, so that none is left out.

import { targetOf } from "./pages.mjs";

const SECTIONS = [
  {
    title: "Start",
    first: ["README.md", "docs/guide/first-app.md", "docs/operating/install.md", "docs/console.md", "docs/editors.md"],
  },
  {
    title: "Guide",
    first: ["docs/guide/sql.md", "docs/guide/testing.md", "docs/guide/oauth.md", "docs/guide/own-source.md"],
    has: (path) => path.startsWith("docs/guide/"),
  },
  { title: "Language", index: "docs/language/README.md", has: (path) => path.startsWith("docs/language/guide/") },
  {
    title: "Language reference",
    order: "docs/language/README.md",
    has: (path) => path.startsWith("docs/language/reference/") && !TABLES.includes(path),
  },
  { title: "Tables", first: () => TABLES },
  { title: "Reference", index: "docs/reference/README.md", has: (path) => path.startsWith("docs/reference/") },
  { title: "Operating", index: "docs/operating/README.md", has: (path) => path.startsWith("docs/operating/") },
  { title: "Errors", index: "docs/errors/README.md" },
  {
    title: "Examples",
    first: ["examples/shop/README.md"],
    has: (path) => /^(examples|bindings|connectors)\/.*README\.md$/.test(path),
  },
  {
    title: "Project",
    first: ["docs/glossary.md", "docs/security.md", "docs/attacks.md", "docs/benchmarks.md", "ARCHITECTURE.md", "docs/adr/README.md"],
    has: (path) => path.endsWith(".md") && !/^docs\/(errors|adr)\//.test(path),
  },
];

const TABLES = [
  "docs/language/reference/create-table.md",
  "docs/language/reference/uri-templates.md",
  "docs/language/reference/paging.md",
  "docs/reference/tables.md",
  "docs/reference/formats.md",
  "docs/reference/hooks.md",
  "docs/reference/sources.md",
  "docs/reference/connector-protocol.md",
  "docs/reference/mock.md",
];

/** Short names for what has a long one. */
const NAMES = { "README.md": "What it is", "docs/language/README.md": "Overview", "docs/reference/README.md": "Overview", "docs/operating/README.md": "Overview", "docs/errors/README.md": "All codes" };

/** @returns {{ title: string, pages: { path: string, title: string }[] }[]} */
export function navigation(pages) {
  const taken = new Set();
  return SECTIONS.map(({ title, index, order = index, first = [], has = () => false }) => {
    const wanted = [index, ...(typeof first === "function" ? first() : first), ...linksOf(pages, order).filter(has), ...[...pages.keys()].filter(has)];
    const found = [];
    for (const path of wanted) {
      if (!path || taken.has(path) || !pages.has(path)) continue;
      taken.add(path);
      found.push({ path, title: NAMES[path] ?? pages.get(path).title });
    }
    return { title, pages: found };
  });
}

/** The section that a page belongs to, also one that is not listed there. */
export function sectionOf(sections, path) {
  const listed = sections.find((section) => section.pages.some((page) => page.path === path));
  if (listed) return listed;
  const title = path.startsWith("docs/errors/") ? "Errors" : path.startsWith("docs/adr/") ? "Project" : "Examples";
  return sections.find((section) => section.title === title);
}

function linksOf(pages, path) {
  const text = pages.get(path)?.text ?? "";
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => targetOf(path, link)).filter(Boolean);
}
