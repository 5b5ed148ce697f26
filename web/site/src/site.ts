// What the pages need JavaScript for: the search and the choice of a theme. Both buttons are hidden
// without it; all else works.

import { openSearch } from "./search.ts";

const find = document.querySelector<HTMLButtonElement>("button.find");
if (find) {
  find.hidden = false;
  find.addEventListener("click", () => void openSearch());
}

addEventListener("keydown", (event) => {
  const target = event.target as HTMLElement;
  const isWriting = target.isContentEditable || /^(input|select|textarea)$/i.test(target.tagName);
  const isSlash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey;
  if (isWriting || !isSlash) return;
  event.preventDefault();
  void openSearch();
});

const NEXT = { "": "light", light: "dark", dark: "" } as const;
type Theme = keyof typeof NEXT;
const NAMES: Record<Theme, string> = { "": "system", light: "light", dark: "dark" };

const theme = document.querySelector<HTMLButtonElement>("button.theme");
if (theme) {
  const chosen = () => (document.documentElement.dataset["theme"] ?? "") as Theme;
  const name = () => {
    const before = document.createElement("span");
    before.textContent = "Theme: ";
    theme.replaceChildren(before, NAMES[chosen()]);
    theme.setAttribute("aria-label", `Theme: ${NAMES[chosen()]}`);
  };
  theme.hidden = false;
  name();
  theme.addEventListener("click", () => {
    const next = NEXT[chosen()];
    if (next) document.documentElement.dataset["theme"] = next;
    else delete document.documentElement.dataset["theme"];
    try {
      localStorage.setItem("qlio-theme", next);
    } catch {
      // It holds for this page only.
    }
    name();
  });
}

// The list of pages begins at the page that is shown.
const nav = document.getElementById("pages");
const current = nav?.querySelector<HTMLElement>('[aria-current="page"]');
if (nav && current) nav.scrollTop = current.offsetTop - nav.offsetTop - nav.clientHeight / 3;
