// The extension where no process can be started: the server inside answers, and nothing runs.

import { LanguageClient } from 'vscode-languageclient/browser';

import { start } from './extension.mjs';

export function activate(context) {
  return start(context, { Client: LanguageClient, find: async () => undefined });
}
