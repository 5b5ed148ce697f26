// The plan of the text on the screen, before it runs: asked for when the typing pauses.

import { signal } from "@preact/signals";
import type { ErrorBody, Plan } from "../server/packets.ts";
import { plan } from "../runs/runs.ts";

const PAUSE_MS = 250;
/** Larger texts are planned only when they run. */
const TEXT_CHARS_MAX = 200_000;

/** The plan of the shown text, or why it has none. */
export const preview = signal<{ text: string; plan?: Plan; problem?: ErrorBody }>({ text: "" });

let timer: ReturnType<typeof setTimeout> | undefined;
let newest = "";

/** Asks for the plan of `text`, soon. */
export function previewSoon(text: string): void {
  clearTimeout(timer);
  newest = text;
  timer = setTimeout(() => void ask(text), PAUSE_MS);
}

async function ask(text: string): Promise<void> {
  if (text.trim() === "" || text.length > TEXT_CHARS_MAX) {
    preview.value = { text };
    return;
  }
  const packet = await plan(text);
  if (newest !== text || !packet) return;
  if (packet.type === "plan") preview.value = { text, plan: packet.data as Plan };
  else if (packet.type === "compile-error") {
    preview.value = { text, problem: (packet.data as { data?: ErrorBody }).data ?? {} };
  }
}
