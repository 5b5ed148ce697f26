// How editors look: rules of CodeMirror's own sheets, with the custom properties of styles/tokens.css.

import { syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

const rules = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "transparent", fontSize: "var(--code-size)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--accent)", padding: "8px 0" },
  ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--muted)", border: "none" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 8px 0 12px" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--line)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--selection)",
  },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": {
    backgroundColor: "var(--selection)",
    outline: "1px solid var(--control)",
  },
  ".cm-panels": { backgroundColor: "var(--panel)", color: "var(--text)", borderColor: "var(--border)" },
  ".cm-panels-bottom": { borderTop: "1px solid var(--border)" },
  ".cm-panel input, .cm-panel button, .cm-panel label": { fontSize: "13px" },
  ".cm-textfield": { backgroundColor: "var(--page)", borderColor: "var(--control)", borderRadius: "4px" },
  ".cm-button": {
    backgroundImage: "none",
    backgroundColor: "var(--page)",
    borderColor: "var(--control)",
    borderRadius: "4px",
  },
  ".cm-search[role=search]": { display: "flex", flexWrap: "wrap", alignItems: "center", gap: "6px", padding: "6px 8px" },
  ".cm-search[role=search] input": { flex: "1 1 9em", minWidth: "0" },
  ".cm-searchMatch, .cm-searchMatch span": { color: "var(--text)" },
  ".cm-searchMatch": { backgroundColor: "var(--match)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--match-selected)" },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    border: "1px solid var(--border)",
    borderRadius: "6px",
    boxShadow: "var(--shadow)",
  },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "13px", maxHeight: "17em" },
  ".cm-tooltip-autocomplete > ul > li": { padding: "3px 8px !important" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionDetail": { color: "inherit", opacity: "0.8", fontStyle: "normal" },
  ".cm-completionInfo, .cm-lsp-hover-tooltip, .cm-lsp-signature-tooltip": { maxWidth: "34em", padding: "8px 12px" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--panel)", color: "var(--muted)", borderColor: "var(--border)" },
  ".cm-foldGutter .cm-gutterElement": { cursor: "pointer", minWidth: "14px" },
  ".cm-diagnostic": { fontFamily: "var(--sans)", fontSize: "13px" },
  ".cm-diagnosticAction": { backgroundColor: "var(--accent)", color: "var(--on-accent)", padding: "3px 8px", gap: "0" },
  ".cm-panel.cm-panel-lint ul [aria-selected], .cm-panel.cm-panel-lint ul:focus [aria-selected]": {
    backgroundColor: "var(--selection)",
    color: "var(--text)",
  },
  ".cm-panel.cm-panel-lint ul": { maxHeight: "9em" },
  ".cm-placeholder": { color: "var(--muted)" },
});

export const theme = [rules, syntaxHighlighting(classHighlighter)];
