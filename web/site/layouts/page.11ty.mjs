// One page: what is around the text. All addresses are relative, so that the site may lie anywhere.

import { escape } from "../markdown/highlight.mjs";
import { sectionOf } from "../navigation.mjs";
import { outputOf, relative } from "../pages.mjs";

/** Nothing from elsewhere, nothing inline; WebAssembly for the search and the playground. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

export function render({ title, content, output, path, contents = [], sections, isApp = false, isSearched = true, script }) {
  const to = (target) => escape(relative(output, target));
  const toPage = (page) => to(outputOf(page.path));
  const section = path ? sectionOf(sections, path) : undefined;
  const all = sections.flatMap(({ pages }) => pages);
  const place = all.findIndex((page) => page.path === path);
  const before = all[place - 1];
  const after = place >= 0 ? all[place + 1] : undefined;
  const name = output === "index.html" ? "qlio" : [title, section?.title, "qlio"].filter(Boolean).join(" · ");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="content-security-policy" content="${POLICY}">
<meta name="referrer" content="no-referrer">
<title>${escape(name)}</title>
<link rel="icon" href="${to("icon.svg")}" type="image/svg+xml">
<link rel="stylesheet" href="${to("assets/site.css")}">
<script src="${to("assets/theme.js")}"></script>
<script type="module" src="${to("assets/site.js")}"></script>
${script ? `<script type="module" src="${to(`assets/${script}`)}"></script>` : ""}
</head>
<body${isApp ? ' class="app"' : ""} data-root="${escape(relative(output, "index.html").replace(/index\.html$/, ""))}">
<a class="skip" href="#content">Skip to the text</a>
<header class="top">
<button type="button" class="pages" popovertarget="pages">Pages</button>
<a class="home" href="${to("index.html")}"><img src="${to("icon.svg")}" alt="" width="22" height="22"> qlio</a>
<span class="gap"></span>
<button type="button" class="find" hidden>Search <kbd>/</kbd></button>
<a class="to-playground" href="${to("playground.html")}"${output === "playground.html" ? ' aria-current="page"' : ""}>Playground</a>
<button type="button" class="theme" hidden>Theme</button>
</header>
<div class="frame">
<nav id="pages" popover aria-label="Pages">
${sections.map((one) => sectionList(one, one === section, path, toPage)).join("\n")}
</nav>
<main id="content">
${isApp ? content : `<article${isSearched ? ` data-pagefind-body${path?.startsWith("docs/adr/") ? ' data-pagefind-weight="0.2"' : ""}` : ""}>
${section ? `<p class="section" data-pagefind-meta="section">${section.title}</p>` : ""}
${content}
</article>
${before || after ? `<nav class="beside" aria-label="Before and after">
${before ? `<a rel="prev" href="${toPage(before)}"><span>Before</span> ${escape(before.title)}</a>` : "<span></span>"}
${after ? `<a rel="next" href="${toPage(after)}"><span>Next</span> ${escape(after.title)}</a>` : ""}
</nav>` : ""}`}
</main>
${contents.length > 1 ? `<nav class="contents" aria-labelledby="on-this-page">
<p id="on-this-page">On this page</p>
<ul>${contents.map(({ id, title: of, isDeep }) => `<li${isDeep ? ' class="deep"' : ""}><a href="#${escape(id)}">${escape(of)}</a></li>`).join("")}</ul>
</nav>` : ""}
</div>
</body>
</html>
`;
}

function sectionList({ title, pages }, isOpen, path, toPage) {
  const items = pages.map((page) => `<li><a href="${toPage(page)}"${page.path === path ? ' aria-current="page"' : ""}>${escape(page.title)}</a></li>`);
  return `<details${isOpen || title === "Start" ? " open" : ""}><summary>${title}</summary><ul>${items.join("")}</ul></details>`;
}
