// Problems of the text, asked for when the typing pauses: with their codes, and marked where they are.

import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { type LSPClient, LSPPlugin } from "@codemirror/lsp-client";
import type { Extension } from "@codemirror/state";
import { type EditorView, type PluginValue, ViewPlugin, type ViewUpdate } from "@codemirror/view";
import type { Position } from "./positions.ts";
import { offerFixes } from "./quick-fixes.ts";

const PAUSE_MS = 150;

interface Item {
  range: { start: Position; end: Position };
  severity?: number;
  code?: string | number;
  message: string;
}

class Asking implements PluginValue {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isGone = false;

  constructor(
    private readonly view: EditorView,
    private readonly client: LSPClient,
    private readonly uri: string,
  ) {
    this.askSoon(0);
  }

  update({ docChanged }: ViewUpdate): void {
    if (docChanged) this.askSoon(PAUSE_MS);
  }

  destroy(): void {
    this.isGone = true;
    clearTimeout(this.timer);
  }

  private askSoon(pause: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.ask(), pause);
  }

  private async ask(): Promise<void> {
    this.client.sync();
    const { doc } = this.view.state;
    const textDocument = { uri: this.uri };
    let items: Item[];
    try {
      ({ items } = await this.client.request<unknown, { items: Item[] }>("textDocument/diagnostic", { textDocument }));
    } catch {
      // The connection is gone or the server is late; the next change asks again.
      return;
    }
    const plugin = LSPPlugin.get(this.view);
    if (this.isGone || !plugin || this.view.state.doc !== doc) return;
    const found = items.map((item) => this.diagnostic(item, plugin));
    this.view.dispatch(setDiagnostics(this.view.state, found));
  }

  private diagnostic({ range, severity, code, message }: Item, plugin: LSPPlugin): Diagnostic {
    return {
      from: plugin.fromPosition(range.start),
      to: plugin.fromPosition(range.end),
      severity: severity === 2 ? "warning" : severity === undefined || severity === 1 ? "error" : "info",
      message: code === undefined ? message : `${code}: ${message}`,
      ...(/\nhint: /.test(message)
        ? {
            actions: [
              {
                name: "Fix",
                apply: (view: EditorView, from: number) => void offerFixes(this.client, this.uri, view, from),
              },
            ],
          }
        : {}),
    };
  }
}

export function diagnostics(client: LSPClient, uri: string): Extension {
  return ViewPlugin.define((view) => new Asking(view, client, uri));
}
