// Runs of scripts: started, followed, ended. The newest is shown; what an older one still sends changes
// that older one only.

import { effect, signal } from "@preact/signals";
import { callsText } from "../calls/timeline.ts";
import { memberText } from "../parts/json-text.ts";
import { runOverHttp } from "../server/over-http.ts";
import { EVENTS, RELOADED, type Packet, type ResultHead } from "../server/packets.ts";
import { fits } from "../server/catalog.ts";
import { socketUrl, urlOf } from "../server/place.ts";
import { Socket } from "../server/socket.ts";
import { apply } from "./apply.ts";
import { remember } from "./history.ts";
import { type Exchange, Run } from "./run.ts";

/** Live runs by number; they are as many as the server lets one connection have. */
const live = new Map<number, Run>();
const aborts = new Map<number, AbortController>();
const plans = new Map<string, (packet: Packet) => void>();
let count = 0;
let asked = 0;

/** The run that the panes show. */
export const current = signal<Run | undefined>(undefined);

/** What the server said that belongs to no run. */
export const notice = signal("");

/** How often the server has read the app anew. */
export const reloads = signal(0);

/** What a screen reader is told when a run ends. */
export const spoken = signal("");

export const socket = new Socket(socketUrl(), "ql.io-console", {
  opened: () => void socket.send(JSON.stringify({ type: "events", data: JSON.stringify([...EVENTS, RELOADED]) })),
  received: receive,
  closed: (reason) => {
    for (const run of live.values()) finish(run, "lost", `The connection was lost before the end: ${reason}.`);
    for (const settle of plans.values()) settle({ type: "lost", data: undefined });
    plans.clear();
  },
});

/** Whether runs can be followed and stopped while they last. */
export function isLive(): boolean {
  return socket.state.value === "open";
}

/** Runs `text`, as the script of the tab `script`. */
export function start(script: string, text: string, isDebug = false): Run | undefined {
  stop();
  const run = new Run((count += 1), script, text, isDebug);
  const message = JSON.stringify({
    type: "script",
    data: isDebug ? `__debug__${text}` : text,
    id: run.number,
    result: "url",
  });
  const isLong = !fits(message, "console");
  if (isLong && isDebug) {
    notice.value = "The script is too long to be run step by step.";
    return undefined;
  }
  if (isLong || socket.state.value === "absent") void followOverHttp(run);
  else if (!socket.send(message)) {
    notice.value = "There is no connection to the server; the script was not run.";
    return undefined;
  }
  notice.value = "";
  live.set(run.number, run);
  current.value = run;
  return run;
}

/** Ends the run that is shown, if it still runs. */
export function stop(): void {
  const run = current.value;
  if (!run || run.isOver) return;
  aborts.get(run.number)?.abort();
  if (run.pause) socket.send(JSON.stringify({ type: "kill", id: run.pause.session }));
  else socket.send(JSON.stringify({ type: "kill", run: run.number }));
  finish(run, "cancelled");
}

/** Lets the statement `node`, or the first that waits, go on; `all` runs to the end. */
export function step(choice: { node?: string; all?: boolean } = {}): void {
  const run = current.value;
  if (!run?.pause) return;
  const { session } = run.pause;
  socket.send(
    JSON.stringify({
      type: "debug",
      emitterID: session,
      ...(choice.node ? { node: choice.node } : {}),
      ...(choice.all ? { steps: "all" } : {}),
    }),
  );
  run.pause.waiting = [];
  run.announce();
}

/** The plan of a text that is not run; `undefined` without a connection, or where it is too long for one message. */
export function plan(text: string): Promise<Packet | undefined> {
  const id = `plan ${(asked += 1)}`;
  return new Promise((resolve) => {
    const message = JSON.stringify({ type: "plan", data: text, id });
    if (!fits(message, "console") || !socket.send(message)) {
      resolve(undefined);
      return;
    }
    plans.set(id, resolve);
  });
}

/** An event as it comes over the connection. */
interface Frame extends Packet {
  /** Of a run the number, of a plan the name that it was asked for by. */
  id?: number | string;
}

function receive(text: string): void {
  // A result stays text, which is shown as it came.
  if (memberText(text, "type") === '"script-result"') {
    const run = live.get(Number(memberText(text, "id")));
    if (run) void takeResult(run, memberText(text, "data") ?? "null");
    return;
  }
  const { type, data, id } = JSON.parse(text) as Frame;
  if (type === RELOADED) {
    const { message, refused } = data as { message: string; refused: boolean };
    notice.value = message;
    if (!refused) reloads.value += 1;
    return;
  }
  const packet = { type, data };
  const run = typeof id === "number" ? live.get(id) : undefined;
  if (run && type !== "error") {
    apply(run, packet);
    return;
  }
  const settle = typeof id === "string" ? plans.get(id) : undefined;
  if (settle) {
    plans.delete(id as string);
    settle(packet);
  } else if (type === "error") {
    const { message } = packet.data as { message?: string };
    notice.value = message ?? "The server refused a message.";
    if (run) finish(run, "failed", notice.value);
  }
}

/** Takes the result, `{"headers":…,"body":…}` as text; large ones are fetched. */
async function takeResult(run: Run, text: string): Promise<void> {
  live.delete(run.number);
  if (text === "null") {
    // Whoever presses Stop does not wait for this.
    const why = run.isDebug ? ": it was not stepped for too long, or takes longer than such runs may" : "";
    finish(run, "cancelled", `The server has ended this run${why}.`);
    return;
  }
  const headers = JSON.parse(memberText(text, "headers") ?? "{}") as Record<string, string>;
  const type = headers["content-type"] ?? "application/json";
  let body = memberText(text, "body");
  if (body === undefined) {
    const { url } = JSON.parse(text) as ResultHead;
    try {
      const answer = await fetch(urlOf(url ?? ""));
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      body = await answer.text();
    } catch (error) {
      finish(run, "failed", `The result could not be fetched: ${String(error)}.`);
      return;
    }
  } else if (!isJson(type)) {
    body = plainText(body);
  }
  run.result = { type, headers, text: body };
  finish(run, hasFailed(run, body) ? "failed" : "done");
}

/** Results that are no JSON come as JSON strings. */
function plainText(body: string): string {
  const value: unknown = JSON.parse(body);
  return typeof value === "string" ? value : body;
}

export function isJson(type: string): boolean {
  return /[/+]json\b/i.test(type);
}

/** A run has failed if its statement for the value has, or if it did not compile. */
function hasFailed(run: Run, body: string): boolean {
  if (run.problem) return true;
  const isFailing = [...run.statements.values()].some(({ state }) => state === "failed");
  return isFailing && /^\s*\{/.test(body) && memberText(body, "message") !== undefined;
}

function finish(run: Run, state: "done" | "failed" | "cancelled" | "lost", message?: string): void {
  live.delete(run.number);
  aborts.delete(run.number);
  if (run.isOver) return;
  if (message) run.problem = { message };
  run.end(state);
  remember(run);
  if (run === current.peek()) spoken.value = sentence(run);
}

function sentence(run: Run): string {
  const words = { running: "runs", done: "finished", failed: "failed", cancelled: "was stopped", lost: "was lost" };
  const calls = run.exchanges.length + run.exchangesLeftOut;
  return `Run ${run.number} ${words[run.state]}, ${callsText(calls)}, ${Math.round(run.elapsed ?? 0)} ms.`;
}

async function followOverHttp(run: Run): Promise<void> {
  const abort = new AbortController();
  aborts.set(run.number, abort);
  try {
    const answer = await runOverHttp(run.text, EVENTS, abort.signal);
    for (const packet of answer.packets) apply(run, packet);
    run.result = { type: answer.type, headers: answer.headers, text: answer.text };
    finish(run, answer.isError ? "failed" : "done");
  } catch (error) {
    finish(run, "failed", `The request failed: ${String(error)}.`);
  }
}

/** Runs `action` whenever the shown run changes. */
export function onChange(action: (run: Run | undefined) => void): () => void {
  return effect(() => {
    const run = current.value;
    void run?.revision.value;
    action(run);
  });
}

/** Shows exchanges that come from a file. */
export function showExchanges(exchanges: readonly Exchange[], name: string): void {
  stop();
  const run = new Run((count += 1), "", `-- calls of ${name}`, false);
  run.exchanges.push(...exchanges);
  run.elapsed = 0;
  run.end("done");
  current.value = run;
}
