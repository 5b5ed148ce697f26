// The connection to the language service, which runs in a worker of the page.

import { LSPClient, type Transport, findReferencesKeymap, formatKeymap, hoverTooltips, jumpToDefinitionKeymap, renameKeymap, serverCompletion, signatureHelp } from "@codemirror/lsp-client";
import { keymap } from "@codemirror/view";
import { signal } from "@preact/signals";
import { cleanHtml } from "../../../console/src/parts/clean-html.ts";
import { AppWorkspace, type Keeper } from "./workspace.ts";

/** The folder of the app, which lies nowhere. */
export const ROOT = "file:///app/";

/** A slow machine compiles the module first. */
const ANSWER_MS_MAX = 30_000;

const canHover = matchMedia("(hover: hover)").matches;

export type State = "loading" | "ready" | { failed: string };
export const state = signal<State>("loading");

export class Service {
  readonly client: LSPClient;
  readonly #worker: Worker;
  readonly #handlers = new Set<(text: string) => void>();

  /** @param files all texts, by their URIs: a script belongs to the app if there is such a file */
  constructor(keeper: Keeper, files: [string, string][]) {
    state.value = "loading";
    this.#worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.#worker.addEventListener("message", ({ data }) => this.#hear(data));
    this.#worker.addEventListener("error", ({ message }) => this.#hear({ failed: message || "the worker did not start" }));
    for (const file of files) this.put(...file);
    this.client = new LSPClient({
      rootUri: ROOT,
      timeout: ANSWER_MS_MAX,
      sanitizeHTML: cleanHtml,
      workspace: (client) => new AppWorkspace(client, keeper),
      extensions: [
        serverCompletion(),
        canHover ? hoverTooltips({ hoverTime: 250 }) : [],
        signatureHelp(),
        keymap.of([...formatKeymap, ...renameKeymap, ...jumpToDefinitionKeymap, ...findReferencesKeymap]),
      ],
    });
    const transport: Transport = {
      send: (message) => this.#worker.postMessage({ message }),
      subscribe: (handler) => void this.#handlers.add(handler),
      unsubscribe: (handler) => void this.#handlers.delete(handler),
    };
    this.client.connect(transport);
    this.client.initializing.then(
      () => (state.value = "ready"),
      (error: unknown) => this.#hear({ failed: String(error) }),
    );
  }

  get workspace(): AppWorkspace {
    return this.client.workspace as AppWorkspace;
  }

  /** Hands a file in, new or changed; of scripts the open text is what counts. */
  put(uri: string, text: string): void {
    this.#worker.postMessage({ file: [uri, text] });
  }

  /** Says that files are others now. */
  changed(): void {
    this.client.notification("workspace/didChangeWatchedFiles", { changes: [] });
  }

  /** The plan of a script, as text or as a picture; fails with the reason if it has none. */
  plan(uri: string, format: "text" | "svg"): Promise<string> {
    this.client.sync();
    return this.client.request<unknown, string>("workspace/executeCommand", { command: "qlio.plan", arguments: [uri, format] });
  }

  end(): void {
    this.#handlers.clear();
    this.#worker.terminate();
  }

  #hear(data: { message?: string; failed?: string }): void {
    if (data.failed !== undefined) state.value = { failed: data.failed };
    if (data.message !== undefined) for (const handler of this.#handlers) handler(data.message);
  }
}
