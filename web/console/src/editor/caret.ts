// The caret, which blinks by a timer: an animation, as the editor has it by itself, draws sixty frames a second while
// nothing happens, and each key then waits for the next of them.

import type { Extension } from "@codemirror/state";
import { EditorView, ViewPlugin, type ViewUpdate, drawSelection } from "@codemirror/view";

/** How long the caret is seen, and how long it is not. */
const BLINK_MS = 600;
const HIDDEN = "data-caret-hidden";

class Blinking {
  private timer: number | undefined;

  constructor(private readonly view: EditorView) {
    this.begin();
  }

  update(update: ViewUpdate) {
    if (update.docChanged || update.selectionSet || update.focusChanged) this.begin();
  }

  destroy() {
    clearInterval(this.timer);
  }

  /** Shows the caret, and lets it blink from now on where somebody writes and may see things move. */
  private begin() {
    clearInterval(this.timer);
    this.timer = undefined;
    if (this.view.dom.hasAttribute(HIDDEN)) this.view.dom.removeAttribute(HIDDEN);
    if (!this.view.hasFocus || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    this.timer = window.setInterval(() => this.view.dom.toggleAttribute(HIDDEN), BLINK_MS);
  }
}

/** Selections with several ranges, drawn by the editor, and their carets. */
export function selections(): Extension {
  return [
    drawSelection({ cursorBlinkRate: 0 }),
    ViewPlugin.fromClass(Blinking),
    EditorView.baseTheme({ [`&[${HIDDEN}] .cm-cursorLayer`]: { visibility: "hidden" } }),
  ];
}
