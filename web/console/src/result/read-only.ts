// Texts to look at: results, bodies. The same component as the editor, so that large ones open fast and
// the search finds what is not on the screen.

import { defaultKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { foldGutter, foldKeymap } from "@codemirror/language";
import { highlightSelectionMatches, openSearchPanel, search, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { theme } from "../editor/theme.ts";

/** Texts above this are shown in part; all of it can be saved. */
export const SHOWN_CHARS_MAX = 20_000_000;
/** Above this, lines are not wrapped and not folded. */
const PLAIN_CHARS_MIN = 15_000_000;

export function showText(parent: HTMLElement, text: string, isJson: boolean, label: string): EditorView {
  const isPlain = text.length > PLAIN_CHARS_MIN;
  return new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        EditorState.readOnly.of(true),
        EditorView.editable.of(false),
        EditorView.contentAttributes.of({ tabindex: "0", "aria-readonly": "true", "aria-label": label }),
        isPlain ? [] : EditorView.lineWrapping,
        isJson && !isPlain ? [json(), foldGutter({ openText: "▾", closedText: "▸" })] : lineNumbers(),
        search({ top: true }),
        highlightSelectionMatches(),
        keymap.of([...searchKeymap, ...foldKeymap, ...defaultKeymap]),
        theme,
      ],
    }),
  });
}

export { openSearchPanel };
