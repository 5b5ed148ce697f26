// A bar between two panes that the pointer and the arrow keys move. The place is a share in percent,
// kept over reloads, as a custom property of the document.

import { useEffect, useState } from "preact/hooks";
import { read, write } from "../scripts/storage.ts";

interface SplitterProps {
  /** The custom property that the layout reads. */
  name: string;
  label: string;
  direction: "horizontal" | "vertical";
  initial: number;
}

const SHARE_MIN = 15;
const SHARE_MAX = 85;
const STEP = 2;

const bounded = (share: number) => Math.round(Math.max(SHARE_MIN, Math.min(SHARE_MAX, share)) * 10) / 10;

export function Splitter({ name, label, direction, initial }: SplitterProps) {
  const key = `qlio.split.${name}`;
  const [share, setShare] = useState(() => bounded(read<number>(key, Number.isFinite) ?? initial));
  useEffect(() => {
    document.documentElement.style.setProperty(`--${name}`, `${share}%`);
    write(key, share);
  }, [share]);
  const isVertical = direction === "vertical";
  const onPointerDown = (event: PointerEvent) => {
    const bar = event.currentTarget as HTMLElement;
    bar.setPointerCapture(event.pointerId);
    const box = bar.parentElement?.getBoundingClientRect();
    if (!box) return;
    bar.onpointermove = ({ clientX, clientY }) =>
      setShare(bounded(isVertical ? ((clientX - box.left) / box.width) * 100 : ((clientY - box.top) / box.height) * 100));
    bar.onpointerup = () => (bar.onpointermove = null);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const move = { ArrowLeft: -STEP, ArrowUp: -STEP, ArrowRight: STEP, ArrowDown: STEP }[event.key];
    if (move === undefined) return;
    event.preventDefault();
    setShare(bounded(share + move));
  };
  return (
    <div
      class={`splitter splitter-${direction}`}
      role="separator"
      aria-label={label}
      aria-orientation={direction}
      aria-valuenow={Math.round(share)}
      aria-valuemin={SHARE_MIN}
      aria-valuemax={SHARE_MAX}
      tabIndex={0}
      onPointerDown={onPointerDown}
      onKeyDown={onKeyDown}
    />
  );
}
