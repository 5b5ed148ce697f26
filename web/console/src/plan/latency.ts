// Where the time of a run went: the critical path and the slack of each statement, computed as
// `qlio plan --trace` does, so that both say the same of the same run.

import type { Plan } from "../server/packets.ts";
import type { Run } from "../runs/run.ts";

export interface Latency {
  total: number;
  criticalPath: string[];
  /** By node: when it could start, and how much later it could have, in milliseconds. */
  nodes: Map<string, { start: number; slack: number }>;
}

export function latencyOf(plan: Plan, run: Run): Latency {
  const ids = plan.nodes.map(({ id }) => id);
  const elapsed = new Map(ids.map((id) => [id, run.statements.get(id)?.elapsed]));
  const took = (id: string) => elapsed.get(id) ?? 0;
  const waits = waitsOf(plan, (id) => elapsed.get(id) !== undefined);
  const order = bottomUp(ids, waits);
  const start = new Map<string, number>(ids.map((id) => [id, 0]));
  const decisive = new Map<string, string>();
  const startOf = (id: string) => start.get(id) ?? 0;
  for (const id of order) {
    for (const before of waits.get(id) ?? []) {
      const end = startOf(before) + took(before);
      if (end > startOf(id) || !decisive.has(id)) {
        start.set(id, end);
        decisive.set(id, before);
      }
    }
  }
  const last = ids.at(-1) ?? "";
  const total = startOf(last);
  const latestEnd = new Map(ids.map((id) => [id, Math.max(total, startOf(id) + took(id))]));
  for (const id of [...order].reverse()) {
    const latestStart = Math.max(0, (latestEnd.get(id) ?? 0) - took(id));
    for (const before of waits.get(id) ?? []) {
      latestEnd.set(before, Math.min(latestEnd.get(before) ?? latestStart, latestStart));
    }
  }
  const criticalPath: string[] = [];
  for (let id = decisive.get(last); id !== undefined; id = decisive.get(id)) {
    if (elapsed.get(id) !== undefined) criticalPath.unshift(id);
  }
  const nodes = new Map(
    ids
      .filter((id) => elapsed.get(id) !== undefined)
      .map((id) => {
        const slack = Math.max(0, (latestEnd.get(id) ?? 0) - startOf(id) - took(id));
        return [id, { start: startOf(id), slack }];
      }),
  );
  return { total, criticalPath, nodes };
}

/** What each node waits for: of a chain of alternatives, the last that ran. */
function waitsOf(plan: Plan, isMeasured: (id: string) => boolean): Map<string, string[]> {
  const alternative = new Map<string, string>();
  for (const { from, to, kind } of plan.edges) if (kind === "fallback") alternative.set(from, to);
  const ran = (first: string): string => {
    let last = first;
    const seen = new Set<string>();
    for (let next = alternative.get(first); next !== undefined && !seen.has(next); next = alternative.get(next)) {
      seen.add(next);
      if (isMeasured(next)) last = next;
    }
    return last;
  };
  const waits = new Map<string, string[]>(plan.nodes.map(({ id }) => [id, []]));
  for (const { from, to, kind } of plan.edges) {
    if (kind === "fallback") waits.get(to)?.push(from);
    else waits.get(from)?.push(ran(to));
  }
  return waits;
}

/** All nodes, each after those that it waits for. */
function bottomUp(ids: readonly string[], waits: ReadonlyMap<string, readonly string[]>): string[] {
  const open = new Map(ids.map((id) => [id, waits.get(id)?.length ?? 0]));
  const waitedBy = new Map<string, string[]>();
  for (const [id, befores] of waits) {
    for (const before of befores) waitedBy.set(before, [...(waitedBy.get(before) ?? []), id]);
  }
  const order = ids.filter((id) => open.get(id) === 0);
  for (let next = 0; next < order.length; next += 1) {
    for (const after of waitedBy.get(order[next] as string) ?? []) {
      const left = (open.get(after) ?? 0) - 1;
      open.set(after, left);
      if (left === 0) order.push(after);
    }
  }
  return order;
}
