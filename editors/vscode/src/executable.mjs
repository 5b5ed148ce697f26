// The executable: where it is, and what a script gives.

import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';

/** Bytes of a result that are kept. */
const BYTES_MAX = 16 << 20;

/**
 * Where the executable is.
 * @param {string} named the path that the settings name, or nothing
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<string | undefined>}
 */
export async function locate(named, env = process.env, platform = process.platform) {
  if (named) {
    if (!isAbsolute(named)) throw new Error(`qlio.path is no absolute path: ${named}`);
    if (!(await canRun(named))) throw new Error(`qlio.path is no program: ${named}`);
    return named;
  }
  const file = platform === 'win32' ? 'qlio.exe' : 'qlio';
  // A relative entry would start what lies in a folder that somebody else may have written.
  for (const folder of (env.PATH ?? '').split(delimiter).filter(isAbsolute)) {
    const path = join(folder, file);
    if (await canRun(path)) return path;
  }
  return undefined;
}

async function canRun(path) {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/**
 * Runs a script of an app.
 * @returns {Promise<{ text: string, note: string }>} what it printed, and how it ended
 */
export function runScript(executable, script, root, signal) {
  const app = root ? ['--app', root] : [];
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(executable, ['run', ...app, script], { stdio: ['ignore', 'pipe', 'pipe'], signal });
    const parts = { stdout: [], stderr: [] };
    let bytes = 0;
    let isCut = false;
    for (const name of ['stdout', 'stderr']) {
      child[name].on('data', (part) => {
        const kept = part.subarray(0, Math.max(0, BYTES_MAX - bytes));
        bytes += kept.length;
        isCut ||= kept.length < part.length;
        parts[name].push(kept);
      });
    }
    child.on('error', (error) => {
      if (error.name === 'AbortError') resolve({ text: '', note: 'stopped' });
      else reject(error);
    });
    child.on('close', (code) => {
      const [out, told] = ['stdout', 'stderr'].map((name) => Buffer.concat(parts[name]).toString());
      const how = code === 0 ? 'done' : `failed with exit code ${code}`;
      const cut = isCut ? `; more than ${BYTES_MAX} bytes, the rest is not shown` : '';
      const note = `${how} in ${Math.round(performance.now() - started)} ms${cut}`;
      resolve({ text: [out, told].filter(Boolean).join('\n'), note });
    });
  });
}
