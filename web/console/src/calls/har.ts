// HTTP Archive 1.2, out and in. What is exported is what the server told, so secrets are already
// blacked out.

import type { Header, Timings } from "../server/packets.ts";
import type { Exchange } from "../runs/run.ts";
import { bytesIn, bytesOf } from "./timeline.ts";

/** Larger files are refused. */
export const HAR_BYTES_MAX = 64 * 1024 * 1024;
export const HAR_ENTRIES_MAX = 20_000;

export function harOf(exchanges: readonly Exchange[], version: string): string {
  const entries = exchanges.filter(({ start }) => start !== undefined).map(entryOf);
  const log = { version: "1.2", creator: { name: "qlio", version }, pages: [], entries };
  return JSON.stringify({ log }, null, 2);
}

function entryOf(exchange: Exchange): object {
  const { method, uri, requestHeaders, requestBody, start = 0, responseHeaders = [], timings } = exchange;
  const sent = requestHeaders.find(({ name }) => name.toLowerCase() === "content-type")?.value;
  const got = responseHeaders.find(({ name }) => name.toLowerCase() === "content-type")?.value;
  const body = exchange.responseBody ?? "";
  return {
    startedDateTime: new Date(start).toISOString(),
    time: exchange.time ?? 0,
    request: {
      method,
      url: absoluteUri(uri),
      httpVersion: "HTTP/1.1",
      cookies: [],
      headers: requestHeaders,
      queryString: paramsOf(uri),
      ...(requestBody === undefined ? {} : { postData: { mimeType: sent ?? "", params: [], text: requestBody } }),
      headersSize: -1,
      bodySize: exchange.bytesOut,
    },
    response: {
      status: exchange.status ?? 0,
      statusText: exchange.statusText ?? "",
      httpVersion: "HTTP/1.1",
      cookies: [],
      headers: responseHeaders,
      content: { size: bytesIn(body), mimeType: got ?? "", text: body },
      redirectURL: responseHeaders.find(({ name }) => name.toLowerCase() === "location")?.value ?? "",
      headersSize: -1,
      bodySize: exchange.bodySize ?? -1,
      ...(exchange.error === undefined ? {} : { comment: exchange.error }),
    },
    cache: {},
    timings: whole(timings),
    ...(exchange.line === undefined ? {} : { comment: `line ${exchange.line}` }),
  };
}

/** What stands for secrets, and what archives of others hold, is no URI as it is. */
function absoluteUri(text: string): string {
  const [, scheme = "", user = "", host = "", rest = text] = /^([a-z][a-z\d+.-]*:\/\/)([^/?#]*@)?([^/?#]*)(.*)$/is.exec(text) ?? [];
  return scheme + encoded(user) + host + encoded(rest);
}

function encoded(part: string): string {
  return part.replace(/\p{Cs}/gu, "\ufffd").replace(/[^\w!#$&'()*+,\-./:;=?@~%]/gu, encodeURIComponent);
}

/** `send`, `wait` and `receive` must be there and not negative. */
function whole(timings: Timings | undefined): Timings {
  const { blocked = -1, dns = -1, connect = -1, send = 0, wait = 0, receive = 0 } = timings ?? {};
  const least = (length: number) => Math.max(0, length);
  return { blocked, dns, connect, send: least(send), wait: least(wait), receive: least(receive) };
}

/** The parameters of the query of a URI. */
export function paramsOf(uri: string): Header[] {
  const query = /\?([^#]*)/.exec(uri)?.[1] ?? "";
  return [...new URLSearchParams(query)].map(([name, value]) => ({ name, value }));
}

interface Entry {
  startedDateTime?: unknown;
  comment?: unknown;
  time?: unknown;
  request?: { method?: unknown; url?: unknown; headers?: unknown; postData?: { text?: unknown } };
  response?: {
    status?: unknown;
    statusText?: unknown;
    headers?: unknown;
    bodySize?: unknown;
    content?: { text?: unknown; size?: unknown };
    comment?: unknown;
  };
  timings?: Record<string, unknown>;
}

/** The exchanges of an archive. Throws an error whose message is for the person. */
export function exchangesOfHar(text: string): Exchange[] {
  const log = (parse(text) as { log?: { entries?: unknown } } | null)?.log;
  if (!Array.isArray(log?.entries)) throw new Error("this is no HTTP archive: it has no `log.entries`");
  if (log.entries.length > HAR_ENTRIES_MAX) throw new Error(`it has more than ${HAR_ENTRIES_MAX} entries`);
  return (log.entries as (Entry | null)[]).map(exchangeOf);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`this is no HTTP archive: ${String(error)}`);
  }
}

function exchangeOf(entry: Entry | null, place: number): Exchange {
  if (typeof entry !== "object" || entry === null) throw new Error(`entry ${place + 1} is no entry of an HTTP archive`);
  const { request, response } = entry;
  const start = Date.parse(String(entry.startedDateTime));
  if (Number.isNaN(start)) throw new Error(`entry ${place + 1} has no \`startedDateTime\``);
  const status = number(response?.status, 0);
  const requestHeaders = headersOf(request?.headers);
  const requestBody = typeof request?.postData?.text === "string" ? request.postData.text : undefined;
  return {
    id: `har ${place}`,
    node: undefined,
    line: lineOf(entry.comment),
    method: String(request?.method ?? "GET"),
    uri: String(request?.url ?? ""),
    requestHeaders,
    ...(requestBody === undefined ? {} : { requestBody }),
    bytesOut: bytesOf(requestHeaders, requestBody),
    start,
    ...(status > 0 ? { status, statusText: String(response?.statusText ?? "") } : {}),
    ...(status > 0 ? {} : { error: String(response?.comment ?? "no answer") }),
    responseHeaders: headersOf(response?.headers),
    responseBody: typeof response?.content?.text === "string" ? response.content.text : "",
    bodySize: number(response?.bodySize, -1),
    time: Math.max(0, number(entry.time, 0)),
    timings: {
      blocked: number(entry.timings?.["blocked"], -1),
      dns: number(entry.timings?.["dns"], -1),
      connect: number(entry.timings?.["connect"], -1),
      send: number(entry.timings?.["send"], 0),
      wait: number(entry.timings?.["wait"], 0),
      receive: number(entry.timings?.["receive"], 0),
    },
    isCached: false,
  };
}

/** The line of the statement, if it was written here. */
function lineOf(comment: unknown): number | undefined {
  const digits = /^line (\d{1,9})$/.exec(String(comment))?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function number(value: unknown, otherwise: number): number {
  return typeof value === "number" && Number.isFinite(value) ? value : otherwise;
}

function headersOf(value: unknown): Header[] {
  if (!Array.isArray(value)) return [];
  return (value as (Partial<Header> | null)[]).map((header) => ({ name: String(header?.name), value: String(header?.value) }));
}
