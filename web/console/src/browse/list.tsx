// A list that a text filters; one entry at a time is open.

import type { ComponentChildren } from "preact";
import type { Signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";

interface ListProps<Entry> {
  label: string;
  entries: readonly Entry[];
  nameOf: (entry: Entry) => string;
  wordsOf: (entry: Entry) => ComponentChildren;
  open: (entry: Entry) => ComponentChildren;
  empty: string;
  /** The name of an entry that is to be opened, until it has been. */
  wanted?: Signal<string>;
}

/** Entries that are drawn; who looks for more filters. */
const SHOWN_MAX = 300;

export function List<Entry>({ label, entries, nameOf, wordsOf, open, empty, wanted }: ListProps<Entry>) {
  const [filter, setFilter] = useState("");
  const [opened, setOpened] = useState<string | undefined>(undefined);
  const asked = wanted?.value ?? "";
  const isThere = asked !== "" && entries.some((entry) => nameOf(entry) === asked);
  useEffect(() => {
    if (!wanted || !isThere) return;
    setFilter("");
    setOpened(asked);
    wanted.value = "";
  }, [asked, isThere]);
  const words = filter.trim().toLowerCase();
  const found = words ? entries.filter((entry) => nameOf(entry).toLowerCase().includes(words)) : entries;
  return (
    <div class="list">
      <input
        type="search"
        placeholder={`Filter ${label.toLowerCase()}`}
        aria-label={`Filter ${label.toLowerCase()}`}
        value={filter}
        onInput={({ currentTarget }) => setFilter(currentTarget.value)}
      />
      {entries.length === 0 && <p class="quiet">{empty}</p>}
      <ul aria-label={label}>
        {found.slice(0, SHOWN_MAX).map((entry) => {
          const name = nameOf(entry);
          const isOpen = opened === name;
          return (
            <li key={name}>
              <button class="entry" aria-expanded={isOpen} onClick={() => setOpened(isOpen ? undefined : name)}>
                {wordsOf(entry)}
              </button>
              {isOpen && <div class="entry-body">{open(entry)}</div>}
            </li>
          );
        })}
      </ul>
      {found.length > SHOWN_MAX && <p class="quiet">… and {found.length - SHOWN_MAX} more: filter to see them.</p>}
    </div>
  );
}
