// The calls of two runs side by side, on one scale.

import { type Past, exchangesOfPast } from "../runs/history.ts";
import type { Exchange } from "../runs/run.ts";
import { callsText, totalsOf } from "../calls/timeline.ts";

const ROWS_MAX = 40;

export function Compare({ first, second }: { first: Past; second: Past }) {
  const runs = [first, second].map((past) => ({ past, exchanges: exchangesOfPast(past.id) ?? [] }));
  const longest = Math.max(1, ...runs.map(({ exchanges }) => totalsOf(exchanges).wall));
  return (
    <div class="compare" role="group" aria-label="Two runs compared">
      {runs.map(({ past, exchanges }) => (
        <section key={past.id} aria-label={`Run of ${new Date(past.at).toLocaleTimeString()}`}>
          <p>
            <b>{new Date(past.at).toLocaleTimeString()}</b> {Math.round(past.elapsed)} ms, {callsText(past.calls)}
          </p>
          <Bars exchanges={exchanges} longest={longest} />
          {past.calls > ROWS_MAX && <p class="quiet">… and {past.calls - ROWS_MAX} more</p>}
        </section>
      ))}
    </div>
  );
}

function Bars({ exchanges, longest }: { exchanges: readonly Exchange[]; longest: number }) {
  const { from } = totalsOf(exchanges);
  return (
    <ul class="compare-bars" aria-hidden="true">
      {exchanges.slice(0, ROWS_MAX).map(({ id, start = from, time = 0 }) => (
        <li key={id}>
          <i
            class="phase phase-wait"
            style={{ left: `${((start - from) / longest) * 100}%`, width: `max(2px, ${(time / longest) * 100}%)` }}
          />
        </li>
      ))}
    </ul>
  );
}
