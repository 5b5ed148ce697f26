// Ways to take a script elsewhere.

import { quoted } from "../calls/curl.ts";
import { focusEditor, shownText } from "../editor/editor.ts";
import { copy, download } from "../parts/clipboard.ts";
import { offer } from "../parts/menu.tsx";
import { serverInfo } from "../server/catalog.ts";
import { urlOf } from "../server/place.ts";
import { addressOf } from "./address.ts";
import { askToSave } from "./drafts.ts";

/** Opens the menu below `anchor`, or in the middle. */
export function openShare(anchor?: HTMLElement): void {
  const box = anchor?.getBoundingClientRect();
  const at = { x: box?.left ?? innerWidth / 3, y: box?.bottom ?? 80 };
  const text = shownText();
  const q = urlOf("q");
  q.searchParams.set("s", text);
  const choices = [
    { label: "Copy a link to this script", run: () => void addressOf(text).then((address) => copy(address, "Link")) },
    { label: "Copy the URI that runs it", run: () => void copy(q.href, "URI") },
    { label: "Copy as cURL", run: () => void copy(curlOfScript(text), "Command") },
    { label: "Save as a file", run: () => download("script.ql", "text/plain", text) },
  ];
  if (serverInfo.peek()?.drafts) choices.push({ label: "Save as a route …", run: askToSave });
  offer(choices, at, "", () => (anchor ? anchor.focus() : focusEditor()));
}

/** A command that runs the script; it reads the text from its argument, not from a file. */
function curlOfScript(text: string): string {
  return `curl ${quoted(urlOf("q").href)} --data-urlencode ${quoted(`s=${text}`)}`;
}
