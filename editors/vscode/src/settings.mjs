// Settings files in other formats than JSON, written anew in it: the server inside reads JSON only.

import { parse as parseToml } from 'smol-toml';
import { parse as parseYaml } from 'yaml';

/** The names of settings files, in the order in which they count, with what reads them. */
export const SETTINGS = new Map([
  ['qlio.json', null],
  ['qlio.toml', parseToml],
  ['qlio.yaml', (text) => parseYaml(text, { maxAliasCount: 100 })],
]);

/**
 * What the server gets for a file: its bytes, or those of a JSON file in its place. One that cannot be
 * read stays what it is, so that the app has no settings until it can.
 * @returns {[string, Uint8Array]} its URI and bytes
 */
export function asJson(uri, bytes) {
  const name = uri.slice(uri.lastIndexOf('/') + 1);
  const parse = SETTINGS.get(name);
  if (!parse) return [uri, bytes];
  const renamed = uri.replace(/[^/]*$/, 'qlio.json');
  try {
    const value = parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return [renamed, new TextEncoder().encode(JSON.stringify(value ?? {}))];
  } catch {
    return [uri, bytes];
  }
}
