// A text in a pane, with its search.

import type { EditorView } from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import { openSearchPanel, showText } from "./read-only.ts";

interface TextViewProps {
  text: string;
  isJson: boolean;
  label: string;
  /** Opens the search when it changes and is not 0. */
  search?: number;
}

export function TextView({ text, isJson, label, search = 0 }: TextViewProps) {
  const holder = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | undefined>(undefined);
  useEffect(() => {
    if (!holder.current) return;
    view.current = showText(holder.current, text, isJson, label);
    return () => {
      view.current?.destroy();
      view.current = undefined;
    };
  }, [text, isJson]);
  useEffect(() => {
    if (search > 0 && view.current) openSearchPanel(view.current);
  }, [search]);
  return <div class="text-view" ref={holder} />;
}
