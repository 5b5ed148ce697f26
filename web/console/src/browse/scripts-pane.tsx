// Scripts whose tabs were closed: nothing that was written is gone.

import { closedScripts, reopen } from "../scripts/scripts.ts";

export function ScriptsPane() {
  const closed = closedScripts.value;
  return (
    <div class="list">
      {closed.length === 0 && <p class="quiet">Scripts that you close are kept here.</p>}
      <ul aria-label="Closed scripts">
        {closed.map(({ id, title, text, at }) => (
          <li key={id}>
            <button class="entry" title={text.slice(0, 500)} onClick={() => reopen(id)}>
              <span>{title}</span>
              <small>
                closed {new Date(at).toLocaleString()}, {text.split("\n").length} lines
              </small>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
