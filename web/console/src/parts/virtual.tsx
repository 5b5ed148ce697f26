// Long lists of rows of one height, of which only those on the screen exist.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface VirtualRowsProps {
  count: number;
  rowHeight: number;
  /** Rows above and below the screen that exist as well. */
  spare?: number;
  class?: string;
  /** Draws row `index`, `top` pixels below the beginning. */
  row: (index: number, top: number) => ComponentChildren;
  /** What stands above the rows and stays on the screen. */
  head?: ComponentChildren;
  headHeight?: number;
  role?: "grid" | "treegrid";
  label?: string;
  columns?: number;
  onKeyDown?: (event: KeyboardEvent) => void;
}

export function VirtualRows({ count, rowHeight, spare = 8, head, headHeight = 0, row, ...rest }: VirtualRowsProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState({ top: 0, height: 600 });
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const measure = () => setRange({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    measure();
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);
  const first = Math.max(0, Math.floor(range.top / rowHeight) - spare);
  const last = Math.min(count, Math.ceil((range.top + range.height) / rowHeight) + spare);
  const rows = [];
  for (let index = first; index < last; index += 1) rows.push(row(index, headHeight + index * rowHeight));
  return (
    <div
      ref={scroller}
      class={`virtual ${rest.class ?? ""}`}
      role={rest.role}
      aria-label={rest.label}
      aria-rowcount={rest.role ? count + (head ? 1 : 0) : undefined}
      aria-colcount={rest.columns}
      tabIndex={0}
      onKeyDown={rest.onKeyDown}
    >
      {head}
      <div class="virtual-space" role="presentation" style={{ height: `${count * rowHeight}px` }} />
      {rows}
    </div>
  );
}
