// Examples of the pages as addresses of the playground.
//
// Blocks before a script give it what it needs, as docs/language/README.md says; what the playground
// understands of that, tables, routes, files and settings, goes along with the script.

import { deflateRawSync } from "node:zlib";

/** What stands for the address of an API on the pages. */
const UPSTREAM = /\{\{upstream\}\}/g;
const API = "https://api.example";
/** Longer addresses are not for links. */
const ADDRESS_CHARS_MAX = 6_000;

/** Collects the blocks of a page. */
export class Examples {
  #files = {};

  /** Takes the next block; the fragment that shows it in the playground, if it is a script. */
  take(info, text) {
    const [kind, ...words] = info.split(/\s+/);
    const end = words.at(-1)?.startsWith("error=") ?? false;
    const part = words.find((word) => !word.startsWith("error="));
    const [what, name] = part?.split("=") ?? [];
    const shown = text.replace(UPSTREAM, API);
    if (part === "shown") return undefined;
    if (kind === "ql" && part === undefined) return this.#finish("script.ql", shown);
    const folder = { table: "tables/", route: "routes/", file: "" }[what];
    if (name && folder !== undefined) {
      const path = `${folder}${name}`;
      this.#files[path] = shown;
      if (end && kind === "ql") return this.#finish(path, shown);
      return undefined;
    }
    if (kind === "json" && part === "config") this.#files["qlio.json"] = shown;
    // Requests and commands end an example as well.
    if (part === "http" || (kind === "sh" && words.length > 0)) this.#files = {};
    return undefined;
  }

  #finish(path, text) {
    const files = { ...this.#files, [path]: text };
    this.#files = {};
    const fragment = pack({ files, shown: path });
    return fragment.length <= ADDRESS_CHARS_MAX ? fragment : undefined;
  }
}

/** As src/playground/address.ts reads it. */
export function pack(example) {
  return `x=${deflateRawSync(JSON.stringify(example), { level: 9 }).toString("base64url")}`;
}
