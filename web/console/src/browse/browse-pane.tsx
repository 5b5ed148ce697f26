// The side pane: tables, routes, the playground of formats, history of runs, closed scripts.

import { Tabs } from "../parts/tabs.tsx";
import { type Side, side } from "../app/panes.ts";
import { FormatsPane } from "./formats-pane.tsx";
import { HistoryPane } from "./history-pane.tsx";
import { RoutesPane } from "./routes-pane.tsx";
import { ScriptsPane } from "./scripts-pane.tsx";
import { TablesPane } from "./tables-pane.tsx";

const SIDES: readonly { name: Side; label: string }[] = [
  { name: "tables", label: "Tables" },
  { name: "routes", label: "Routes" },
  { name: "formats", label: "Formats" },
  { name: "history", label: "Runs" },
  { name: "scripts", label: "Closed" },
];

export function BrowsePane() {
  const shown = side.value;
  return (
    <>
      <Tabs label="Side pane" panel="side-view" tabs={SIDES} chosen={shown} onChoose={(name) => (side.value = name)} />
      <div class="side-view" id="side-view" role="tabpanel" aria-label={shown}>
        {shown === "tables" && <TablesPane />}
        {shown === "routes" && <RoutesPane />}
        {shown === "formats" && <FormatsPane />}
        {shown === "history" && <HistoryPane />}
        {shown === "scripts" && <ScriptsPane />}
      </div>
    </>
  );
}
