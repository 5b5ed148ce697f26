// Texts to look at: results, bodies. The same component as the editor, so that large ones open fast and
// only what is on the screen is drawn.

import { defaultKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { foldGutter, foldKeymap } from "@codemirror/language";
import { highlightSelectionMatches } from "@codemirror/search";
import { EditorState, type Text } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { theme } from "../editor/theme.ts";
import { searching } from "./search.ts";

/** Above this, lines are not wrapped and not folded. */
const PLAIN_CHARS_MIN = 15_000_000;

export function showText(parent: HTMLElement, doc: Text, isJson: boolean, label: string): EditorView {
  const isPlain = doc.length > PLAIN_CHARS_MIN;
  return new EditorView({
    parent,
    state: EditorState.create({
      doc,
      extensions: [
        EditorState.readOnly.of(true),
        EditorView.editable.of(false),
        EditorView.contentAttributes.of({ tabindex: "0", "aria-readonly": "true", "aria-label": label }),
        isPlain ? [] : EditorView.lineWrapping,
        isJson && !isPlain ? [json(), foldGutter({ openText: "▾", closedText: "▸" })] : lineNumbers(),
        searching,
        highlightSelectionMatches(),
        keymap.of([...foldKeymap, ...defaultKeymap]),
        theme,
      ],
    }),
  });
}
