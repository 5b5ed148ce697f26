// What the run came to: as JSON, table, text, or as it came. HTML is shown in a frame without any rights.

import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { callsText } from "../calls/timeline.ts";
import { copy, download, tell } from "../parts/clipboard.ts";
import { Icon } from "../parts/icons.tsx";
import { indentJson, readJson } from "../parts/json-text.ts";
import { Tabs } from "../parts/tabs.tsx";
import { goTo } from "../editor/editor.ts";
import type { ErrorBody } from "../server/packets.ts";
import type { Result, Run } from "../runs/run.ts";
import { current, isJson } from "../runs/runs.ts";
import { csvOf, tableOf } from "./rows.ts";
import { TableView } from "./table-view.tsx";
import { TextView } from "./text-view.tsx";

type View = "json" | "table" | "page" | "text" | "raw";

const wanted = signal<View>("json");
const isSearchWanted = signal(false);
const hidden = signal<ReadonlySet<string>>(new Set());

/** Values of so many characters are read as JSON for the table; larger ones stay text. */
const TABLE_CHARS_MAX = 30_000_000;

/** Whether longer ones are rows is found out when somebody wants to see them as a table. */
const TABLE_AT_ONCE_CHARS_MAX = 1_000_000;

/** Opens the search of the shown result. */
export function searchResult(): void {
  if (wanted.peek() === "table") wanted.value = "json";
  isSearchWanted.value = true;
}

export function ResultPane() {
  const run = current.value;
  void run?.revision.value;
  if (!run) return <Empty />;
  return (
    <div class="result" aria-busy={!run.isOver}>
      <RunLine run={run} />
      {run.problem && <Problem problem={run.problem} />}
      {run.warnings.length > 0 && <Warnings run={run} />}
      {run.result ? <Shown key={run.number} result={run.result} /> : !run.isOver && <p class="quiet">Waiting for the result …</p>}
    </div>
  );
}

function Empty() {
  return (
    <div class="empty">
      <p>Run the script to see what it returns.</p>
      <p>
        <kbd>Ctrl</kbd> <kbd>Enter</kbd>
      </p>
    </div>
  );
}

function RunLine({ run }: { run: Run }) {
  const words = { running: "running", done: "done", failed: "failed", cancelled: "stopped", lost: "connection lost" };
  const calls = run.exchanges.length + run.exchangesLeftOut;
  return (
    <p class={`run-line run-${run.state}`}>
      <strong>Run {run.number}</strong>
      <span>{words[run.state]}</span>
      {run.elapsed !== undefined && <span>{Math.round(run.elapsed)} ms</span>}
      <span>{callsText(calls)}</span>
    </p>
  );
}

function Problem({ problem }: { problem: ErrorBody }) {
  const { message = "The script failed.", line, column, hint } = problem;
  return (
    <div class="problem" role="alert">
      <p>
        {line !== undefined && (
          <button class="link" onClick={() => goTo(line, column)}>
            Line {line}
            {column !== undefined && `, column ${column}`}
          </button>
        )}{" "}
        {message}
      </p>
      {hint && <p class="hint">{hint}</p>}
    </div>
  );
}

function Warnings({ run }: { run: Run }) {
  return (
    <ul class="warnings">
      {run.warnings.slice(0, 20).map(({ line, text }, place) => (
        <li key={place}>
          <span aria-hidden="true">⚠</span> {line !== undefined && `Line ${line}: `}
          {text}
        </li>
      ))}
      {run.warnings.length > 20 && <li>… and {run.warnings.length - 20} more</li>}
    </ul>
  );
}

function Shown({ result }: { result: Result }) {
  const json = isJson(result.type);
  const words = useMemo(() => wordsOf(result, json), [result]);
  const isPage = words !== undefined && /^\s*<(!doctype html|[a-z][\w-]*[\s>])/i.test(words);
  const isLong = result.text.length > TABLE_AT_ONCE_CHARS_MAX;
  const mayBeTable = json && result.text.length <= TABLE_CHARS_MAX && /^\s*\[/.test(result.text);
  const isAsked = wanted.value === "table";
  const table = useMemo(() => {
    if (!mayBeTable || (isLong && !isAsked)) return undefined;
    return tableOf(readJson(result.text));
  }, [result, isLong && isAsked]);
  const hasTable = table !== undefined || (mayBeTable && isLong && !isAsked);
  const copyRows = () => {
    const read = table ?? tableOf(readJson(result.text));
    if (read) void copy(csvOf(read.rows, read.columns), "CSV");
    else tell("The result is no list of rows");
  };
  const views: View[] = [
    ...(json ? (["json"] as const) : []),
    ...(hasTable ? (["table"] as const) : []),
    ...(isPage ? (["page"] as const) : []),
    ...(words === undefined ? [] : (["text"] as const)),
    "raw",
  ];
  const view = views.includes(wanted.value) ? wanted.value : (views[0] ?? "raw");
  const text = useMemo(() => (view === "text" ? (words ?? "") : textOf(result, view)), [result, view]);
  const labels = { json: "JSON", table: "Table", page: "Page", text: "Text", raw: "Raw" };
  return (
    <>
      <div class={`bar bar-${view}`}>
        <Tabs
          label="Views of the result"
          panel="result-view"
          tabs={views.map((name) => ({ name, label: labels[name] }))}
          chosen={view}
          onChoose={(name) => (wanted.value = name)}
        />
        {view === "table" && table && <Columns columns={table.columns} />}
        <span class="gap" />
        {view !== "table" && view !== "page" && (
          <button title="Search in the result (Ctrl-F)" aria-label="Search in the result" onClick={searchResult}>
            <Icon name="search" />
          </button>
        )}
        <button class="copy-text" onClick={() => void copy(json ? indentJson(result.text) : result.text, json ? "JSON" : "Text")}>Copy</button>
        {hasTable && (
          <button class="copy-rows" onClick={copyRows} title="Copy all rows as CSV">
            CSV
          </button>
        )}
        <button
          title="Save the result as a file"
          aria-label="Save the result as a file"
          onClick={() => download(json ? "result.json" : "result.txt", result.type, result.text)}
        >
          <Icon name="down" />
        </button>
      </div>
      {view === "table" && table?.isPartial && <p class="note">Columns are those of the first rows.</p>}
      <div class="result-view" id="result-view" role="tabpanel" aria-label={labels[view]}>
        {view === "table" && table ? (
          <TableView table={table} hidden={hidden.value} />
        ) : view === "page" ? (
          <iframe title="The page that the script returned" sandbox="" srcdoc={words ?? ""} />
        ) : (
          <TextView
            text={text}
            isJson={view === "json"}
            label="Result"
            isSearchWanted={isSearchWanted}
          />
        )}
      </div>
    </>
  );
}

function Columns({ columns }: { columns: readonly string[] }) {
  const toggle = (column: string) => {
    const next = new Set(hidden.value);
    if (!next.delete(column)) next.add(column);
    hidden.value = next;
  };
  return (
    <details class="columns">
      <summary aria-label="Columns">
        <Icon name="columns" /> <span class="wide">Columns</span>
      </summary>
      <fieldset>
        <legend>Shown columns</legend>
        {columns.map((column) => (
          <label key={column}>
            <input type="checkbox" checked={!hidden.value.has(column)} onChange={() => toggle(column)} /> {column}
          </label>
        ))}
      </fieldset>
    </details>
  );
}

/** The text that the result is, if it is one and not a structure. */
function wordsOf({ text }: Result, isJsonText: boolean): string | undefined {
  if (!isJsonText) return text;
  return /^\s*"/.test(text) ? (JSON.parse(text) as string) : undefined;
}

function textOf(result: Result, view: View): string {
  if (view !== "raw") return result.text;
  const heads = Object.entries(result.headers).map(([name, value]) => `${name}: ${value}`);
  return `${heads.join("\n")}\n\n${result.text}`;
}
