// The editor of scripts: one view, and for each tab the state it had when another was shown.

import { highlightSelectionMatches } from "@codemirror/search";
import { Compartment, EditorState, type Extension, Text } from "@codemirror/state";
import { EditorView, placeholder } from "@codemirror/view";
import { activeId, change, scripts, tellChange } from "../scripts/scripts.ts";
import { canBeTold, isLeftOut, service } from "./language-service.ts";
import { qlio } from "./language.ts";
import { lineMarks, marks, showMarks } from "./marks.ts";
import { writing } from "./writing.ts";
import type { Run } from "../runs/run.ts";

const serviceOf = new Compartment();
const states = new Map<string, EditorState>();
let shownId = "";
let view: EditorView | undefined;

function extensions(id: string, text: string): Extension {
  return [
    writing("Script"),
    marks,
    EditorState.allowMultipleSelections.of(true),
    highlightSelectionMatches(),
    placeholder("select … from … where …"),
    qlio,
    EditorView.updateListener.of((update) => {
      if (!update.docChanged) return;
      const { doc } = update.state;
      change(shownId, () => textOf(doc));
      if (isLeftOut.peek() && canBeTold(textOf(doc))) queueMicrotask(refreshService);
    }),
    serviceOf.of(service(id, text, () => titleOf(id))),
  ];
}

function titleOf(id: string): string {
  tellChange();
  return scripts.peek().find((script) => script.id === id)?.title ?? "";
}

function stateOf(id: string): EditorState {
  const kept = states.get(id);
  if (kept) return kept;
  const text = scripts.peek().find((script) => script.id === id)?.text ?? "";
  return EditorState.create({ doc: text, extensions: extensions(id, text) });
}

/** Makes the view inside `parent`. Tab leaves the editor until Ctrl-M says otherwise. */
export function createEditor(parent: HTMLElement): EditorView {
  shownId = activeId.peek();
  view = new EditorView({ state: stateOf(shownId), parent });
  view.setTabFocusMode(true);
  performance.mark("editor-ready");
  return view;
}

export function destroyEditor(): void {
  view?.destroy();
  view = undefined;
}

/** Shows the script `id`, as it was left. */
export function showScript(id: string): void {
  if (!view || id === shownId || id === "") return;
  states.set(shownId, view.state);
  shownId = id;
  const kept = stateOf(id);
  const { state } = kept.update({ effects: serviceOf.reconfigure(service(id, kept.doc.toString(), () => titleOf(id))) });
  view.setState(state);
  view.setTabFocusMode(true);
}

/** The script `from` goes on as `to`: same text, same undo. */
export function moveScript(from: string, to: string): void {
  if (from === shownId) shownId = to;
  const state = states.get(from);
  if (state) states.set(to, state);
  states.delete(from);
  refreshService();
}

/** The script `id` has got another text elsewhere. */
export function reloadScript(id: string): void {
  states.delete(id);
  const text = scripts.peek().find((script) => script.id === id)?.text;
  if (id !== shownId || !view || text === undefined) return;
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
}

export function forgetScript(id: string): void {
  states.delete(id);
}

/** Connects the shown script to the language service, or to what stands in for it. */
export function refreshService(): void {
  view?.dispatch({ effects: serviceOf.reconfigure(service(shownId, shownText(), () => titleOf(shownId))) });
}

/** What stands on the screen, which is what runs. */
export function shownText(): string {
  return view ? textOf(view.state.doc) : "";
}

/** The text that was asked for last: it is asked for with each key and each drawing of a run. */
let known = { doc: Text.empty, text: "" };

function textOf(doc: Text): string {
  if (doc !== known.doc) known = { doc, text: doc.toString() };
  return known.text;
}

/** The line of the cursor, from 1. */
export function cursorLine(): number {
  return view ? view.state.doc.lineAt(view.state.selection.main.head).number : 1;
}

/** Puts the cursor into a line and shows it. */
export function goTo(line: number, column = 1): void {
  if (!view) return;
  const place = view.state.doc.line(Math.max(1, Math.min(line, view.state.doc.lines)));
  const anchor = Math.min(place.to, place.from + Math.max(0, column - 1));
  view.dispatch({ selection: { anchor }, scrollIntoView: true });
  view.focus();
}

export function insert(text: string): void {
  if (!view) return;
  view.dispatch(view.state.replaceSelection(text));
  view.focus();
}

/** Has the shown script hold another text, in one step that can be undone. */
export function replaceText(text: string): void {
  if (!view || shownText() === text) return;
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, userEvent: "input.replace" });
}

export function focusEditor(): void {
  view?.focus();
}

export function editorView(): EditorView | undefined {
  return view;
}

/** Draws the marks of a run of the shown text. */
export function drawMarks(run: Run | undefined): void {
  if (!view) return;
  const isShown = run && run.script === shownId && run.text === shownText();
  showMarks(view, isShown ? lineMarks(run) : []);
}
