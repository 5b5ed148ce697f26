// The console: puts its parts together and shows the page.

import { effect } from "@preact/signals";
import { render } from "preact";
import { App } from "./app/app.tsx";
import { listenForKeys } from "./app/commands.ts";
import { showPane, side } from "./app/panes.ts";
import { runShown } from "./app/running.ts";
import { wantedTable } from "./browse/tables-pane.tsx";
import { followTarget } from "./debug/stepping.ts";
import { adoptStyles } from "./editor/adopted-styles.ts";
import { lensCommands, tableLink } from "./editor/annotations.ts";
import { drawMarks, moveScript, refreshService, reloadScript, showScript } from "./editor/editor.ts";
import { connections } from "./editor/language-service.ts";
import { previewSoon } from "./plan/preview.ts";
import { onChange, reloads, socket } from "./runs/runs.ts";
import { active, activeId, begin, openScripts } from "./scripts/scripts.ts";
import { loadCatalog } from "./server/catalog.ts";
import { followAddress, markEntry, scriptOfAddress, scriptOfEntry } from "./share/address.ts";

async function main(): Promise<void> {
  adoptStyles();
  const text = await scriptOfAddress();
  // A reload goes on with the script as it was edited, not as the address has it.
  const known = openScripts.peek().find(({ id }) => id === scriptOfEntry());
  begin(known ? undefined : text, { forked: moveScript, rewritten: reloadScript });
  if (known) activeId.value = known.id;
  markEntry(activeId.peek());
  followAddress();

  const holder = document.getElementById("console");
  if (!holder) throw new Error("the page has no place for the console");
  holder.replaceChildren();
  render(<App />, holder);

  lensCommands.set("qlio.run", () => runShown());
  lensCommands.set("qlio.plan", () => showPane("plan"));
  tableLink.open = (name) => {
    side.value = "tables";
    wantedTable.value = name;
    showPane("browse");
  };
  listenForKeys();
  followTarget();
  effect(() => showScript(activeId.value));
  effect(() => {
    if (connections.value > 0) refreshService();
  });
  effect(() => {
    if (socket.state.value === "open") previewSoon(active.value?.text ?? "");
  });
  effect(() => {
    if (socket.state.value === "open" || socket.state.value === "absent") void loadCatalog();
  });
  effect(() => {
    if (reloads.value === 0) return;
    void loadCatalog();
    refreshService();
    previewSoon(active.peek()?.text ?? "");
  });
  onChange(drawMarks);
}

void main();
