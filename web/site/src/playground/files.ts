// The files of the playground, and the one editor that shows them: each keeps its text and its undo.

import { forEachDiagnostic } from "@codemirror/lint";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { signal } from "@preact/signals";
import { diagnostics } from "../../../console/src/editor/diagnostics.ts";
import { qlio } from "../../../console/src/editor/language.ts";
import { quickFixes } from "../../../console/src/editor/quick-fixes.ts";
import { writing } from "../../../console/src/editor/writing.ts";
import type { Files } from "./address.ts";
import { ROOT, Service } from "./service.ts";

export interface Problem {
  from: number;
  line: number;
  column: number;
  severity: string;
  message: string;
}

/** Settings are handed on when the typing pauses. */
const PAUSE_MS = 300;

export const paths = signal<readonly string[]>([]);
export const shown = signal("");
export const problems = signal<readonly Problem[]>([]);
/** Counts changes of any text. */
export const changes = signal(0);

/** The states of all files; that of the one that is shown is the editor's. */
const states = new Map<string, EditorState>();
const serviceOf = new Compartment();
let view: EditorView | undefined;
let service: Service | undefined;
let settingsTimer: ReturnType<typeof setTimeout> | undefined;

const uriOf = (path: string) => ROOT + path;
const pathOf = (uri: string) => uri.slice(ROOT.length);
const isScript = (path: string) => path.endsWith(".ql");

function extensions(path: string): Extension {
  return [
    writing(path),
    isScript(path) ? qlio : [],
    EditorView.updateListener.of(({ state, docChanged, transactions }) => {
      if (docChanged) {
        changes.value += 1;
        if (!isScript(path)) settingsSoon(path);
      }
      if (transactions.some(({ effects }) => effects.length > 0)) problems.value = problemsOf(state);
    }),
    serviceOf.of([]),
  ];
}

function problemsOf(state: EditorState): Problem[] {
  const found: Problem[] = [];
  forEachDiagnostic(state, ({ severity, message }, from) => {
    const line = state.doc.lineAt(from);
    found.push({ from, line: line.number, column: from - line.from + 1, severity, message });
  });
  return found;
}

function settingsSoon(path: string): void {
  clearTimeout(settingsTimer);
  settingsTimer = setTimeout(() => {
    service?.put(uriOf(path), textOf(path));
    service?.changed();
  }, PAUSE_MS);
}

function connected(path: string): Extension {
  if (!service || !isScript(path)) return [];
  const uri = uriOf(path);
  const { client } = service;
  return [client.plugin(uri, "qlio"), diagnostics(client, uri), quickFixes(client, uri)];
}

function stateOf(path: string): EditorState {
  const state = path === shown.peek() ? view?.state : states.get(path);
  if (!state) throw new Error(`there is no ${path}`);
  return state;
}

export function textOf(path: string): string {
  return stateOf(path).doc.toString();
}

export function allFiles(): Files {
  return Object.fromEntries(paths.peek().map((path) => [path, textOf(path)]));
}

/** Takes other files, with a language service of their own. */
export function open(files: Files, first: string): void {
  clearTimeout(settingsTimer);
  service?.end();
  service = undefined;
  states.clear();
  for (const [path, text] of Object.entries(files)) states.set(path, EditorState.create({ doc: text, extensions: extensions(path) }));
  paths.value = Object.keys(files);
  shown.value = "";
  connect();
  show(states.has(first) ? first : (paths.value[0] ?? ""));
}

function connect(): void {
  const keeper = {
    uris: () => paths.peek().filter(isScript).map(uriOf),
    stateOf: (uri: string) => stateOf(pathOf(uri)),
    keep: (uri: string, state: EditorState) => {
      states.set(pathOf(uri), state);
      changes.value += 1;
    },
    show: (uri: string) => (paths.peek().includes(pathOf(uri)) ? (show(pathOf(uri)), view ?? null) : null),
  };
  service = new Service(keeper, paths.peek().map((path) => [uriOf(path), textOf(path)]));
  const started = service;
  void started.client.initializing.then(
    () => {
      if (started === service) view?.dispatch({ effects: serviceOf.reconfigure(connected(shown.peek())) });
    },
    () => undefined,
  );
}

/** Starts the language service anew, with the texts as they are. */
export function reconnect(): void {
  view?.dispatch({ effects: serviceOf.reconfigure([]) });
  service?.end();
  connect();
}

export function createEditor(parent: HTMLElement): void {
  view = new EditorView({ parent });
  view.setTabFocusMode(true);
}

export function show(path: string): void {
  if (!view || path === shown.peek() || !states.has(path)) return;
  const before = shown.peek();
  if (before) {
    service?.client.sync();
    states.set(before, view.state.update({ effects: serviceOf.reconfigure([]) }).state);
  }
  const state = states.get(path);
  if (!state) return;
  shown.value = path;
  problems.value = [];
  view.setState(state);
  view.setTabFocusMode(true);
  const isReady = service?.client.serverCapabilities !== null;
  if (isReady) view.dispatch({ effects: serviceOf.reconfigure(connected(path)) });
}

/** Adds a file under a name that is free, and shows it. */
export function add(path: string, text: string): void {
  let name = path;
  for (let number = 2; states.has(name); number += 1) name = path.replace(/(\d*)\.ql$/, `${number}.ql`);
  states.set(name, EditorState.create({ doc: text, extensions: extensions(name) }));
  paths.value = [...paths.value, name];
  service?.put(uriOf(name), text);
  if (service?.client.serverCapabilities) {
    service.workspace.add(uriOf(name));
    service.changed();
  }
  changes.value += 1;
  show(name);
}

export function goTo(from: number): void {
  view?.dispatch({ selection: { anchor: Math.min(from, view.state.doc.length) }, scrollIntoView: true });
  view?.focus();
}

export function editor(): EditorView | undefined {
  return view;
}

/** The plan of what is shown, as text and as a picture; fails with the reason if it has none. */
export async function planOf(path: string): Promise<{ text: string; svg: string }> {
  if (!service || !isScript(path)) throw new Error("only scripts have a plan");
  const uri = uriOf(path);
  const [text, svg] = await Promise.all([service.plan(uri, "text"), service.plan(uri, "svg")]);
  return { text, svg };
}
