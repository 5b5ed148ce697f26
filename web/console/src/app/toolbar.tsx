// The buttons of the script: run, stop, step by step, format, share, save.

import { Icon } from "../parts/icons.tsx";
import { current, stop } from "../runs/runs.ts";
import { askToSave, canSave } from "../share/drafts.ts";
import { openShare } from "../share/share-menu.ts";
import { COMMANDS, keyWords } from "./commands.ts";
import { runShown, whyNoSteps, whyNot } from "./running.ts";

export function Toolbar() {
  const run = current.value;
  void run?.revision.value;
  const isRunning = run !== undefined && !run.isOver;
  const why = whyNot.value;
  const press = (name: string) => COMMANDS.find((command) => command.name === name)?.run();
  return (
    <div class="toolbar" role="toolbar" aria-label="Script">
      {isRunning ? (
        <button class="primary stop" title="Stop (Escape twice)" onClick={stop}>
          <Icon name="stop" /> Stop
        </button>
      ) : (
        <button
          class="primary"
          title={why || `Run (${keyWords("Mod-Enter")})`}
          aria-disabled={why !== ""}
          aria-describedby="why-not"
          onClick={() => runShown()}
        >
          <Icon name="run" /> Run
        </button>
      )}
      <button
        title={whyNoSteps.value || `Run step by step (${keyWords("Mod-Shift-Enter")})`}
        aria-disabled={whyNoSteps.value !== "" || isRunning}
        onClick={() => !isRunning && runShown(true)}
      >
        <Icon name="debug" /> <span class="wide">Debug</span>
      </button>
      <button title={`Format (${keyWords("Shift-Alt-F")})`} onClick={() => press("format")}>
        <Icon name="format" /> <span class="wide">Format</span>
      </button>
      <button title="Share" aria-haspopup="menu" onClick={({ currentTarget }) => openShare(currentTarget as HTMLElement)}>
        <Icon name="share" /> <span class="wide">Share</span>
      </button>
      {canSave() && (
        <button title={`Save as a route of this app (${keyWords("Mod-S")})`} aria-haspopup="dialog" onClick={askToSave}>
          <Icon name="save" /> <span class="wide">Save</span>
        </button>
      )}
      <p id="why-not" class="why-not" title={isRunning ? "" : why}>
        {isRunning ? "" : why}
      </p>
    </div>
  );
}
