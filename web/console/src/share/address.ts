// Scripts in the address of the page: as `?s=` while they are short; compressed in the fragment, which
// no server and no proxy sees, if they are not.

import { show } from "../scripts/scripts.ts";
import { tell } from "../parts/clipboard.ts";
import { packed, unpacked } from "../parts/packed-text.ts";

/** Longer addresses are cut or refused by something on the way. */
const QUERY_CHARS_MAX = 8 * 1024;
/** The most that a fragment may unfold to. */
const TEXT_BYTES_MAX = 1 << 20;

/** The address that shows `text`. */
export async function addressOf(text: string): Promise<string> {
  const url = new URL(location.pathname, location.href);
  url.searchParams.set("s", text);
  if (url.href.length <= QUERY_CHARS_MAX) return url.href;
  url.search = "";
  url.hash = `s=${await packed(text)}`;
  return url.href;
}

/** The script that the address of the page holds. */
export async function scriptOfAddress(): Promise<string | undefined> {
  const fromQuery = new URLSearchParams(location.search).get("s");
  if (fromQuery !== null) return fromQuery;
  const fromFragment = /^#s=([\w-]+)$/.exec(location.hash)?.[1];
  if (fromFragment === undefined) return undefined;
  try {
    return await unpacked(fromFragment, TEXT_BYTES_MAX);
  } catch {
    tell("The address holds no script that can be read");
    return undefined;
  }
}

interface Entry {
  script?: string;
}

/** The script that this entry of the browser's history was about. */
export function scriptOfEntry(): string | undefined {
  return (history.state as Entry | null)?.script;
}

export function markEntry(script: string): void {
  history.replaceState({ script } satisfies Entry, "");
}

/** Notes in the browser's history that `text` was run. */
export async function pushAddress(text: string, script: string): Promise<void> {
  const address = await addressOf(text);
  if (address !== location.href) history.pushState({ script } satisfies Entry, "", address);
}

/** Back and Forward show the script of the address; they do not run it. */
export function followAddress(): void {
  addEventListener("popstate", () => {
    void scriptOfAddress().then((text) => text !== undefined && show(text));
  });
}
