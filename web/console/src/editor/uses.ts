// The list of uses names the scripts: the service knows them by their ids alone, which say nothing to people.

import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

/** Has the heads of the list say `title`. The list is shown by an effect, and has no place for names. */
export function usesOf(title: () => string): Extension {
  return EditorView.updateListener.of(({ view, transactions }) => {
    if (transactions.every(({ effects }) => effects.length === 0)) return;
    for (const head of view.dom.querySelectorAll(".cm-lsp-reference-file")) head.textContent = title();
  });
}
