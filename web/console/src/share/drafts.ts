// Route files of the server, in development mode: read, checked, written and put back.

import { signal } from "@preact/signals";
import { tell } from "../parts/clipboard.ts";
import { show } from "../scripts/scripts.ts";
import { serverInfo } from "../server/catalog.ts";
import { urlOf } from "../server/place.ts";

export interface Problem {
  file: string;
  line: number;
  column: number;
  severity: "error" | "warning";
  code: string;
  message: string;
}

/** What the server says of a route file. */
export interface Drafted {
  file: string;
  /** What it held before; null if it was not there. */
  before: string | null;
  /** What tells what it holds now from anything else; null if it is not there. */
  version: string | null;
  routes: { method: string; path: string }[];
  problems: Problem[];
  reload?: { verdict: "replaced" | "unchanged" | "refused"; message: string };
}

/** What the server refuses, with what it says about that. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly said: Partial<Drafted>,
  ) {
    super(message);
  }
}

interface Wish {
  file: string;
  text?: string | null;
  version?: string | null;
  write?: boolean;
}

export async function draft(wish: Wish): Promise<Drafted> {
  let answer: Response;
  try {
    answer = await fetch(urlOf("console/routes"), {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify(wish),
    });
  } catch (error) {
    throw new Refused(`the server did not answer: ${error instanceof Error ? error.message : String(error)}`, 0, {});
  }
  const said = (await answer.json().catch(() => ({}))) as Drafted & { message?: string };
  if (!answer.ok) throw new Refused(said.message ?? `the server answers with status ${answer.status}`, answer.status, said);
  return said;
}

/** Whether the dialog to save is open. */
export const isSaving = signal(false);

/** Whether scripts can be saved as routes of this server. */
export function canSave(): boolean {
  return serverInfo.value?.drafts === true;
}

export function askToSave(): void {
  isSaving.value = true;
}

/** Opens a route file as a script. */
export async function openFile(file: string): Promise<void> {
  try {
    const { before } = await draft({ file });
    if (before === null) tell(`${file} has gone`);
    else show(before, file);
  } catch (error) {
    tell(error instanceof Error ? error.message : String(error));
  }
}

/** Whether a script says already which route it is. */
export function hasRoute(text: string): boolean {
  return /\bvia\s+route\b/.test(withoutTexts(text));
}

/** The script as the route at a path. */
export function withRoute(text: string, method: string, path: string): string {
  const script = text.trimEnd().replace(/;$/, "");
  return `${script}\n  via route '${path.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'\n  using method ${method}\n`;
}

/** A name for the file of the route at a path. */
export function fileFor(path: string): string {
  const words = (path.split("?")[0] ?? "").split("/").filter((part) => /^[\w-]+$/.test(part));
  return words.length > 0 ? `${words.join("-").toLowerCase()}.ql` : "";
}

/** Comments and quoted texts say nothing of the script. */
function withoutTexts(text: string): string {
  return text.replace(/--[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g, " '' ");
}
