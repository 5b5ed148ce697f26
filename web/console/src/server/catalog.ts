// What the server has: its tables and routes, and what it allows.

import { signal } from "@preact/signals";
import { urlOf } from "./place.ts";

export interface Param {
  variable: string;
  required?: boolean;
  default?: unknown;
}

export interface Verb {
  method?: string;
  uri?: string;
  params?: Param[];
  headers?: Record<string, string>;
  body?: unknown;
}

export const VERBS = ["select", "insert", "update", "delete"] as const;

export type Table = { name: string; info?: string; routes?: string[] } & Partial<Record<(typeof VERBS)[number], Verb>>;

export interface Route {
  method: string;
  path: string;
  info?: string;
  tables?: string[];
  /** Its file below the folder of routes; told in development mode. */
  file?: string;
  params?: Param[];
  [member: string]: unknown;
}

export interface ServerInfo {
  version: string;
  isDev: boolean;
  adhoc: boolean;
  trace: "full" | "progress" | "none";
  metadata: string;
  lsp?: boolean;
  /** Route files can be saved from here. */
  drafts?: boolean;
  /** Most bytes of a message to the console, and to the language service. */
  frameBytes?: number;
  messageBytes?: number;
}

/** What servers take that say nothing of it. */
const FRAME_BYTES = 65_536;
const MESSAGE_BYTES = 1 << 20;

export const serverInfo = signal<ServerInfo | undefined>(undefined);
export const tables = signal<readonly Table[]>([]);
export const routes = signal<readonly Route[]>([]);
/** Why there is no list, in words. */
export const catalogProblem = signal("");

/** Whether a text can be a message to the console, or to the language service: a longer one would end the connection. */
export function fits(text: string, to: "console" | "language"): boolean {
  const info = serverInfo.peek();
  const most = to === "console" ? (info?.frameBytes ?? FRAME_BYTES) : (info?.messageBytes ?? MESSAGE_BYTES);
  // No text is shorter in bytes, and none is longer than three times as much.
  return text.length * 3 <= most || (text.length <= most && new TextEncoder().encode(text).length <= most);
}

/** Asks for all of it; also when a connection comes back, as the server may be another then. */
export async function loadCatalog(): Promise<void> {
  try {
    const answer = await fetch(urlOf("console/catalog"), { headers: { accept: "application/json" } });
    if (!answer.ok) throw new Error(`the server answers with status ${answer.status}`);
    const catalog = (await answer.json()) as { server: ServerInfo; tables: Table[]; routes: Route[] };
    serverInfo.value = catalog.server;
    tables.value = catalog.tables;
    routes.value = catalog.routes;
    catalogProblem.value = "";
  } catch (error) {
    catalogProblem.value = `Tables and routes cannot be listed: ${error instanceof Error ? error.message : String(error)}.`;
  }
}
