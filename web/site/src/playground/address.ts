// What the playground shows, in the fragment of its address: no server sees it, reloading keeps it, and
// copying the address shares it.
//
//   #x=…   files and which of them is shown, as JSON, compressed
//   #f=…   a file of the example app

import { packed, unpacked } from "../../../console/src/parts/packed-text.ts";

/** The most that a fragment may unfold to. */
const BYTES_MAX = 1 << 20;
/** The longest fragment that is written. */
const CHARS_MAX = 64 * 1024;

/** Files by their paths in an app. */
export type Files = Record<string, string>;

export interface Shown {
  /** Files, or those that differ from the example app's. */
  files: Files;
  shown: string;
  /** Whether the files of the example app are there as well. */
  withShop?: boolean;
}

/** What the address says; nothing if it says nothing. Fails if that cannot be read. */
export async function readAddress(hash: string): Promise<Shown | undefined> {
  const file = /^#f=(.+)$/.exec(hash)?.[1];
  if (file !== undefined) return { files: {}, shown: decodeURIComponent(file), withShop: true };
  const word = /^#x=([\w-]+)$/.exec(hash)?.[1];
  if (word === undefined) return undefined;
  const value: unknown = JSON.parse(await unpacked(word, BYTES_MAX));
  if (!isShown(value)) throw new TypeError("the address holds no files");
  return value;
}

function isShown(value: unknown): value is Shown {
  const { files, shown } = (value ?? {}) as Partial<Shown>;
  const areTexts = files instanceof Object && Object.values(files).every((text) => typeof text === "string");
  return areTexts && typeof shown === "string";
}

/** The fragment that shows the same; nothing if it would be too long for an address. */
export async function writeAddress(what: Shown): Promise<string | undefined> {
  const word = await packed(JSON.stringify(what));
  return word.length > CHARS_MAX ? undefined : `#x=${word}`;
}
