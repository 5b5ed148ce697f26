// The scripts that are open, as tabs. Each is kept under a key of its own, with every change, so that
// no reload, crash or second window loses a text: a window that finds one of its scripts changed by
// another goes on with a copy.

import { computed, signal } from "@preact/signals";
import { keys, read, remove, write } from "./storage.ts";

export interface Script {
  id: string;
  title: string;
  text: string;
  at: number;
  /** Closed ones can be opened again from the list. */
  isOpen: boolean;
  /** The route file of the server that it was read from or saved as. */
  file?: string | undefined;
}

const PREFIX = "qlio.script.";
const CLOSED_MAX = 50;
const TITLE_CHARS_MAX = 28;

const FIRST_TEXT = `-- Keywords are in lower case. Run this with Ctrl-Enter.
show tables
`;

function isScript(value: unknown): boolean {
  const script = value as Partial<Script> | null;
  return typeof script?.id === "string" && typeof script.text === "string";
}

function load(): Script[] {
  return keys(PREFIX)
    .flatMap((key) => read<Script>(key, isScript) ?? [])
    .sort((a, b) => a.at - b.at);
}

export const scripts = signal<Script[]>(load());
export const openScripts = computed(() => scripts.value.filter(({ isOpen }) => isOpen));
export const closedScripts = computed(() => scripts.value.filter(({ isOpen }) => !isOpen).reverse());
export const activeId = signal("");
export const active = computed(() => scripts.value.find(({ id }) => id === activeId.value));

/** Scripts that were changed in this window. */
const edited = new Set<string>();

/** What another window does to the scripts of this one. */
interface Elsewhere {
  /** A script goes on as a copy of its own. */
  forked: (from: string, to: string) => void;
  /** A script that was only read here has another text. */
  rewritten: (id: string) => void;
}

function newId(): string {
  return `${Date.now().toString(36)}${Math.random().toString(36).slice(2, 8)}`;
}

/** A name for a script: its first comment or line. */
export function titleOf(text: string): string {
  const line = /^.*[\w'"].*$/m.exec(text)?.[0] ?? "";
  const title = line.replace(/^\s*(--|\/\*+)\s*/, "").replace(/\*\/\s*$/, "").trim();
  return title.length > TITLE_CHARS_MAX ? `${title.slice(0, TITLE_CHARS_MAX - 1)}…` : title || "empty script";
}

function put(script: Script): void {
  place(script);
  write(PREFIX + script.id, script);
}

function place(script: Script): void {
  const isNew = !scripts.peek().some(({ id }) => id === script.id);
  if (isNew) scripts.value = [...scripts.peek(), script];
  else scripts.value = scripts.peek().map((old) => (old.id === script.id ? script : old));
}

/** Opens a new tab. */
export function open(text = "", file?: string): Script {
  tellChange();
  const script: Script = { id: newId(), title: titleOf(text), text, at: Date.now(), isOpen: true, file };
  put(script);
  activeId.value = script.id;
  return script;
}

/** What has been written in the editor and is not told yet. */
let untold: { id: string; text: () => string } | undefined;

/** So long may what is written wait for a moment in which the page has nothing else to do. */
const TOLD_AFTER_MS_MAX = 200;

/**
 * The script `id` is being written. A key is on the screen first; titles, plan and storage follow when that is done,
 * at the latest when the page goes. `text` is asked for then.
 */
export function change(id: string, text: () => string): void {
  if (untold && untold.id !== id) tellChange();
  if (!untold) whenIdle(tellChange);
  untold = { id, text };
}

// Safari has no idle time to give.
const whenIdle: (run: () => void) => unknown =
  typeof requestIdleCallback === "function"
    ? (run) => requestIdleCallback(run, { timeout: TOLD_AFTER_MS_MAX })
    : (run) => setTimeout(run, TOLD_AFTER_MS_MAX);

/** Tells and keeps what has been written, now: to be called before anything else is done with scripts. */
export function tellChange(): void {
  const changed = takeChange();
  if (changed) write(PREFIX + changed.id, changed);
}

/** Tells what has been written; whoever calls it keeps it. */
function takeChange(): Script | undefined {
  if (!untold) return undefined;
  const { id } = untold;
  const text = untold.text();
  untold = undefined;
  const script = scripts.peek().find((candidate) => candidate.id === id);
  if (!script || script.text === text) return undefined;
  edited.add(id);
  const changed = { ...script, text, title: titleOf(text), at: Date.now() };
  place(changed);
  return changed;
}

/** The script is what this route file of the server holds. */
export function belongTo(id: string, file: string | undefined): void {
  tellChange();
  const script = scripts.peek().find((candidate) => candidate.id === id);
  if (script && script.file !== file) put({ ...script, file });
}

export function close(id: string): void {
  tellChange();
  const shown = openScripts.peek();
  const place = shown.findIndex((script) => script.id === id);
  const script = shown[place];
  if (!script) return;
  if (script.text.trim() === "") {
    scripts.value = scripts.peek().filter((other) => other.id !== id);
    remove(PREFIX + id);
  } else put({ ...script, isOpen: false, at: Date.now() });
  for (const old of closedScripts.peek().slice(CLOSED_MAX)) {
    remove(PREFIX + old.id);
    scripts.value = scripts.peek().filter((other) => other.id !== old.id);
  }
  if (activeId.peek() !== id) return;
  const next = openScripts.peek()[Math.min(place, openScripts.peek().length - 1)];
  if (next) activeId.value = next.id;
  else open();
}

export function reopen(id: string): void {
  tellChange();
  const script = scripts.peek().find((candidate) => candidate.id === id);
  if (!script) return;
  put({ ...script, isOpen: true });
  activeId.value = id;
}

/** Another window has changed or removed a script of this one. */
function hear(key: string, text: string | null, elsewhere: Elsewhere): void {
  // Under its old key it would replace what the other window has just written there.
  const changed = takeChange();
  if (changed && (changed.id !== key.slice(PREFIX.length) || text === null)) write(PREFIX + changed.id, changed);
  const id = key.slice(PREFIX.length);
  const mine = scripts.peek().find((script) => script.id === id);
  const theirs = read<Script>(key, isScript);
  if (!mine) {
    if (theirs && !theirs.isOpen) scripts.value = [...scripts.peek(), theirs];
    return;
  }
  if (text === null || !theirs || theirs.text === mine.text) return;
  if (!edited.has(id)) {
    scripts.value = scripts.peek().map((old) => (old.id === id ? { ...theirs, isOpen: mine.isOpen } : old));
    elsewhere.rewritten(id);
    return;
  }
  const copy: Script = { ...mine, id: newId() };
  scripts.value = scripts.peek().map((old) => (old.id === id ? copy : old));
  edited.add(copy.id);
  write(PREFIX + copy.id, copy);
  elsewhere.forked(id, copy.id);
  if (activeId.peek() === id) activeId.value = copy.id;
}

/** Opens what the address asks for, else what was open last. A script of an address is not run. */
export function begin(fromAddress: string | undefined, elsewhere: Elsewhere): void {
  addEventListener("storage", ({ key, newValue }) => {
    if (key?.startsWith(PREFIX)) hear(key, newValue, elsewhere);
  });
  addEventListener("pagehide", tellChange);
  document.addEventListener("visibilitychange", tellChange);
  if (fromAddress !== undefined) {
    show(fromAddress);
    return;
  }
  const latest = [...openScripts.peek()].sort((a, b) => b.at - a.at)[0];
  if (latest) activeId.value = latest.id;
  else open(FIRST_TEXT);
}

/** Brings the tab with this text to the front, or opens one; no other tab changes. */
export function show(text: string, file?: string): void {
  tellChange();
  const same = openScripts.peek().find((script) => script.text === text && (file === undefined || script.file === file));
  if (same) activeId.value = same.id;
  else open(text, file);
}
