// The files of an app for the server inside: handed in at the start, and whenever they change.

import { FileType, RelativePattern, Uri, workspace } from 'vscode';

import { SETTINGS, asJson } from './settings.mjs';

/** The folders of an app, and its settings. */
const FOLDERS = ['config', 'connectors', 'routes', 'tables', 'tests'];
const FILES = `{${[...SETTINGS.keys(), ...FOLDERS.map((name) => `${name}/**`)].join(',')}}`;

/** Files of an app that are handed in, how deep they lie, and bytes of one. The server has a bound for all. */
const FILES_MAX = 5000;
const DEPTH_MAX = 16;
const BYTES_MAX = 8 << 20;

/**
 * The files of an app; a search would need a provider that not every workspace has.
 * @returns {Promise<{ files: Uri[], isCut: boolean }>}
 */
async function filesOf(root) {
  const files = [];
  let isCut = false;
  const list = async (folder, depth, isWanted) => {
    const entries = await workspace.fs.readDirectory(folder);
    for (const [name, type] of entries.sort()) {
      const uri = Uri.joinPath(folder, name);
      if (!isWanted(name) || name === 'node_modules') continue;
      if (type & FileType.Directory) {
        // A link may lead back to where it is.
        if (depth < DEPTH_MAX && !(type & FileType.SymbolicLink)) await list(uri, depth + 1, () => true);
        else isCut = true;
      } else if (files.length < FILES_MAX) files.push(uri);
      else isCut = true;
    }
  };
  await list(root, 0, (name) => SETTINGS.has(name) || FOLDERS.includes(name));
  return { files, isCut };
}

/**
 * Hands the files of a folder in and keeps them as they are on disk.
 * @param {import('./inside.mjs').Inside} server
 * @param {Uri} root
 * @param {(reason: string) => void} warn
 * @param {() => void} changed
 */
export async function follow(server, root, warn, changed) {
  const take = async (uri) => {
    const [name, bytes] = asJson(uri.toString(), await workspace.fs.readFile(uri));
    if (bytes.length > BYTES_MAX || !server.put(name, bytes)) warn(`${uri} is too large for the server inside`);
  };
  const watcher = workspace.createFileSystemWatcher(new RelativePattern(root, FILES));
  const update = async (uri) => {
    await take(uri).catch(() => server.remove(uri.toString()));
    changed();
  };
  watcher.onDidCreate(update);
  watcher.onDidChange(update);
  watcher.onDidDelete((uri) => {
    server.remove(asJson(uri.toString(), new Uint8Array())[0]);
    changed();
  });
  const { files, isCut } = await filesOf(root);
  if (isCut) warn(`${root} has too many or too deep folders and files; some are not looked at`);
  await Promise.all(files.map((uri) => take(uri).catch((error) => warn(`${uri}: ${error.message}`))));
  return watcher;
}

/** The folder of the app: that of the first workspace folder. */
export function rootOf() {
  return workspace.workspaceFolders?.[0]?.uri;
}

/** The WebAssembly module that was packed. */
export function moduleOf(context) {
  return workspace.fs.readFile(Uri.joinPath(context.extensionUri, 'dist', 'language.wasm'));
}
