// A panel beside the text: what a run or a plan gave, as text. Whatever an API answered, nothing of it runs.

import { ViewColumn, window } from 'vscode';

import { page } from './page.mjs';

/** One panel for all results; it comes again when it was closed. */
export class Panel {
  #panel;

  show(title, text, note = '') {
    if (!this.#panel) {
      this.#panel = window.createWebviewPanel(
        'qlio.result',
        title,
        { viewColumn: ViewColumn.Beside, preserveFocus: true },
        { enableScripts: false, localResourceRoots: [], enableFindWidget: true },
      );
      this.#panel.onDidDispose(() => { this.#panel = undefined; });
    }
    this.#panel.title = title;
    this.#panel.webview.html = page(title, text, note);
    this.#panel.reveal(ViewColumn.Beside, true);
  }

  dispose() {
    this.#panel?.dispose();
  }
}
