// The variables of a step-by-step run, with those marked that the last step has changed.

import { Icon } from "../parts/icons.tsx";
import { current, step, stop } from "../runs/runs.ts";
import { cursorLine } from "../editor/editor.ts";
import { runTo } from "./stepping.ts";

/** Values are shown up to here; a variable's whole value is what the run returns. */
const VALUE_CHARS_MAX = 20_000;

export function VariablesPane() {
  const run = current.value;
  void run?.revision.value;
  const pause = run?.pause;
  if (!run?.isDebug) return <Hint words="Start a step-by-step run to see its variables." />;
  if (!pause) return <Hint words={run.isOver ? endOf(run.state) : "Waiting for the first step …"} />;
  const names = Object.keys(pause.variables);
  const next = pause.waiting.map(({ line, node }) => (line === undefined ? node : `line ${line}`)).join(", ");
  return (
    <div class="variables">
      <div class="bar">
        <button class="primary" onClick={() => step()} disabled={pause.waiting.length === 0}>
          <Icon name="step" /> Step
        </button>
        <button onClick={() => step({ all: true })}>
          <Icon name="go" /> Continue
        </button>
        <button onClick={() => runTo(cursorLine())}>To the cursor</button>
        <button onClick={stop}>
          <Icon name="stop" /> Stop
        </button>
        <span class="step" data-step={pause.step}>
          step {pause.step}
          {next && ` · next: ${next}`}
        </span>
      </div>
      <dl>
        {names.length === 0 && <p class="quiet">No variable is set yet.</p>}
        {names.map((name) => (
          <div key={name} class={pause.changed.has(name) ? "variable changed" : "variable"}>
            <dt>
              {name}
              {pause.changed.has(name) && <span class="note-chip">changed</span>}
            </dt>
            <dd>
              <Value value={pause.variables[name]} />
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function Value({ value }: { value: unknown }) {
  const short = JSON.stringify(value) ?? "not set";
  if (short.length < 100) return <code>{short}</code>;
  const long = JSON.stringify(value, null, 2);
  return (
    <details>
      <summary>
        <code>{short.slice(0, 90)}…</code>
      </summary>
      <pre tabIndex={0}>{long.length > VALUE_CHARS_MAX ? `${long.slice(0, VALUE_CHARS_MAX)}\n… and more` : long}</pre>
    </details>
  );
}

function Hint({ words }: { words: string }) {
  return (
    <div class="empty">
      <p>{words}</p>
    </div>
  );
}

function endOf(state: string): string {
  if (state === "cancelled") return "The step-by-step run was stopped, or its session has ended: sessions end by themselves after a while without a step.";
  return "The step-by-step run is over.";
}
