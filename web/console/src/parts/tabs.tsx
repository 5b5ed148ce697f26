// A row of tabs. Arrow keys move between them, as everywhere.

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";

export interface Tab<Name extends string> {
  name: Name;
  label: ComponentChildren;
  title?: string;
}

interface TabsProps<Name extends string> {
  label: string;
  tabs: readonly Tab<Name>[];
  chosen: Name;
  onChoose: (name: Name) => void;
  /** The id of the element that the chosen tab shows. */
  panel: string;
}

export function Tabs<Name extends string>({ label, tabs, chosen, onChoose, panel }: TabsProps<Name>) {
  const row = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (move === undefined) return;
    event.preventDefault();
    const place = tabs.findIndex(({ name }) => name === chosen);
    const next = tabs[(place + move + tabs.length) % tabs.length];
    if (!next) return;
    onChoose(next.name);
    row.current?.querySelectorAll<HTMLElement>("[role=tab]")[tabs.indexOf(next)]?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} ref={row} onKeyDown={onKeyDown}>
      {tabs.map(({ name, label: words, title }) => (
        <button
          key={name}
          role="tab"
          aria-selected={name === chosen}
          aria-controls={panel}
          tabIndex={name === chosen ? 0 : -1}
          title={title}
          onClick={() => onChoose(name)}
        >
          {words}
        </button>
      ))}
    </div>
  );
}
