// HTML of documentation, which others have written: only what a text needs is kept of it. The page's
// security policy lets no script run anyway.

const ELEMENTS = new Set(
  "a b blockquote br code dd div dl dt em h1 h2 h3 h4 h5 h6 hr i li ol p pre s span strong sub sup table tbody td th thead tr ul".split(
    " ",
  ),
);
const DROPPED_WHOLE = new Set("iframe math object script style svg template title".split(" "));
const DEPTH_MAX = 50;

/** The harmless part of `html`. */
export function cleanHtml(html: string): string {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  const holder = document.createElement("div");
  copy(parsed.body, holder, 0);
  return holder.innerHTML;
}

function copy(from: Node, to: Node, depth: number): void {
  if (depth > DEPTH_MAX) return;
  for (const child of from.childNodes) {
    if (child instanceof Text) to.appendChild(document.createTextNode(child.data));
    if (!(child instanceof Element)) continue;
    const name = child.localName;
    if (DROPPED_WHOLE.has(name)) continue;
    if (!ELEMENTS.has(name)) {
      copy(child, to, depth + 1);
      continue;
    }
    const element = document.createElement(name);
    if (name === "a") link(child, element);
    if (name === "span" || name === "code") element.className = child.className;
    copy(child, element, depth + 1);
    to.appendChild(element);
  }
}

function link(from: Element, to: HTMLElement): void {
  const target = from.getAttribute("href") ?? "";
  if (!/^https?:\/\//i.test(target)) return;
  to.setAttribute("href", target);
  to.setAttribute("rel", "noreferrer noopener");
  to.setAttribute("target", "_blank");
}
