// The calls of a run as a waterfall: a row for each exchange with an upstream, its phases as a bar.

import { signal } from "@preact/signals";
import { useMemo, useRef, useState } from "preact/hooks";
import { VirtualRows } from "../parts/virtual.tsx";
import type { Exchange } from "../runs/run.ts";
import { PHASES } from "../runs/run.ts";
import { current } from "../runs/runs.ts";
import { Details } from "./details.tsx";
import { HarButtons } from "./har-buttons.tsx";
import { type CallRow, outcomeOf, rowsOf } from "./rows.ts";
import { type Span, bytesText, callsText, phasesOf, totalsOf } from "./timeline.ts";

const ROW_PX = 30;
const ZOOM_STEP = 1.5;
const ZOOM_MAX = 1000;
const PAN_STEP = 0.2;

/** Exchanges of earlier runs stay in the list. */
const preserves = signal(false);
const earlier = signal<readonly Exchange[]>([]);

/** The run changes: keep what it has, if that is wanted. */
export function keepCalls(exchanges: readonly Exchange[]): void {
  earlier.value = preserves.peek() ? [...earlier.peek(), ...exchanges].slice(-5_000) : [];
}

export function CallsPane() {
  const run = current.value;
  const revision = run?.revision.value;
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const [filter, setFilter] = useState("");
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  const [zoom, setZoom] = useState({ factor: 1, from: 0 });
  const search = useRef<HTMLInputElement>(null);
  const exchanges = useMemo(
    () => [...earlier.value, ...(run?.exchanges ?? [])],
    [run, revision, earlier.value],
  );
  const rows = useMemo(() => rowsOf(exchanges, opened, filter), [exchanges, opened, filter]);
  const totals = useMemo(() => totalsOf(exchanges), [exchanges]);
  const exchange = exchanges.find(({ id }) => id === chosen);
  const toggle = (key: string) => {
    const next = new Set(opened);
    if (!next.delete(key)) next.add(key);
    setOpened(next);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const place = rows.findIndex(({ key }) => key === chosen);
    const row = rows[place];
    const choose = (index: number) => setChosen(rows[Math.max(0, Math.min(rows.length - 1, index))]?.key);
    // Letters by their places on the keyboard, whatever the layout.
    if (event.code === "KeyW") setZoom(zoomed(zoom, ZOOM_STEP));
    else if (event.code === "KeyS") setZoom(zoomed(zoom, 1 / ZOOM_STEP));
    else if (event.code === "KeyA") setZoom(panned(zoom, -PAN_STEP));
    else if (event.code === "KeyD") setZoom(panned(zoom, PAN_STEP));
    else if (event.key === "0") setZoom({ factor: 1, from: 0 });
    else if (event.key === "/") search.current?.focus();
    else if (event.key === "ArrowDown") choose(place + 1);
    else if (event.key === "ArrowUp") choose(place - 1);
    else if ((event.key === "Enter" || event.key === "ArrowRight") && row?.kind === "group") toggle(row.key);
    else if (event.key === "Escape" && chosen) setChosen(undefined);
    else return;
    event.preventDefault();
  };
  return (
    <div class="calls">
      <div class="bar">
        <input
          ref={search}
          type="search"
          placeholder="Filter calls"
          aria-label="Filter calls"
          value={filter}
          onInput={({ currentTarget }) => setFilter(currentTarget.value)}
        />
        <Legend />
        <span class="gap" />
        <label class="check">
          <input type="checkbox" checked={preserves.value} onChange={() => (preserves.value = !preserves.value)} /> Keep
          calls of earlier runs
        </label>
        <HarButtons exchanges={exchanges} />
      </div>
      {exchanges.length === 0 ? (
        <div class="empty">
          <p>{run?.isOver ? "This run made no call that is shown here." : "Calls to upstreams show here."}</p>
        </div>
      ) : (
        <div class={`calls-body ${exchange ? "has-details" : ""}`}>
          <VirtualRows
            class="call-rows"
            role="treegrid"
            label="Calls"
            columns={5}
            count={rows.length}
            rowHeight={ROW_PX}
            headHeight={ROW_PX}
            head={<Head span={totals} zoom={zoom} />}
            onKeyDown={onKeyDown}
            row={(index, top) => {
              const row = rows[index];
              if (!row) return null;
              return (
                <Row
                  key={row.key}
                  row={row}
                  top={top}
                  index={index}
                  span={totals}
                  zoom={zoom}
                  isChosen={row.key === chosen}
                  onChoose={() => (row.kind === "group" ? toggle(row.key) : setChosen(row.key === chosen ? undefined : row.key))}
                />
              );
            }}
          />
          {exchange && <Details exchange={exchange} onClose={() => setChosen(undefined)} />}
        </div>
      )}
      <footer class="totals">
        <span>{callsText(totals.count)}</span>
        <span>{bytesText(totals.bytesOut)} sent</span>
        <span>{bytesText(totals.bytesIn)} received</span>
        <span>{Math.round(totals.wall)} ms in all</span>
        <span>{Math.round(totals.sum)} ms together</span>
        {run && run.exchangesLeftOut > 0 && <span>{run.exchangesLeftOut} more are not shown</span>}
      </footer>
    </div>
  );
}

interface Zoom {
  factor: number;
  from: number;
}

function zoomed({ factor, from }: Zoom, by: number): Zoom {
  const next = Math.max(1, Math.min(ZOOM_MAX, factor * by));
  const middle = from + 0.5 / factor;
  return bounded({ factor: next, from: middle - 0.5 / next });
}

function panned({ factor, from }: Zoom, by: number): Zoom {
  return bounded({ factor, from: from + by / factor });
}

function bounded({ factor, from }: Zoom): Zoom {
  return { factor, from: Math.max(0, Math.min(1 - 1 / factor, from)) };
}

/** The place of a time in the visible part, in percent. */
function percent(at: number, span: Span, { factor, from }: Zoom): number {
  return ((at - span.from) / (span.to - span.from) - from) * factor * 100;
}

function Legend() {
  return (
    <ul class="legend" aria-label="Phases">
      {PHASES.map((phase) => (
        <li key={phase}>
          <i class={`phase phase-${phase}`} /> {phase}
        </li>
      ))}
    </ul>
  );
}

function Head({ span, zoom }: { span: Span; zoom: Zoom }) {
  const length = (span.to - span.from) / zoom.factor;
  const from = (span.to - span.from) * zoom.from;
  const tick = (share: number) => `${trimmed(from + length * share)} ms`;
  return (
    <div class="call-row call-head" role="row" aria-rowindex={1}>
      <span role="columnheader">Call</span>
      <span role="columnheader">Status</span>
      <span role="columnheader">Size</span>
      <span role="columnheader">Time</span>
      <span role="columnheader" class="ticks" aria-label={`from ${tick(0)} to ${tick(1)}`}>
        <i>{tick(0)}</i>
        <i>{tick(0.5)}</i>
        <i>{tick(1)}</i>
      </span>
    </div>
  );
}

function trimmed(value: number): string {
  return value >= 100 || Number.isInteger(value) ? String(Math.round(value)) : value.toFixed(1);
}

interface RowProps {
  row: CallRow;
  top: number;
  index: number;
  span: Span;
  zoom: Zoom;
  isChosen: boolean;
  onChoose: () => void;
}

function Row({ row, top, index, span, zoom, isChosen, onChoose }: RowProps) {
  const shared = {
    role: "row",
    "aria-rowindex": index + 2,
    "aria-selected": isChosen,
    style: { transform: `translateY(${top}px)` },
    onClick: onChoose,
  } as const;
  if (row.kind === "group") return <GroupRow row={row} span={span} zoom={zoom} shared={shared} isChosen={isChosen} />;
  const { exchange } = row;
  const outcome = outcomeOf(exchange);
  const words = exchange.error !== undefined ? "failed" : (exchange.status ?? "…");
  return (
    <div {...shared} class={`call-row outcome-${outcome} ${isChosen ? "chosen" : ""} ${row.isInGroup ? "inner" : ""}`}>
      <span role="gridcell" class="call-name" title={`${exchange.method} ${exchange.uri}`}>
        <b>{exchange.method}</b> {exchange.cause && <em>{exchange.cause}</em>}
        {exchange.isCached && <em>cache</em>} <Uri uri={exchange.uri} />
      </span>
      <span role="gridcell" title={exchange.error ?? exchange.statusText}>
        {outcome === "bad" && "✕ "}
        {words}
      </span>
      <span role="gridcell">{exchange.bodySize === undefined || exchange.bodySize < 0 ? "" : bytesText(exchange.bodySize)}</span>
      <span role="gridcell">{exchange.time === undefined ? "" : `${trimmed(exchange.time)} ms`}</span>
      <span role="gridcell" class="call-bar">
        <Bar exchange={exchange} span={span} zoom={zoom} />
      </span>
    </div>
  );
}

function GroupRow({
  row,
  span,
  zoom,
  shared,
  isChosen,
}: Pick<RowProps, "span" | "zoom" | "isChosen"> & { row: Extract<CallRow, { kind: "group" }>; shared: object }) {
  const [first] = row.exchanges;
  const own = totalsOf(row.exchanges);
  const isBad = row.exchanges.some((exchange) => outcomeOf(exchange) === "bad");
  const answered = row.exchanges.filter(({ status, error }) => status !== undefined || error !== undefined).length;
  const left = percent(own.from, span, zoom);
  return (
    <div
      {...shared}
      class={`call-row group ${isBad ? "outcome-bad" : ""} ${isChosen ? "chosen" : ""}`}
      aria-expanded={row.isOpen}
    >
      <span role="gridcell" class="call-name" title={first?.uri}>
        <span aria-hidden="true">{row.isOpen ? "▾" : "▸"}</span> <b>{row.exchanges.length} ×</b> {first?.method}{" "}
        <Uri uri={first?.uri ?? ""} />
      </span>
      <span role="gridcell">
        {isBad && "✕ "}
        {answered} of {row.exchanges.length}
      </span>
      <span role="gridcell">{bytesText(own.bytesIn)}</span>
      <span role="gridcell">{Math.round(own.to - own.from)} ms</span>
      <span role="gridcell" class="call-bar">
        <i class="phase phase-group" style={{ left: `${left}%`, width: `${percent(own.to, span, zoom) - left}%` }} />
      </span>
    </div>
  );
}

function Bar({ exchange, span, zoom }: { exchange: Exchange; span: Span; zoom: Zoom }) {
  if (exchange.start === undefined) return null;
  const phases = phasesOf(exchange);
  if (phases.length === 0) {
    const left = percent(exchange.start, span, zoom);
    const end = percent(exchange.start + (exchange.time ?? 0), span, zoom);
    const kind = exchange.error === undefined ? "open" : "failed";
    return <i class={`phase phase-${kind}`} style={{ left: `${left}%`, width: `max(6px, ${end - left}%)` }} />;
  }
  let at = exchange.start;
  const title = phases.map(({ phase, length }) => `${phase} ${trimmed(length)} ms`).join(", ");
  return (
    <span title={title}>
      {phases.map(({ phase, length }) => {
        const left = percent(at, span, zoom);
        at += length;
        return (
          <i
            key={phase}
            class={`phase phase-${phase}`}
            style={{ left: `${left}%`, width: `max(1px, calc(${percent(at, span, zoom) - left}% - 1px))` }}
          />
        );
      })}
    </span>
  );
}

/** A URI with what tells it from others first: its path, then its host. */
function Uri({ uri }: { uri: string }) {
  const [, host, path] = /^https?:\/\/([^/?#]*)(.*)$/.exec(uri) ?? [];
  if (host === undefined) return <>{uri}</>;
  return (
    <>
      {path || "/"} <small>{host}</small>
    </>
  );
}
