// Code actions of the language service: a menu of what the hints at the cursor advise, at Mod-.

import { type LSPClient, LSPPlugin } from "@codemirror/lsp-client";
import type { ChangeSpec, Extension } from "@codemirror/state";
import { type EditorView, keymap } from "@codemirror/view";
import { offer } from "../parts/menu.tsx";
import type { Position } from "./positions.ts";

interface TextEdit {
  range: { start: Position; end: Position };
  newText: string;
}

interface Action {
  title: string;
  isPreferred?: boolean;
  edit?: { changes?: Record<string, TextEdit[]>; documentChanges?: { edits: TextEdit[] }[] };
}

export function quickFixes(client: LSPClient, uri: string): Extension {
  return keymap.of([
    {
      key: "Mod-.",
      run: (view) => {
        void offerFixes(client, uri, view, view.state.selection.main.head);
        return true;
      },
    },
  ]);
}

/** Applies what helps in the line of a place; offers a choice if that is more than one thing. */
export async function offerFixes(client: LSPClient, uri: string, view: EditorView, place: number): Promise<void> {
  client.sync();
  const plugin = LSPPlugin.get(view);
  if (!plugin) return;
  const { from, to } = view.state.doc.lineAt(place);
  const range = { start: plugin.toPosition(from), end: plugin.toPosition(to) };
  const doc = view.state.doc;
  const found = await client.request<unknown, Action[] | null>("textDocument/codeAction", {
    textDocument: { uri },
    range,
    context: { diagnostics: [] },
  });
  const actions = (found ?? []).filter(({ edit }) => edit !== undefined);
  const coords = view.coordsAtPos(place);
  const at = { x: coords?.left ?? 0, y: coords?.bottom ?? 0 };
  const choices = actions.map((action) => ({
    label: action.title,
    run: () => {
      if (view.state.doc !== doc) return;
      view.dispatch({ changes: changesOf(action, uri, plugin), userEvent: "input.fix" });
      view.focus();
    },
  }));
  if (choices.length === 1) choices[0]?.run();
  else offer(choices, at, "No quick fix here", () => view.focus());
}

function changesOf(action: Action, uri: string, plugin: LSPPlugin): ChangeSpec {
  const edits = action.edit?.changes?.[uri] ?? action.edit?.documentChanges?.flatMap((change) => change.edits) ?? [];
  return edits.map(({ range, newText }) => ({
    from: plugin.fromPosition(range.start, plugin.view.state.doc),
    to: plugin.fromPosition(range.end, plugin.view.state.doc),
    insert: newText,
  }));
}
