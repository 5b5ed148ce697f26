// What differs between two texts, by lines: the common beginning and end stay, the middle is compared.

export interface ChangedLine {
  kind: "same" | "added" | "removed";
  line: string;
}

/** Middles of more lines than this are shown as removed and added in whole. */
const COMPARED_LINES_MAX = 2_000;

export function changedLines(before: string, after: string): ChangedLine[] {
  const a = before === "" ? [] : before.split("\n");
  const b = after === "" ? [] : after.split("\n");
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const same = (line: string): ChangedLine => ({ kind: "same", line });
  return [
    ...a.slice(0, head).map(same),
    ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map(same),
  ];
}

/** By the longest common subsequence. */
function middle(a: readonly string[], b: readonly string[]): ChangedLine[] {
  const whole = (): ChangedLine[] => [
    ...a.map((line): ChangedLine => ({ kind: "removed", line })),
    ...b.map((line): ChangedLine => ({ kind: "added", line })),
  ];
  if (a.length === 0 || b.length === 0 || a.length + b.length > COMPARED_LINES_MAX) return whole();
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const result: ChangedLine[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      result.push({ kind: "same", line: a[i] as string });
      i += 1;
      j += 1;
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) {
      result.push({ kind: "removed", line: a[i] as string });
      i += 1;
    } else {
      result.push({ kind: "added", line: b[j] as string });
      j += 1;
    }
  }
  return result;
}
