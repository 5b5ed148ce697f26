// A text in a pane, with its search.

import type { Signal } from "@preact/signals";
import type { EditorView } from "@codemirror/view";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { documentOf } from "./document.ts";
import { showText } from "./read-only.ts";
import { openSearch } from "./search.ts";

interface TextViewProps {
  text: string;
  /** It is shown with a line for each value. */
  isJson: boolean;
  label: string;
  /** Somebody wants to search; it is set back when the search is open. */
  isSearchWanted?: Signal<boolean>;
}

export function TextView({ text, isJson, label, isSearchWanted }: TextViewProps) {
  const holder = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<EditorView | undefined>(undefined);
  const [isCut, setIsCut] = useState(false);
  useEffect(() => {
    const end = new AbortController();
    let made: EditorView | undefined;
    void documentOf(text, isJson, end.signal).then((found) => {
      if (!found || !holder.current) return;
      made = showText(holder.current, found.doc, isJson, label);
      setView(made);
      setIsCut(found.isCut);
    });
    return () => {
      end.abort();
      made?.destroy();
      setView(undefined);
    };
  }, [text, isJson]);
  const isWanted = isSearchWanted?.value === true;
  // At once: what is typed next belongs to the search.
  useLayoutEffect(() => {
    if (!isSearchWanted || !isWanted || !view) return;
    isSearchWanted.value = false;
    openSearch(view);
  }, [view, isWanted]);
  return (
    <div class="text-view" aria-busy={view === undefined}>
      {isCut && <p class="note">This is the beginning of {(text.length / 1_000_000).toFixed(1)} MB; save it to see all.</p>}
      <div class="text-holder" ref={holder} />
    </div>
  );
}
