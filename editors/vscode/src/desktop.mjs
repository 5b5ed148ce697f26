// The extension on a desktop: the executable answers and runs, if there is one and the folder is trusted.

import { workspace } from 'vscode';
import { LanguageClient, TransportKind } from 'vscode-languageclient/node';

import { locate, runScript } from './executable.mjs';
import { start } from './extension.mjs';

export function activate(context) {
  return start(context, {
    Client: LanguageClient,
    find: async (log) => {
      const settings = workspace.getConfiguration('qlio');
      if (!workspace.isTrusted) return undefined;
      const found = await locate(settings.get('path'));
      if (!found && settings.get('server') === 'executable') {
        throw new Error('there is no executable `qlio` in the PATH; name one in the setting qlio.path');
      }
      if (!found) log.info('there is no executable `qlio` in the PATH, so scripts cannot be run');
      return found;
    },
    outside: (command, root) => {
      const args = ['lsp', ...(root?.scheme === 'file' ? ['--app', root.fsPath] : [])];
      return { command, args, transport: TransportKind.stdio };
    },
    run: (command, uri, root, token) => {
      if (uri.scheme !== 'file') throw new Error('only scripts on this machine can be run');
      const stop = new AbortController();
      token.onCancellationRequested(() => stop.abort());
      return runScript(command, uri.fsPath, root?.scheme === 'file' ? root.fsPath : undefined, stop.signal);
    },
  });
}
