// Requests as commands that can be pasted into a shell.

import type { Exchange } from "../runs/run.ts";

/** A word that every shell of POSIX takes as it is. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Headers that curl makes by itself. */
const OWN = new Set(["host", "content-length", "connection", "accept-encoding"]);

export function curlOf({ method, uri, requestHeaders, requestBody }: Exchange): string {
  const words = ["curl", "--globoff"];
  if (method !== "GET" || requestBody !== undefined) words.push("--request", method);
  words.push(quoted(uri));
  for (const { name, value } of requestHeaders) {
    if (!OWN.has(name.toLowerCase())) words.push("--header", quoted(`${name}: ${value}`));
  }
  if (requestBody !== undefined) words.push("--data-binary", quoted(requestBody));
  return words.join(" ");
}
