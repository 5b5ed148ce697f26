// What every editor of scripts has, whoever shows it: how it looks while one writes, and its keys.

import { closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab, toggleTabFocusMode } from "@codemirror/commands";
import { bracketMatching, indentOnInput, indentUnit } from "@codemirror/language";
import { lintGutter, lintKeymap, previousDiagnostic } from "@codemirror/lint";
import { searchKeymap } from "@codemirror/search";
import type { Extension } from "@codemirror/state";
import { EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { selections } from "./caret.ts";
import { theme } from "./theme.ts";

/** An editor that screen readers call `label`. */
export function writing(label: string): Extension {
  return [
    lineNumbers(),
    lintGutter(),
    history(),
    selections(),
    indentOnInput(),
    indentUnit.of("  "),
    bracketMatching(),
    closeBrackets(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ tabindex: "0", "aria-label": label, spellcheck: "false", autocapitalize: "off" }),
    theme,
    keymap.of([
      ...closeBracketsKeymap,
      ...lintKeymap,
      { key: "Shift-F8", run: previousDiagnostic },
      ...completionKeymap,
      { key: "Ctrl-m", mac: "Shift-Alt-m", run: toggleTabFocusMode },
      ...defaultKeymap,
      ...searchKeymap,
      ...historyKeymap,
      indentWithTab,
    ]),
  ];
}
