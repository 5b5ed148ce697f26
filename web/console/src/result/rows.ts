// Results as rows: which columns there are, in which order, and as CSV.

import { Numeral } from "../parts/json-text.ts";

/** Rows that are looked at to find the columns. */
const SAMPLE_ROWS = 200;
const COLUMNS_MAX = 200;

export type Row = Record<string, unknown>;

export interface Table {
  rows: readonly Row[];
  columns: readonly string[];
  /** Members that only later rows have, or that are too many, are not columns. */
  isPartial: boolean;
}

const isRow = (value: unknown): value is Row =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Numeral);

/** The rows of a list of objects; of plain values, rows with one column. */
export function tableOf(value: unknown): Table | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const isObjects = value.every(isRow);
  if (!isObjects && value.some(isRow)) return undefined;
  const rows: Row[] = isObjects ? value : value.map((entry: unknown) => ({ value: entry }));
  const names = new Set<string>();
  for (const row of rows.slice(0, SAMPLE_ROWS)) for (const name of Object.keys(row)) names.add(name);
  const columns = [...names].slice(0, COLUMNS_MAX);
  const known = new Set(columns);
  const isPartial = rows.some((row) => Object.keys(row).some((name) => !known.has(name)));
  return { rows, columns, isPartial };
}

/** A value as the words of a cell. */
export function cellText(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "object" && !(value instanceof Numeral)) return JSON.stringify(value);
  return String(value as string | number | boolean | Numeral);
}

/** Whether a value is a number, exact ones with many digits included. */
export const isNumber = (value: unknown): value is number | Numeral => typeof value === "number" || value instanceof Numeral;

/** Rows in the order of a column; numbers by size, other values by their words, gaps last. */
export function sorted(rows: readonly Row[], column: string, isDescending: boolean): Row[] {
  const sign = isDescending ? -1 : 1;
  const words = new Intl.Collator(undefined, { numeric: true });
  return [...rows].sort((a, b) => {
    const left = a[column];
    const right = b[column];
    const isLeftGap = left === undefined || left === null;
    const isRightGap = right === undefined || right === null;
    if (isLeftGap || isRightGap) return Number(isLeftGap) - Number(isRightGap);
    if (isNumber(left) && isNumber(right)) {
      const difference = Number(String(left)) - Number(String(right));
      if (difference !== 0) return sign * difference;
    }
    return sign * words.compare(cellText(left), cellText(right));
  });
}

/** RFC 4180, with a head. Cells that a spreadsheet would take for formulas are led by an apostrophe. */
export function csvOf(rows: readonly Row[], columns: readonly string[]): string {
  const field = (value: unknown) => {
    let text = cellText(value);
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [columns.map(field), ...rows.map((row) => columns.map((column) => field(row[column])))];
  return lines.map((fields) => `${fields.join(",")}\r\n`).join("");
}
