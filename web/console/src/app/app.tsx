// The page: script and result above, plan and calls below, tables and routes beside. On narrow screens
// one of them at a time.

import { useEffect, useRef } from "preact/hooks";
import { BrowsePane } from "../browse/browse-pane.tsx";
import { CallsPane } from "../calls/calls-pane.tsx";
import { VariablesPane } from "../debug/variables-pane.tsx";
import { createEditor, destroyEditor } from "../editor/editor.ts";
import { connections, serviceState } from "../editor/language-service.ts";
import { MenuHost } from "../parts/menu.tsx";
import { Splitter } from "../parts/splitter.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { PlanPane } from "../plan/plan-pane.tsx";
import { ResultPane } from "../result/result-pane.tsx";
import { current, spoken } from "../runs/runs.ts";
import { SaveRoute } from "../share/save-route.tsx";
import { Banners, Header } from "./header.tsx";
import { Help, Palette } from "./palette.tsx";
import { type Pane, isSideShown, lower, pane } from "./panes.ts";
import { Toolbar } from "./toolbar.tsx";

export function App() {
  return (
    <div class="page" data-pane={pane.value} data-side={isSideShown.value}>
      <Header />
      <Banners />
      <aside class="pane pane-browse" aria-label="Tables, routes and history">
        <BrowsePane />
      </aside>
      <main class="work">
        <div class="upper">
          <section class="pane pane-script" aria-label="Script">
            <Toolbar />
            <Editor />
          </section>
          <Splitter name="script-width" label="Width of the script" direction="vertical" initial={55} />
          <section class="pane pane-result" aria-label="Result">
            <ResultPane />
          </section>
        </div>
        <Splitter name="upper-height" label="Height of script and result" direction="horizontal" initial={60} />
        <LowerPane />
      </main>
      <BottomTabs />
      <MenuHost />
      <Palette />
      <Help />
      <SaveRoute />
      <p class="spoken" role="status" aria-live="polite">
        {spoken.value}
      </p>
    </div>
  );
}

function Editor() {
  const holder = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (holder.current) createEditor(holder.current);
    return destroyEditor;
  }, []);
  return <div class="editor" data-language={connections.value > 0 && serviceState.value === "open" ? "on" : "off"} ref={holder} />;
}

function LowerPane() {
  const run = current.value;
  void run?.revision.value;
  const calls = (run?.exchanges.length ?? 0) + (run?.exchangesLeftOut ?? 0);
  const shown = lower.value;
  return (
    <section class={`pane pane-lower pane-plan pane-calls`} aria-label="Plan and calls">
      <Tabs
        label="Plan, calls, variables"
        panel="lower-view"
        chosen={shown}
        onChoose={(name) => (lower.value = name)}
        tabs={[
          { name: "plan", label: "Plan" },
          { name: "calls", label: calls > 0 ? `Calls (${calls})` : "Calls" },
          { name: "variables", label: "Variables" },
        ]}
      />
      <div class="lower-view" id="lower-view" role="tabpanel" aria-label={shown}>
        {shown === "plan" && <PlanPane />}
        {shown === "calls" && <CallsPane />}
        {shown === "variables" && <VariablesPane />}
      </div>
    </section>
  );
}

const PANES: readonly { name: Pane; label: string }[] = [
  { name: "script", label: "Script" },
  { name: "result", label: "Result" },
  { name: "plan", label: "Plan" },
  { name: "calls", label: "Calls" },
  { name: "browse", label: "Browse" },
];

function BottomTabs() {
  return (
    <nav class="bottom-tabs" aria-label="Panes">
      {PANES.map(({ name, label }) => (
        <button
          key={name}
          aria-current={pane.value === name ? "page" : undefined}
          onClick={() => {
            pane.value = name;
            if (name === "plan" || name === "calls") lower.value = name;
          }}
        >
          {label}
        </button>
      ))}
    </nav>
  );
}
