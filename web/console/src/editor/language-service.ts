// The language service of the server: the same that editors get from `qlio lsp`, over a WebSocket.

import { autocompletion } from "@codemirror/autocomplete";
import {
  LSPClient,
  type Transport,
  findReferencesKeymap,
  formatKeymap,
  hoverTooltips,
  jumpToDefinitionKeymap,
  renameKeymap,
  serverCompletion,
  signatureHelp,
} from "@codemirror/lsp-client";
import type { Extension } from "@codemirror/state";
import { keymap } from "@codemirror/view";
import { signal } from "@preact/signals";
import { cleanHtml } from "../parts/clean-html.ts";
import { fits } from "../server/catalog.ts";
import { socketUrl } from "../server/place.ts";
import { Socket } from "../server/socket.ts";
import { annotations } from "./annotations.ts";
import { diagnostics } from "./diagnostics.ts";
import { quickFixes } from "./quick-fixes.ts";
import { usesOf } from "./uses.ts";

/** Answers that take longer are given up. */
const ANSWER_MS_MAX = 5_000;

const MESSAGE_REST_BYTES = 1_024;

/** Where a finger points, there is nothing to hover with, and a touch would cover the page. */
const canHover = matchMedia("(hover: hover)").matches;

/** The client, as long as there is a connection. */
let client: LSPClient | undefined;
const handlers = new Set<(text: string) => void>();

/** Counts connections; editors ask for their extension anew when it changes. */
export const connections = signal(0);

const socket = new Socket(socketUrl(), "qlio-lsp", {
  opened: connect,
  received: (text) => {
    for (const handler of handlers) handler(text);
  },
  closed: () => {
    if (!client) return;
    client.disconnect();
    client = undefined;
    connections.value += 1;
  },
});

export const serviceState = socket.state;

const transport: Transport = {
  send: (text) => {
    if (fits(text, "language")) socket.send(text);
    else leaveOut();
  },
  subscribe: (handler) => void handlers.add(handler),
  unsubscribe: (handler) => void handlers.delete(handler),
};

function connect(): void {
  client = new LSPClient({
    rootUri: "inmemory:///",
    timeout: ANSWER_MS_MAX,
    initializationOptions: { commands: ["qlio.run"] },
    sanitizeHTML: cleanHtml,
    extensions: [
      serverCompletion(),
      canHover ? hoverTooltips({ hoverTime: 250 }) : [],
      signatureHelp(),
      keymap.of([...formatKeymap, ...renameKeymap, ...jumpToDefinitionKeymap, ...findReferencesKeymap]),
    ],
  });
  client.connect(transport);
  const connected = client;
  connected.initializing.then(
    () => {
      if (connected === client) connections.value += 1;
    },
    () => undefined,
  );
}

/** The shown script is too long for the service. */
export const isLeftOut = signal(false);

/** Whether the service could be told a text. The rest of the message is not as long as what is kept free for it. */
export function canBeTold(text: string): boolean {
  return fits(JSON.stringify(text) + " ".repeat(MESSAGE_REST_BYTES), "language");
}

/** The service hears no more of a script when a change of it is too long: editors ask for their extension anew. */
function leaveOut(): void {
  queueMicrotask(() => (connections.value += 1));
}

export function uriOf(id: string): string {
  return `inmemory:///console/${encodeURIComponent(id)}.ql`;
}

/** What connects the script `id`, which people know by its title, to the service; nothing while there is no connection. */
export function service(id: string, text: string, title: () => string): Extension {
  isLeftOut.value = !canBeTold(text);
  if (isLeftOut.peek()) return autocompletion({ override: [] });
  if (!client || client.serverCapabilities === null) return autocompletion({ override: [] });
  const uri = uriOf(id);
  return [client.plugin(uri, "qlio"), diagnostics(client, uri), quickFixes(client, uri), annotations(client, uri), usesOf(title)];
}

export function languageClient(): LSPClient | undefined {
  return client;
}
