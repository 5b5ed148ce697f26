// What the language service writes into the text besides problems: hints of rounds and calls, lenses above
// the script, and which names are tables, variables and members. Asked for when the typing pauses.

import { type LSPClient, LSPPlugin } from "@codemirror/lsp-client";
import { type Extension, type Range, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, type PluginValue, ViewPlugin, type ViewUpdate, WidgetType } from "@codemirror/view";
import { signal } from "@preact/signals";
import { read, write } from "../scripts/storage.ts";
import type { Position } from "./positions.ts";

const PAUSE_MS = 300;

/** Of longer texts only what is on the screen, and this much around it, is asked about. */
const WHOLE_LINES_MAX = 1_000;
const LINES_AROUND = 200;

/** How often in a row it is asked again after a failure. */
const FAILURES_MAX = 3;

/** What lenses do, by their commands; whoever starts the page says it. */
export const lensCommands = new Map<string, () => void>();

/** What a press with Mod on the name of a table does. */
export const tableLink: { open: (name: string) => void } = { open: () => undefined };

/** Whether hints and lenses are shown. */
export const isHinting = signal(read<boolean>("qlio.hints", (value) => typeof value === "boolean") ?? true);

export function toggleHints(): void {
  isHinting.value = !isHinting.peek();
  write("qlio.hints", isHinting.peek());
}

interface InlayHint {
  position: Position;
  label: string;
  tooltip?: string;
}

interface Lens {
  range: { start: Position };
  command: { title: string; command: string };
}

class Hint extends WidgetType {
  constructor(
    private readonly label: string,
    private readonly words: string,
  ) {
    super();
  }

  override eq(other: Hint): boolean {
    return other.label === this.label;
  }

  override toDOM(): HTMLElement {
    const element = document.createElement("span");
    element.className = "hint";
    element.textContent = this.label;
    element.title = this.words;
    return element;
  }
}

class Lenses extends WidgetType {
  constructor(private readonly lenses: readonly Lens[]) {
    super();
  }

  override eq(other: Lenses): boolean {
    const words = (lenses: readonly Lens[]) => lenses.map(({ command }) => command.title).join("|");
    return words(other.lenses) === words(this.lenses);
  }

  override get estimatedHeight(): number {
    return 22;
  }

  override toDOM(): HTMLElement {
    const row = document.createElement("div");
    row.className = "lenses";
    // For the pointer: who listens has the same as buttons of the toolbar, and by their keys.
    row.ariaHidden = "true";
    // A hover of the text below would cover the lenses.
    row.addEventListener("mousemove", (event) => event.stopPropagation());
    for (const { command } of this.lenses) {
      const run = lensCommands.get(command.command);
      const element = document.createElement(run ? "button" : "span");
      element.textContent = command.title;
      if (run) {
        // The keys of the same commands work here as everywhere.
        element.tabIndex = -1;
        element.addEventListener("click", run);
      }
      row.append(element);
    }
    return row;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

/** The classes of the kinds of the service, whose order its legend tells. */
const CLASSES: Record<string, string> = {
  keyword: "tok-keyword",
  variable: "tok-variableName",
  class: "tok-typeName name-table",
  property: "tok-propertyName",
  parameter: "tok-variableName2",
  function: "tok-function",
  string: "tok-string",
  number: "tok-number",
  comment: "tok-comment",
};

const setAnnotations = StateEffect.define<DecorationSet>();

const field = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(shown, transaction) {
    let next = shown.map(transaction.changes);
    for (const effect of transaction.effects) if (effect.is(setAnnotations)) next = effect.value;
    return next;
  },
  provide: (self) => EditorView.decorations.from(self),
});

class Asking implements PluginValue {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isGone = false;
  private failures = 0;
  /** The lines that the names on the screen were asked for. */
  private known = { from: 0, to: -1 };
  private readonly forget: () => void;

  constructor(
    private readonly view: EditorView,
    private readonly client: LSPClient,
    private readonly uri: string,
  ) {
    this.forget = isHinting.subscribe(() => this.askSoon(0));
  }

  update({ docChanged, viewportChanged }: ViewUpdate): void {
    if (docChanged) this.askSoon(PAUSE_MS);
    else if (viewportChanged && !this.isKnown()) this.askSoon(PAUSE_MS);
  }

  destroy(): void {
    this.isGone = true;
    this.forget();
    clearTimeout(this.timer);
  }

  private shownLines(): { from: number; to: number } {
    const { doc } = this.view.state;
    const { from, to } = this.view.viewport;
    return { from: doc.lineAt(from).number, to: doc.lineAt(to).number };
  }

  private isKnown(): boolean {
    const { from, to } = this.shownLines();
    return from >= this.known.from && to <= this.known.to;
  }

  private askSoon(pause: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.ask(), pause);
  }

  private async ask(): Promise<void> {
    this.client.sync();
    const plugin = LSPPlugin.get(this.view);
    if (this.isGone || !plugin) return;
    const { doc } = this.view.state;
    const isWhole = doc.lines <= WHOLE_LINES_MAX;
    const shown = this.shownLines();
    const lines = isWhole
      ? { from: 1, to: doc.lines }
      : { from: Math.max(1, shown.from - LINES_AROUND), to: Math.min(doc.lines, shown.to + LINES_AROUND) };
    const range = { start: { line: lines.from - 1, character: 0 }, end: plugin.toPosition(doc.line(lines.to).to) };
    const textDocument = { uri: this.uri };
    const isSame = () => !this.isGone && this.view.state.doc === doc;
    // One after the other: what somebody types meanwhile is not kept waiting by all of them.
    const ask = async <Answer,>(method: string, params: object): Promise<Answer[]> => {
      if (!isSame()) return [];
      return (await this.client.request<unknown, Answer[] | null>(`textDocument/${method}`, { textDocument, ...params })) ?? [];
    };
    try {
      const tokens = await this.client.request<unknown, { data: number[] } | null>("textDocument/semanticTokens/range", { textDocument, range });
      const hints = isHinting.peek() ? await ask<InlayHint>("inlayHint", { range }) : [];
      const lenses = isHinting.peek() ? await ask<Lens>("codeLens", {}) : [];
      if (!isSame()) return;
      this.known = lines;
      this.failures = 0;
      const found = [...this.painted(tokens?.data ?? []), ...this.hints(hints, plugin), ...this.lenses(lenses, plugin)];
      this.view.dispatch({ effects: setAnnotations.of(Decoration.set(found, true)) });
    } catch {
      // The connection is gone, or the server is late: it is asked again, a few times.
      this.failures += 1;
      if (isSame() && this.failures <= FAILURES_MAX) this.askSoon(PAUSE_MS);
    }
  }

  private painted(data: readonly number[]): Range<Decoration>[] {
    const { doc } = this.view.state;
    const kinds = this.client.serverCapabilities?.semanticTokensProvider?.legend.tokenTypes ?? [];
    const found: Range<Decoration>[] = [];
    let line = 0;
    let unit = 0;
    for (let at = 0; at + 4 < data.length; at += 5) {
      const [lines = 0, units = 0, length = 0, kind = 0, modifiers = 0] = data.slice(at, at + 5);
      unit = lines > 0 ? units : unit + units;
      line += lines;
      if (line >= doc.lines) break;
      const from = doc.line(line + 1).from + unit;
      const to = Math.min(from + length, doc.length);
      const name = CLASSES[kinds[kind] ?? ""];
      if (name === undefined || to <= from) continue;
      found.push(Decoration.mark({ class: modifiers > 0 ? `${name} tok-definition` : name }).range(from, to));
    }
    return found;
  }

  private hints(hints: readonly InlayHint[], plugin: LSPPlugin): Range<Decoration>[] {
    return hints.map(({ position, label, tooltip = "" }) =>
      Decoration.widget({ widget: new Hint(label, tooltip), side: 1 }).range(plugin.fromPosition(position)),
    );
  }

  private lenses(lenses: readonly Lens[], plugin: LSPPlugin): Range<Decoration>[] {
    const byLine = new Map<number, Lens[]>();
    for (const lens of lenses) {
      const { from } = this.view.state.doc.lineAt(plugin.fromPosition(lens.range.start));
      byLine.set(from, [...(byLine.get(from) ?? []), lens]);
    }
    return [...byLine].map(([from, group]) =>
      Decoration.widget({ widget: new Lenses(group), block: true, side: -1 }).range(from),
    );
  }
}

/** A press with Ctrl or ⌘ on the name of a table leads to what the server says of it. */
const links = EditorView.domEventHandlers({
  mousedown: (event) => {
    const name = (event.target as HTMLElement).closest?.(".name-table")?.textContent;
    if (!name || !(event.ctrlKey || event.metaKey)) return false;
    event.preventDefault();
    tableLink.open(name);
    return true;
  },
});

export function annotations(client: LSPClient, uri: string): Extension {
  return [field, links, ViewPlugin.define((view) => new Asking(view, client, uri))];
}
