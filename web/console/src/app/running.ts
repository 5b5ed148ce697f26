// Running what stands on the screen, and why that may not be possible now.

import { computed } from "@preact/signals";
import { keepCalls } from "../calls/calls-pane.tsx";
import { shownText } from "../editor/editor.ts";
import { preview } from "../plan/preview.ts";
import { current, socket, start } from "../runs/runs.ts";
import { active, tellChange } from "../scripts/scripts.ts";
import { serverInfo } from "../server/catalog.ts";
import { pushAddress } from "../share/address.ts";
import { lower, pane } from "./panes.ts";

/** Why nothing can be run; empty if it can. */
export const whyNot = computed(() => {
  if (serverInfo.value?.adhoc === false) return "Scripts of one's own are switched off on this server.";
  if (socket.state.value === "connecting") return "Connecting to the server …";
  if (socket.state.value === "lost") return "There is no connection to the server.";
  const text = active.value?.text ?? "";
  if (text.trim() === "") return "There is nothing to run.";
  const { problem } = preview.value;
  if (problem && preview.value.text === text) {
    const place = problem.line === undefined ? "" : `Line ${problem.line}${problem.column === undefined ? "" : `, column ${problem.column}`}: `;
    return `${place}${problem.message ?? "the script does not compile"}`;
  }
  return "";
});

/** Why nothing can be run step by step; empty if it can. */
export const whyNoSteps = computed(() => {
  if (whyNot.value !== "") return whyNot.value;
  if (serverInfo.value?.trace === "none") return "This server does not tell of steps.";
  if (socket.state.value === "absent") return "Without a WebSocket, scripts run in one go.";
  return "";
});

/** Runs the text on the screen. */
export function runShown(isDebug = false): void {
  tellChange();
  const script = active.peek();
  if (!script || (isDebug ? whyNoSteps : whyNot).peek() !== "") return;
  const text = shownText();
  keepCalls(current.peek()?.exchanges ?? []);
  const run = start(script.id, text, isDebug);
  if (!run) return;
  if (isDebug) lower.value = "variables";
  else if (lower.peek() === "variables") lower.value = "plan";
  if (pane.peek() === "script" && matchMedia("(max-width: 640px)").matches) pane.value = "result";
  void pushAddress(text, script.id);
}
