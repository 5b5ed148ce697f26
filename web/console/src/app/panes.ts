// Which panes are shown: on narrow screens one of five, on others a lower and a side pane by choice.

import { signal } from "@preact/signals";
import { read, write } from "../scripts/storage.ts";

export type Pane = "script" | "result" | "plan" | "calls" | "browse";
export type Lower = "plan" | "calls" | "variables";
export type Side = "tables" | "routes" | "formats" | "history" | "scripts";

export const pane = signal<Pane>("script");
export const lower = signal<Lower>("plan");
export const side = signal<Side>("tables");
export const isSideShown = signal(read<boolean>("qlio.side", (value) => typeof value === "boolean") ?? innerWidth > 1100);

export function toggleSide(isShown = !isSideShown.peek()): void {
  isSideShown.value = isShown;
  write("qlio.side", isShown);
}

/** Brings a pane to the front and the focus into it. */
export function showPane(name: Pane): void {
  pane.value = name;
  if (name === "plan" || name === "calls") lower.value = name;
  if (name === "browse") toggleSide(true);
  requestAnimationFrame(() => {
    for (const inside of [".cm-content", ".virtual", "input", "[role=tab][aria-selected=true]"]) {
      const element = document.querySelector<HTMLElement>(`.pane-${name} ${inside}`);
      if (!element) continue;
      element.focus();
      return;
    }
  });
}
