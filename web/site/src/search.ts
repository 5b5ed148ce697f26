// The search: pages and their headings, found in an index that lies beside the pages. The index is
// fetched in pieces, and only once somebody searches.

interface Found {
  url: string;
  excerpt: string;
  meta: { title?: string; section?: string };
  sub_results: { title: string; url: string; excerpt: string }[];
}

interface Pagefind {
  init(): Promise<void>;
  debouncedSearch(words: string): Promise<{ results: { data(): Promise<Found> }[] } | null>;
}

const SHOWN_AT_ONCE = 10;
const HEADINGS_MAX = 3;

const root = document.body.dataset["root"] ?? "";
let pagefind: Promise<Pagefind> | undefined;
let parts: { dialog: HTMLDialogElement; input: HTMLInputElement; list: HTMLOListElement; state: HTMLElement } | undefined;

function make<Name extends keyof HTMLElementTagNameMap>(name: Name, attributes: Record<string, string> = {}, ...children: (Node | string)[]) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function load(): Promise<Pagefind> {
  pagefind ??= import(new URL(`${root}pagefind/pagefind.js`, location.href).href).then(async (loaded: Pagefind) => {
    await loaded.init();
    return loaded;
  });
  return pagefind;
}

export async function openSearch(): Promise<void> {
  const { dialog, input } = (parts ??= build());
  if (!dialog.open) dialog.showModal();
  input.select();
  try {
    await load();
  } catch {
    pagefind = undefined;
    say("The search index cannot be read. It needs pages that a web server serves, not files.");
  }
}

function say(words: string): void {
  if (parts) parts.state.textContent = words;
}

function build() {
  const input = make("input", { type: "search", "aria-label": "Search", placeholder: "Words, a setting, a code such as Q2003", autocomplete: "off", spellcheck: "false" });
  const close = make("button", { type: "button" }, "Close");
  const state = make("p", { role: "status" });
  const list = make("ol", { class: "results" });
  const dialog = make("dialog", { class: "search", "aria-label": "Search" }, make("div", { class: "search-head" }, input, close), state, list);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  // A link to a heading of this page leaves the dialog open otherwise.
  list.addEventListener("click", (event) => (event.target as Element).closest("a") && dialog.close());
  input.addEventListener("input", () => void search(input.value));
  dialog.addEventListener("keydown", (event) => move(event, input, list));
  document.body.append(dialog);
  return { dialog, input, list, state };
}

/** Arrows go through the results, Enter in the field follows the first. */
function move(event: KeyboardEvent, input: HTMLInputElement, list: HTMLOListElement): void {
  const links = [...list.querySelectorAll("a")];
  const place = links.indexOf(document.activeElement as HTMLAnchorElement);
  if (event.key === "ArrowDown") links[Math.min(place + 1, links.length - 1)]?.focus();
  else if (event.key === "ArrowUp") (links[place - 1] ?? input).focus();
  else if (event.key === "Enter" && document.activeElement === input) links[0]?.click();
  else return;
  event.preventDefault();
}

async function search(words: string): Promise<void> {
  if (words.trim() === "") {
    parts?.list.replaceChildren();
    say("");
    return;
  }
  let found: { data(): Promise<Found> }[];
  try {
    const answer = await (await load()).debouncedSearch(words);
    // Another search has begun meanwhile.
    if (answer === null || parts?.input.value !== words) return;
    found = answer.results;
  } catch (error) {
    say(`The search has failed: ${String(error)}`);
    return;
  }
  say(found.length === 0 ? `Nothing has “${words}”.` : `${found.length} ${found.length === 1 ? "page" : "pages"}`);
  parts.list.replaceChildren();
  await more(found, words);
}

async function more(found: { data(): Promise<Found> }[], words: string): Promise<void> {
  const some = await Promise.all(found.slice(0, SHOWN_AT_ONCE).map((one) => one.data()));
  if (!parts || parts.input.value !== words) return;
  parts.list.append(...some.map(entry));
  const rest = found.slice(SHOWN_AT_ONCE);
  if (rest.length === 0) return;
  const button = make("button", { type: "button" }, `${rest.length} more`);
  const item = make("li", {}, button);
  button.addEventListener("click", () => {
    item.remove();
    void more(rest, words);
  });
  parts.list.append(item);
}

function entry({ url, excerpt, meta, sub_results }: Found): HTMLLIElement {
  const headings = sub_results.filter((one) => one.title !== meta.title).slice(0, HEADINGS_MAX);
  const item = make("li", {}, make("a", { href: url }, meta.title ?? url), make("span", { class: "section" }, meta.section ?? ""));
  if (headings.length === 0) item.append(marked(excerpt));
  for (const heading of headings) item.append(make("div", { class: "heading" }, make("a", { href: heading.url }, heading.title), marked(heading.excerpt)));
  return item;
}

/** An excerpt comes as HTML of which only `mark` is wanted. */
function marked(excerpt: string): HTMLParagraphElement {
  const parsed = new DOMParser().parseFromString(excerpt, "text/html").body;
  const out = make("p");
  for (const node of parsed.childNodes) {
    const text = node.textContent ?? "";
    out.append(node instanceof Element && node.localName === "mark" ? make("mark", {}, text) : text);
  }
  return out;
}
