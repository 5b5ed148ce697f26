// Everything that keys and the palette can do, in one list.

import { effect, signal } from "@preact/signals";
import { formatDocument } from "@codemirror/lsp-client";
import { openLintPanel } from "@codemirror/lint";
import { isStepping, runTo } from "../debug/stepping.ts";
import { toggleHints } from "../editor/annotations.ts";
import { cursorLine, editorView, goTo } from "../editor/editor.ts";
import { searchResult } from "../result/result-pane.tsx";
import { history } from "../runs/history.ts";
import { current, step, stop } from "../runs/runs.ts";
import { open, show } from "../scripts/scripts.ts";
import { askToSave, canSave } from "../share/drafts.ts";
import { openShare } from "../share/share-menu.ts";
import { pane, showPane, toggleSide } from "./panes.ts";
import { runShown } from "./running.ts";

export interface Command {
  name: string;
  words: string;
  /** As shown to people; `Mod` is Ctrl, or ⌘ on a Mac. */
  keys: readonly string[];
  run: () => void;
  /** Left to the browser or the editor where this is false. */
  isPossible?: () => boolean;
}

export const isPaletteOpen = signal(false);
export const isHelpOpen = signal(false);

const isRunning = () => current.peek()?.isOver === false;

/** Earlier texts by the arrow keys: how far back the shown one is. */
let back = -1;

function recall(by: number): void {
  const past = history.peek();
  back = Math.max(0, Math.min(past.length - 1, back + by));
  const text = past[back]?.text;
  if (text !== undefined) show(text);
}

function format(): void {
  const view = editorView();
  if (view) formatDocument(view);
}

export const COMMANDS: readonly Command[] = [
  { name: "run", words: "Run the script", keys: ["Mod-Enter", "Shift-Enter"], run: () => runShown() },
  { name: "debug", words: "Run it step by step", keys: ["Mod-Shift-Enter"], run: () => runShown(true) },
  { name: "step", words: "Next step", keys: ["F10"], run: () => step(), isPossible: isStepping },
  { name: "continue", words: "Continue to the end", keys: ["F5"], run: () => step({ all: true }), isPossible: isStepping },
  { name: "run-to", words: "Run to the line of the cursor", keys: ["Mod-F10"], run: () => runTo(cursorLine()), isPossible: isStepping },
  { name: "stop", words: "Stop the run", keys: ["Shift-F5", "Escape Escape"], run: stop, isPossible: isRunning },
  { name: "format", words: "Format the script", keys: ["Shift-Alt-F"], run: format },
  { name: "problems", words: "List the problems", keys: ["Mod-Shift-M"], run: () => void (editorView() && openLintPanel(editorView()!)) },
  { name: "search", words: "Search in the result", keys: [], run: searchResult },
  { name: "share", words: "Share the script", keys: [], run: () => openShare() },
  { name: "save", words: "Save the script as a route of this app", keys: ["Mod-S"], run: askToSave, isPossible: canSave },
  { name: "hints", words: "Show or hide hints and lenses in the script", keys: [], run: toggleHints },
  { name: "new", words: "New script", keys: [], run: () => void open() },
  { name: "script", words: "Go to the script", keys: ["Mod-Alt-1"], run: () => showPane("script") },
  { name: "result", words: "Go to the result", keys: ["Mod-Alt-2"], run: () => showPane("result") },
  { name: "plan", words: "Go to the plan", keys: ["Mod-Alt-3"], run: () => showPane("plan") },
  { name: "calls", words: "Go to the calls", keys: ["Mod-Alt-4"], run: () => showPane("calls") },
  { name: "browse", words: "Go to tables and routes", keys: ["Mod-Alt-5"], run: () => showPane("browse") },
  { name: "side", words: "Show or hide the side pane", keys: [], run: () => toggleSide() },
  { name: "earlier", words: "Script of an earlier run", keys: ["Alt-ArrowUp"], run: () => recall(1), isPossible: () => pane.peek() === "script" },
  { name: "later", words: "Script of a later run", keys: ["Alt-ArrowDown"], run: () => recall(-1), isPossible: () => pane.peek() === "script" },
  { name: "top", words: "Go to the first line", keys: [], run: () => goTo(1) },
  { name: "palette", words: "All commands", keys: ["Mod-K"], run: () => (isPaletteOpen.value = true) },
  { name: "help", words: "Keys", keys: ["?"], run: () => (isHelpOpen.value = true) },
];

/** Keys that the editor itself handles, for the help. */
export const EDITOR_KEYS: readonly { words: string; keys: string }[] = [
  { words: "Next, previous problem", keys: "F8, Shift-F8" },
  { words: "Quick fix", keys: "Mod-." },
  { words: "Complete", keys: "Ctrl-Space" },
  { words: "Go to the definition", keys: "F12" },
  { words: "References", keys: "Shift-F12" },
  { words: "What the server says of a table", keys: "Mod-click" },
  { words: "Rename", keys: "F2" },
  { words: "Search in the focused pane", keys: "Mod-F" },
  { words: "Tab indents, or leaves the editor", keys: "Ctrl-M" },
  { words: "Calls: zoom, move, all", keys: "W S, A D, 0" },
];

const isMac = /Mac|iP(hone|ad)/.test(navigator.platform);
const ESCAPES_WITHIN_MS = 600;
let escapedAt = 0;

/** Whether `keys`, such as `Mod-Shift-Enter`, is what was pressed. */
function isPressed(keys: string, event: KeyboardEvent): boolean {
  const parts = keys.split("-");
  const key = parts.pop() ?? "";
  const has = (name: string) => parts.includes(name);
  const isMod = isMac ? event.metaKey : event.ctrlKey;
  const isSameKey = key.length === 1 && /[A-Z]/.test(key) ? event.code === `Key${key}` : /^\d$/.test(key) ? event.code === `Digit${key}` : event.key === key;
  return isSameKey && isMod === has("Mod") && event.altKey === has("Alt") && (event.shiftKey === has("Shift") || key === "?");
}

function isTyping(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

function isInEditor(event: KeyboardEvent): boolean {
  return (event.target as HTMLElement).closest?.(".editor") !== null;
}

function press(event: KeyboardEvent): void {
  if (event.isComposing) return;
  if (event.key === "Escape") {
    const isSecond = event.timeStamp - escapedAt < ESCAPES_WITHIN_MS;
    escapedAt = event.timeStamp;
    if (isSecond && isRunning()) stop();
    return;
  }
  for (const command of COMMANDS) {
    for (const keys of command.keys) {
      if (!isPressed(keys, event)) continue;
      if (keys === "?" && isTyping(event)) continue;
      if (/^(Shift-Enter|Alt-Arrow)/.test(keys) && !isInEditor(event)) continue;
      if (command.isPossible && !command.isPossible()) continue;
      event.preventDefault();
      event.stopPropagation();
      command.run();
      return;
    }
  }
}

/** Has keys do what the list says, wherever the focus is. */
export function listenForKeys(): void {
  addEventListener("keydown", press, { capture: true });
  effect(() => {
    void history.value;
    back = -1;
  });
}

/** `Mod-Enter` as people of this machine call it. */
export function keyWords(keys: string): string {
  return keys
    .replaceAll("Mod", isMac ? "⌘" : "Ctrl")
    .replaceAll("ArrowUp", "↑")
    .replaceAll("ArrowDown", "↓");
}
