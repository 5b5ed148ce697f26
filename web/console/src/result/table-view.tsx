// Rows as a grid: sorted by a click on a column's head, columns hidden by choice, nested values opened
// in the cell's row.

import { useMemo, useState } from "preact/hooks";
import { VirtualRows } from "../parts/virtual.tsx";
import { TextView } from "./text-view.tsx";
import { type Row, type Table, cellText, isNumber, sorted } from "./rows.ts";

const ROW_PX = 30;
const CELL_CHARS_MAX = 300;
/** Letters are narrower than the digit that the unit `ch` is made of. */
const CH_PER_LETTER = 0.85;

interface TableViewProps {
  table: Table;
  hidden: ReadonlySet<string>;
}

export function TableView({ table, hidden }: TableViewProps) {
  const [order, setOrder] = useState<{ column: string; isDescending: boolean } | undefined>(undefined);
  const [opened, setOpened] = useState<{ row: Row; column: string } | undefined>(undefined);
  const rows = useMemo(
    () => (order ? sorted(table.rows, order.column, order.isDescending) : table.rows),
    [table, order],
  );
  const columns = table.columns.filter((column) => !hidden.has(column));
  const widths = useMemo(() => columns.map((column) => widthOf(table, column)), [table, hidden]);
  const numeric = useMemo(() => new Set(columns.filter((column) => isNumeric(table, column))), [table, hidden]);
  const template = `3.5rem ${widths.map((width) => `${width}ch`).join(" ")}`;
  const sortBy = (column: string) => {
    if (order?.column !== column) setOrder({ column, isDescending: false });
    else setOrder(order.isDescending ? undefined : { column, isDescending: true });
  };
  const head = (
    <div class="grid-row grid-head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: template }}>
      <span role="columnheader">#</span>
      {columns.map((column) => (
        <span
          key={column}
          role="columnheader"
          class={numeric.has(column) ? "cell-number" : ""}
          aria-sort={ariaSort(order, column)}
        >
          <button onClick={() => sortBy(column)} title={`Sort by ${column}`}>
            {column}
            {order?.column === column ? (order.isDescending ? " ▾" : " ▴") : ""}
          </button>
        </span>
      ))}
    </div>
  );
  return (
    <div class="table-view">
      <VirtualRows
        role="grid"
        label={`Rows of the result, ${rows.length}`}
        count={rows.length}
        rowHeight={ROW_PX}
        head={head}
        headHeight={ROW_PX}
        columns={columns.length + 1}
        row={(index, top) => (
          <div
            key={index}
            class={`grid-row ${index % 2 ? "odd" : ""}`}
            role="row"
            aria-rowindex={index + 2}
            style={{ transform: `translateY(${top}px)`, gridTemplateColumns: template }}
          >
            <span role="rowheader">{index + 1}</span>
            {columns.map((column) => (
              <Cell key={column} value={rows[index]?.[column]} onOpen={() => setOpened({ row: rows[index] ?? {}, column })} />
            ))}
          </div>
        )}
      />
      {opened && (
        <section class="opened" aria-label={`Value of ${opened.column}`}>
          <header>
            <strong>{opened.column}</strong>
            <button onClick={() => setOpened(undefined)}>Close</button>
          </header>
          <TextView text={pretty(opened.row[opened.column])} isJson label={`Value of ${opened.column}`} />
        </section>
      )}
    </div>
  );
}

function Cell({ value, onOpen }: { value: unknown; onOpen: () => void }) {
  const text = cellText(value);
  const shown = text.length > CELL_CHARS_MAX ? `${text.slice(0, CELL_CHARS_MAX)}…` : text;
  const kind = value === null ? "null" : isNumber(value) ? "number" : typeof value;
  const isNested = (kind === "object" && value !== null && text.startsWith("{")) || text.startsWith("[");
  return (
    <span role="gridcell" class={`cell cell-${kind}`} title={shown}>
      {(isNested && kind === "object") || text.length > CELL_CHARS_MAX ? (
        <button class="nested" onClick={onOpen}>
          {shown}
        </button>
      ) : kind === "null" ? (
        <i>null</i>
      ) : kind === "string" && /^https?:\/\/\S+$/.test(text) ? (
        <a href={text} target="_blank" rel="noreferrer noopener">
          {shown}
        </a>
      ) : (
        shown
      )}
    </span>
  );
}

function pretty(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

function ariaSort(order: { column: string; isDescending: boolean } | undefined, column: string) {
  if (order?.column !== column) return "none";
  return order.isDescending ? "descending" : "ascending";
}

/** How many rows tell what a column holds. */
const SAMPLE_ROWS = 50;

/** Whether a column holds numbers, whose heads stand to the right as they do. */
function isNumeric(table: Table, column: string): boolean {
  const values = table.rows.slice(0, SAMPLE_ROWS).map((row) => row[column] ?? null).filter((value) => value !== null);
  return values.length > 0 && values.every(isNumber);
}

/** Characters that most cells of a column need, within bounds. */
function widthOf(table: Table, column: string): number {
  let most = column.length + 3;
  for (const row of table.rows.slice(0, SAMPLE_ROWS)) most = Math.max(most, Math.ceil(chOf(row[column])) + 3);
  return Math.min(48, Math.max(8, most));
}

/** The room of a value in the unit `ch`. */
function chOf(value: unknown): number {
  return cellText(value).length * (isNumber(value) ? 1 : CH_PER_LETTER);
}
