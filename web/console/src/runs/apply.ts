// What a packet changes of its run.

import type {
  DebugPacket,
  EndPacket,
  ErrorBody,
  Packet,
  Plan,
  RequestErrorPacket,
  RequestPacket,
  ResponsePacket,
} from "../server/packets.ts";
import { bytesOf } from "../calls/timeline.ts";
import { EXCHANGES_MAX, type Exchange, type Run, type Statement, elapsedOf } from "./run.ts";

/** Changes `run` by a packet. Packets that are not known change nothing. */
export function apply(run: Run, { type, data }: Packet): void {
  switch (type) {
    case "plan":
      applyPlan(run, data as Plan);
      break;
    case "compile-error":
      run.problem = (data as { data?: ErrorBody }).data ?? {};
      break;
    case "statement-in-flight": {
      const statement = statementOf(run, data as EndPacket);
      statement.state = "running";
      statement.started ??= run.now();
      break;
    }
    case "statement-skipped":
      statementOf(run, data as EndPacket).state = "skipped";
      break;
    case "statement-success":
    case "statement-error":
      endStatement(run, data as EndPacket, type === "statement-success");
      break;
    case "statement-request":
      beginExchange(run, data as RequestPacket);
      break;
    case "statement-response":
      endExchange(run, data as ResponsePacket);
      break;
    case "statement-request-error":
      failExchange(run, data as RequestErrorPacket);
      break;
    case "warning": {
      const { line, data: text } = data as { line?: number; data: string };
      run.warnings.push({ line, text: String(text) });
      break;
    }
    case "ql.io-debug":
      applyPause(run, data as DebugPacket);
      break;
    case "script-done":
      run.elapsed = (data as EndPacket).elapsed;
      break;
    case "truncated":
      run.warnings.push({ line: undefined, text: "An event was too large to be shown." });
      break;
    default:
      return;
  }
  run.announce();
}

function applyPlan(run: Run, plan: Plan): void {
  run.plan = plan;
  for (const { id, line } of plan.nodes) {
    if (!run.statements.has(id)) run.statements.set(id, newStatement(id, line));
  }
}

function newStatement(node: string, line: number | undefined): Statement {
  return { node, line, state: "waiting", asked: 0, answered: 0 };
}

/** The statement that a packet is of: by its node, else by its line. */
function statementOf(run: Run, { node, line }: { node?: string; line?: number }): Statement {
  const key = node ?? (line === undefined ? "return" : `line ${line}`);
  let statement = run.statements.get(key);
  if (!statement) {
    statement = newStatement(key, line);
    run.statements.set(key, statement);
  }
  return statement;
}

function endStatement(run: Run, packet: EndPacket, isSuccess: boolean): void {
  const statement = statementOf(run, packet);
  statement.state = isSuccess ? "done" : packet.cancelled ? "cancelled" : "failed";
  statement.elapsed = elapsedOf(packet);
  statement.rows = packet.rows;
}

/** Whether there was room for it. */
function keep(run: Run, exchange: Exchange): boolean {
  if (run.exchanges.length >= EXCHANGES_MAX) {
    run.exchangesLeftOut += 1;
    return false;
  }
  run.exchanges.push(exchange);
  run.exchangeOf.set(exchange.id, exchange);
  return true;
}

function beginExchange(run: Run, packet: RequestPacket): void {
  statementOf(run, packet).asked += 1;
  const requestHeaders = packet.headers ?? [];
  const isKept = keep(run, {
    id: packet.id,
    node: packet.node,
    line: packet.line,
    method: packet.method.toUpperCase(),
    uri: packet.uri,
    requestHeaders,
    bytesOut: bytesOf(requestHeaders, packet.body),
    ...(packet.body === undefined ? {} : { requestBody: packet.body }),
    ...(packet.cause ? { cause: packet.cause } : {}),
    start: packet.start,
    isCached: false,
  });
  if (!isKept) run.askedBeyond.add(packet.id);
}

function endExchange(run: Run, packet: ResponsePacket): void {
  let exchange = run.exchangeOf.get(packet.id);
  const statement = statementOf(run, packet);
  if (run.askedBeyond.delete(packet.id)) {
    statement.answered += 1;
    return;
  }
  if (!exchange) {
    statement.asked += 1;
    exchange = {
      id: packet.id,
      node: packet.node,
      line: packet.line,
      method: (packet.method ?? "get").toUpperCase(),
      uri: packet.uri ?? packet.table ?? "answer of the cache",
      requestHeaders: [],
      bytesOut: 0,
      start: undefined,
      isCached: true,
    };
    keep(run, exchange);
  }
  statement.answered += 1;
  Object.assign(exchange, {
    status: packet.status,
    statusText: packet.statusText,
    responseHeaders: packet.headers ?? [],
    responseBody: packet.body ?? "",
    isBodyCut: packet.bodyTruncated === true,
    bodySize: packet.bodySize,
    time: packet.exact?.time ?? packet.time,
    timings: packet.exact ?? packet.timings,
    isCached: exchange.isCached || packet.cached === true,
  } satisfies Partial<Record<keyof Exchange, unknown>>);
}

function failExchange(run: Run, packet: RequestErrorPacket): void {
  const exchange = run.exchangeOf.get(packet.id);
  if (!exchange && !run.askedBeyond.delete(packet.id)) return;
  statementOf(run, packet).answered += 1;
  if (!exchange) return;
  exchange.error = packet.error;
  exchange.time = packet.time;
}

function applyPause(run: Run, { context, emitterID, waiting }: DebugPacket): void {
  const before = run.pause?.variables ?? {};
  const variables = context ?? {};
  const changed = new Set(
    Object.keys(variables).filter((name) => JSON.stringify(variables[name]) !== JSON.stringify(before[name])),
  );
  run.pause = {
    session: emitterID,
    step: (run.pause?.step ?? 0) + 1,
    waiting: (waiting ?? []).map(({ node, line }) => ({ node, line })),
    variables,
    changed,
  };
}
