// The last runs: searched, pinned, shown again, and two of them side by side.

import { useState } from "preact/hooks";
import { callsText } from "../calls/timeline.ts";
import { Icon } from "../parts/icons.tsx";
import { type Past, exchangesOfPast, forgetAll, history, pin } from "../runs/history.ts";
import { show, titleOf } from "../scripts/scripts.ts";
import { Compare } from "./compare.tsx";

const SHOWN_MAX = 200;

export function HistoryPane() {
  const [filter, setFilter] = useState("");
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const words = filter.trim().toLowerCase();
  const found = history.value.filter(({ text }) => text.toLowerCase().includes(words)).slice(0, SHOWN_MAX);
  const choose = (id: string) =>
    setChosen(chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id].slice(-2));
  const compared = chosen.map((id) => history.value.find((past) => past.id === id)).filter((past) => past !== undefined);
  return (
    <div class="list history">
      <input
        type="search"
        placeholder="Search runs"
        aria-label="Search runs"
        value={filter}
        onInput={({ currentTarget }) => setFilter(currentTarget.value)}
      />
      {history.value.length === 0 && <p class="quiet">What you run is listed here.</p>}
      {compared.length === 2 && <Compare first={compared[0] as Past} second={compared[1] as Past} />}
      <ul aria-label="Runs">
        {found.map((past) => (
          <li key={past.id} class={`past run-${past.state}`}>
            <button class="entry" title={past.text.slice(0, 500)} onClick={() => show(past.text)}>
              <span>{titleOf(past.text)}</span>
              <small>
                {new Date(past.at).toLocaleTimeString()} · {past.state} · {Math.round(past.elapsed)} ms · {callsText(past.calls)}
              </small>
            </button>
            {exchangesOfPast(past.id) && (
              <label class="check" title="Compare two runs">
                <input
                  type="checkbox"
                  aria-label={`Compare the run of ${new Date(past.at).toLocaleTimeString()}`}
                  checked={chosen.includes(past.id)}
                  onChange={() => choose(past.id)}
                />
              </label>
            )}
            <button
              aria-pressed={past.isPinned}
              aria-label={past.isPinned ? "Unpin this run" : "Pin this run"}
              title={past.isPinned ? "Unpin" : "Pin: it is never forgotten"}
              onClick={() => pin(past.id, !past.isPinned)}
            >
              <Icon name="pin" />
            </button>
          </li>
        ))}
      </ul>
      {history.value.length > 0 && <button onClick={forgetAll}>Forget all that are not pinned</button>}
    </div>
  );
}
