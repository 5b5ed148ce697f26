// Runs where no WebSocket gets through: one request to `q`, whose trace comes with the answer.

import type { Packet } from "./packets.ts";
import { urlOf } from "./place.ts";

export interface HttpAnswer {
  packets: Packet[];
  type: string;
  headers: Record<string, string>;
  text: string;
  isError: boolean;
}

/** Runs a script and waits for all of it. */
export async function runOverHttp(script: string, events: readonly string[], signal: AbortSignal): Promise<HttpAnswer> {
  const wanted = JSON.stringify({ type: "events", data: JSON.stringify(events) });
  const answer = await fetch(urlOf("q"), {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json, */*;q=0.5" },
    body: new URLSearchParams({ s: script, events: wanted }),
    signal,
  });
  const type = answer.headers.get("content-type") ?? "";
  return {
    packets: readLink(answer.headers.get("link")),
    type,
    headers: Object.fromEntries(answer.headers),
    text: await answer.text(),
    isError: !answer.ok,
  };
}

/** The packets of a header `Link: <data:application/json,…>;rel=execstate`. */
function readLink(link: string | null): Packet[] {
  const data = /<data:application\/json,([^>]*)>;\s*rel="?execstate/.exec(link ?? "")?.[1];
  if (data === undefined) return [];
  const packets: unknown = JSON.parse(decodeURIComponent(data));
  if (!Array.isArray(packets)) return [];
  return packets.map((packet: { type?: unknown }) => ({ type: String(packet.type), data: packet }));
}
