// The search in texts that are only looked at: a panel above the text, and marks on what is on the screen.
// CodeMirror's own search compares character by character, which takes seconds for large texts.

import { type Extension, Prec, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  type Panel,
  ViewPlugin,
  type ViewUpdate,
  keymap,
  runScopeHandlers,
  showPanel,
} from "@codemirror/view";
import { nextMatch, patternOf, search } from "./matches.ts";

/** Further matches are not counted. */
const COUNTED_MAX = 10_000;
/** So many matches on the screen are marked. */
const MARKED_MAX = 1_000;

const setWords = StateEffect.define<string>();
const setOpen = StateEffect.define<boolean>();

const words = StateField.define<string>({
  create: () => "",
  update: (value, { effects }) => effects.find((effect) => effect.is(setWords))?.value ?? value,
});

const isOpen = StateField.define<boolean>({
  create: () => false,
  update: (value, { effects }) => effects.find((effect) => effect.is(setOpen))?.value ?? value,
  provide: (field) => showPanel.from(field, (open) => (open ? searchPanel : null)),
});

const marked = Decoration.mark({ class: "cm-searchMatch" });
const chosen = Decoration.mark({ class: "cm-searchMatch cm-searchMatch-selected" });

function marksOf(view: EditorView): DecorationSet {
  const wanted = view.state.field(words);
  if (wanted === "" || !view.state.field(isOpen)) return Decoration.none;
  const { main } = view.state.selection;
  const marks = [];
  for (const { from, to } of view.visibleRanges) {
    for (const match of view.state.sliceDoc(from, to).matchAll(patternOf(wanted))) {
      if (marks.length >= MARKED_MAX) break;
      const begin = from + match.index;
      const end = begin + match[0].length;
      marks.push((begin === main.from && end === main.to ? chosen : marked).range(begin, end));
    }
  }
  return Decoration.set(marks);
}

const matchMarks = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = marksOf(view);
    }
    update({ view, transactions, selectionSet, viewportChanged }: ViewUpdate): void {
      const isNew = transactions.some(({ effects }) => effects.length > 0);
      if (isNew || selectionSet || viewportChanged) this.decorations = marksOf(view);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

function searchPanel(view: EditorView): Panel {
  const dom = document.createElement("div");
  dom.className = "cm-search";
  dom.setAttribute("role", "search");
  const input = document.createElement("input");
  Object.assign(input, { name: "search", type: "text", className: "cm-textfield", placeholder: "Search", value: view.state.field(words) });
  input.setAttribute("aria-label", "Search in the text");
  const count = document.createElement("span");
  count.className = "quiet";
  count.setAttribute("role", "status");
  let counting = new AbortController();
  let moving = new AbortController();

  const countAll = async () => {
    counting.abort();
    counting = new AbortController();
    const { signal } = counting;
    const wanted = input.value;
    count.textContent = "";
    if (wanted === "") return;
    let matches = 0;
    const { doc } = view.state;
    const isAll = await search(doc, wanted, { from: 0, to: doc.length }, () => (matches += 1) < COUNTED_MAX, signal);
    if (signal.aborted || !isAll) return;
    const number = matches < COUNTED_MAX ? String(matches) : `at least ${COUNTED_MAX}`;
    count.textContent = matches === 0 ? "no match" : `${number} ${matches === 1 ? "match" : "matches"}`;
  };
  const move = async (isBackward: boolean) => {
    moving.abort();
    moving = new AbortController();
    const wanted = input.value;
    if (wanted === "") return;
    const { doc, selection } = view.state;
    const match = await nextMatch(doc, wanted, selection.main, isBackward, moving.signal);
    if (!match) return;
    view.dispatch({
      selection: { anchor: match.from, head: match.to },
      effects: EditorView.scrollIntoView(match.from, { y: "center" }),
    });
  };
  const button = (label: string, action: () => void) => {
    const element = document.createElement("button");
    Object.assign(element, { type: "button", className: "cm-button", textContent: label, onclick: action });
    return element;
  };
  input.oninput = () => {
    view.dispatch({ effects: setWords.of(input.value) });
    void countAll();
  };
  dom.onkeydown = (event) => {
    if (event.key === "Enter" && event.target === input) {
      event.preventDefault();
      void move(event.shiftKey);
    } else if (runScopeHandlers(view, event, "search-panel")) event.preventDefault();
  };
  dom.append(
    input,
    button("Next", () => void move(false)),
    button("Previous", () => void move(true)),
    button("Close", () => closeSearch(view)),
    count,
  );
  return {
    dom,
    top: true,
    mount: () => {
      input.select();
      void countAll();
    },
    update: ({ state, transactions }) => {
      const wanted = state.field(words);
      if (input.value !== wanted) {
        input.value = wanted;
        void countAll();
      }
      for (const { effects } of transactions) {
        for (const effect of effects) if (effect.is(stepping)) void move(effect.value);
      }
    },
    destroy: () => {
      counting.abort();
      moving.abort();
    },
  };
}

/** Goes to the next match, or with `true` to the one before. */
const stepping = StateEffect.define<boolean>();

/** Opens the search and puts the focus into it, with what is selected as the words. */
export function openSearch(view: EditorView): boolean {
  const { from, to } = view.state.selection.main;
  const selected = to - from <= 200 ? view.state.sliceDoc(from, to) : "";
  const isLine = selected !== "" && !selected.includes("\n");
  view.dispatch({ effects: [setOpen.of(true), ...(isLine ? [setWords.of(selected)] : [])] });
  view.dom.querySelector<HTMLInputElement>(".cm-search input")?.select();
  return true;
}

function closeSearch(view: EditorView): boolean {
  if (!view.state.field(isOpen)) return false;
  view.dispatch({ effects: setOpen.of(false) });
  view.focus();
  return true;
}

function step(isBackward: boolean): (view: EditorView) => boolean {
  return (view) => {
    if (!view.state.field(isOpen)) return openSearch(view);
    view.dispatch({ effects: stepping.of(isBackward) });
    return true;
  };
}

const scope = "editor search-panel";

/** The search, closed until somebody opens it. */
export const searching: Extension = [
  words,
  isOpen,
  matchMarks,
  Prec.high(
    keymap.of([
      { key: "Mod-f", run: openSearch, scope },
      { key: "F3", run: step(false), shift: step(true), scope, preventDefault: true },
      { key: "Mod-g", run: step(false), shift: step(true), scope, preventDefault: true },
      { key: "Escape", run: closeSearch, scope },
    ]),
  ),
];
