// The plan: a row for each statement, by depth before a run and by time during and after it.

import { useMemo } from "preact/hooks";
import { editorView, goTo, shownText } from "../editor/editor.ts";
import type { Plan, PlanNode } from "../server/packets.ts";
import type { Run, Statement } from "../runs/run.ts";
import { current } from "../runs/runs.ts";
import { active } from "../scripts/scripts.ts";
import { serverInfo } from "../server/catalog.ts";
import { VirtualRows } from "../parts/virtual.tsx";
import { type Latency, latencyOf } from "./latency.ts";
import { preview } from "./preview.ts";
import { shapeOf, wordOf } from "./states.ts";

const ROW_PX = 30;

interface PlanRow {
  node: PlanNode;
  statement: Statement | undefined;
}

export function PlanPane() {
  const run = current.value;
  void run?.revision.value;
  const text = active.value?.text ?? "";
  const isOfText = run !== undefined && run.text === text && run.plan !== undefined;
  const plan = isOfText ? run.plan : preview.value.text === text ? preview.value.plan : undefined;
  if (plan) return <Rows plan={plan} run={isOfText ? run : undefined} />;
  if (run && run.statements.size > 0 && run.text === text) return <Rows plan={planOfStatements(run)} run={run} />;
  const problem = preview.value.text === text ? preview.value.problem : undefined;
  return (
    <div class="empty">
      <p>{problem ? `No plan: ${problem.message ?? "the script does not compile"}` : emptyWords()}</p>
    </div>
  );
}

function emptyWords(): string {
  return serverInfo.value?.trace === "none" ? "This server shows no plans." : "The plan of the script shows here.";
}

/** What a run has told, as rows, where the server sends no plan. */
function planOfStatements(run: Run): Plan {
  const nodes = [...run.statements.values()].map(({ node, line }, row) => ({
    id: node,
    ...(line === undefined ? {} : { line }),
    kind: "statement",
    depth: 0,
    row,
  }));
  return { nodes, edges: [] };
}

function Rows({ plan, run }: { plan: Plan; run: Run | undefined }) {
  const revision = run?.revision.value;
  const rows = useMemo(
    () =>
      [...plan.nodes]
        .sort((a, b) => a.row - b.row)
        .filter(({ standsIn }) => !standsIn)
        .filter(({ kind, line }) => kind !== "return" || line === undefined || !hasOther(plan, line))
        .map((node): PlanRow => ({ node, statement: run?.statements.get(node.id) })),
    [plan, run, revision],
  );
  const latency = run?.isOver && plan.edges.length > 0 ? latencyOf(plan, run) : undefined;
  const total = Math.max(1, latency?.total ?? run?.elapsed ?? run?.now() ?? 1);
  const depths = Math.max(1, ...plan.nodes.map(({ depth }) => depth + 1));
  return (
    <div class="plan">
      <p class="plan-summary">
        {latency && run ? <After latency={latency} plan={plan} run={run} /> : <Before plan={plan} />}
      </p>
      <VirtualRows
        class="plan-rows"
        role="treegrid"
        label="Statements of the plan"
        columns={4}
        count={rows.length}
        rowHeight={ROW_PX}
        onKeyDown={moveFocus}
        row={(index, top) => {
          const row = rows[index];
          if (!row) return null;
          return (
            <Row key={row.node.id} row={row} top={top} index={index} depths={depths} total={total} latency={latency} run={run} />
          );
        }}
      />
    </div>
  );
}

/** A return that stands in the line of another node is that node, for a reader. */
function hasOther(plan: Plan, line: number): boolean {
  return plan.nodes.some((other) => other.kind !== "return" && other.line === line);
}

function Before({ plan }: { plan: Plan }) {
  return (
    <>
      {plan.summary ?? "What the run has told so far."}
      <span class="budget">{budgetOf(plan)}</span>
    </>
  );
}

/** How many calls the run may make, in words. */
function budgetOf({ requests }: Plan): string {
  if (!requests) return "";
  const { most, least, perStatement } = requests;
  if (most !== undefined) return ` · at most ${most} ${most === 1 ? "call" : "calls"}`;
  if (least === undefined) return "";
  const bound = perStatement === undefined ? "" : `, at most ${perStatement} for each statement`;
  return ` · at least ${least} ${least === 1 ? "call" : "calls"}${bound}`;
}

function After({ latency, plan, run }: { latency: Latency; plan: Plan; run: Run }) {
  const line = (id: string) => plan.nodes.find((node) => node.id === id)?.line ?? "?";
  const time = (id: string) => Math.round(run.statements.get(id)?.elapsed ?? 0);
  const path = latency.criticalPath.map((id) => `line ${line(id)} (${time(id)} ms)`).join(" → ");
  return (
    <>
      total {Math.round(latency.total)} ms{path && `; critical path: ${path}`}
    </>
  );
}

interface RowProps {
  row: PlanRow;
  top: number;
  index: number;
  depths: number;
  total: number;
  latency: Latency | undefined;
  run: Run | undefined;
}

function Row({ row: { node, statement }, top, index, depths, total, latency, run }: RowProps) {
  const isCritical = latency?.criticalPath.includes(node.id) ?? false;
  const isNext = run?.pause?.waiting[0]?.node === node.id;
  const state = statement?.state ?? "waiting";
  const slack = latency?.nodes.get(node.id)?.slack ?? 0;
  const calls = statement && statement.asked > 0 ? `${statement.answered} of ${statement.asked}` : "";
  const elapsed = statement?.elapsed === undefined || state === "skipped" ? "" : `${Math.round(statement.elapsed)} ms`;
  const rows = statement?.rows === undefined ? "" : `${statement.rows} ${statement.rows === 1 ? "row" : "rows"}`;
  const notes = [
    isCritical ? "critical path" : "",
    latency && slack >= 1 && elapsed ? `${Math.round(slack)} ms slack` : "",
    isNext ? "next" : "",
  ].filter(Boolean);
  const words = labelOf(node);
  const name = [`line ${node.line ?? "–"}`, words, run ? wordOf(state) : "", elapsed, calls && `${calls} calls`, rows, ...notes];
  return (
    <div
      role="row"
      aria-rowindex={index + 1}
      aria-label={name.filter(Boolean).join(", ")}
      class={`plan-row state-${run ? state : "planned"} ${isCritical ? "critical" : ""} ${isNext ? "next" : ""}`}
      style={{ transform: `translateY(${top}px)` }}
      tabIndex={-1}
      onClick={() => node.line !== undefined && shownText() !== "" && goTo(node.line)}
      onKeyDown={(event) => event.key === "Enter" && node.line !== undefined && goTo(node.line)}
    >
      <span role="gridcell" class="plan-state" title={run ? wordOf(state) : ""}>
        {run ? shapeOf(state) : ""}
      </span>
      <span role="gridcell" class="plan-label" title={words}>
        <b>{node.line ?? "–"}</b> {words}
      </span>
      <span role="gridcell" class="plan-bar">
        <i class="bar-fill" style={run && statement ? barOfTime(statement, run, total, latency) : barOfDepth(node, depths)} />
      </span>
      <span role="gridcell" class="plan-facts">
        {calls && <span>{calls} calls</span>}
        {rows && <span>{rows}</span>}
        {elapsed && <span>{elapsed}</span>}
        {notes.map((note) => (
          <span key={note} class="note-chip">
            {note}
          </span>
        ))}
      </span>
    </div>
  );
}

function labelOf({ label, kind, assign, tables }: PlanNode): string {
  if (label) return label.replace(/^\[[^\]]*\]\s*/, "");
  return [assign ? `${assign} =` : "", kind, ...(tables ?? [])].filter(Boolean).join(" ");
}

function barOfDepth({ depth }: PlanNode, depths: number): Record<string, string> {
  return { left: `${(depth / depths) * 100}%`, width: `${100 / depths}%` };
}

/** Of a run that is over the bars stand where the statements could start; before, where they were heard to. */
function barOfTime(
  { node, started = 0, elapsed, state }: Statement,
  run: Run,
  total: number,
  latency: Latency | undefined,
): Record<string, string> {
  if (state === "waiting" || state === "skipped") return { display: "none" };
  const length = elapsed ?? run.now() - started;
  const from = Math.min(latency?.nodes.get(node)?.start ?? started, Math.max(0, total - length));
  return { left: `${(from / total) * 100}%`, width: `max(3px, ${Math.min(100, (length / total) * 100)}%)` };
}

/** Arrow keys move between the rows. */
function moveFocus(event: KeyboardEvent): void {
  const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (move === undefined) return;
  const rows = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[role=row]")];
  const place = rows.indexOf(document.activeElement as HTMLElement);
  const next = rows[Math.max(0, Math.min(rows.length - 1, place + move))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  event.preventDefault();
}

export function focusPlan(): void {
  document.querySelector<HTMLElement>(".plan-rows")?.focus();
  if (!document.querySelector(".plan-rows")) editorView()?.focus();
}
