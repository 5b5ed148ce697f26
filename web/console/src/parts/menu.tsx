// A small list of choices at a place of the page, for the keyboard and the pointer.

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

export interface Choice {
  label: string;
  run: () => void;
}

interface Menu {
  choices: readonly Choice[];
  at: { x: number; y: number };
  empty: string;
  closed: () => void;
}

const shown = signal<Menu | undefined>(undefined);
const WIDTH_PX_MAX = 320;

/** Offers choices; without any, says `empty`. `closed` takes the focus back. */
export function offer(choices: readonly Choice[], at: { x: number; y: number }, empty: string, closed: () => void): void {
  shown.value = { choices, at, empty, closed };
}

function dismiss(): void {
  const menu = shown.peek();
  shown.value = undefined;
  menu?.closed();
}

export function MenuHost() {
  const menu = shown.value;
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = list.current;
    if (!menu || !element) return;
    element.style.left = `${Math.max(8, Math.min(menu.at.x, innerWidth - WIDTH_PX_MAX - 8))}px`;
    element.style.top = `${Math.max(8, Math.min(menu.at.y + 4, innerHeight - element.offsetHeight - 8))}px`;
    (element.querySelector("button") ?? element).focus();
  }, [menu]);
  if (!menu) return null;
  const onKeyDown = (event: KeyboardEvent) => {
    const items = [...(list.current?.querySelectorAll("button") ?? [])];
    const place = items.indexOf(document.activeElement as HTMLButtonElement);
    if (event.key === "ArrowDown") items[(place + 1) % items.length]?.focus();
    else if (event.key === "ArrowUp") items[(place - 1 + items.length) % items.length]?.focus();
    else if (event.key === "Escape" || event.key === "Tab") dismiss();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="menu-back" onClick={dismiss}>
      <div class="menu" role="menu" aria-label="Choices" tabIndex={-1} ref={list} onKeyDown={onKeyDown}>
        {menu.choices.length === 0 && <p>{menu.empty}</p>}
        {menu.choices.map(({ label, run }) => (
          <button
            key={label}
            role="menuitem"
            onClick={(event) => {
              event.stopPropagation();
              shown.value = undefined;
              run();
            }}
          >
            {label}
          </button>
        ))}
      </div>
    </div>
  );
}
