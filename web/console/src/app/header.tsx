// The head of the page: the scripts that are open, and how the connection is.

import { Icon } from "../parts/icons.tsx";
import { told } from "../parts/clipboard.ts";
import { isLeftOut } from "../editor/language-service.ts";
import { forgetScript } from "../editor/editor.ts";
import { socket, notice } from "../runs/runs.ts";
import { activeId, close, open, openScripts } from "../scripts/scripts.ts";
import { storageProblem } from "../scripts/storage.ts";
import { serverInfo } from "../server/catalog.ts";
import { isHelpOpen } from "./commands.ts";
import { isSideShown, toggleSide } from "./panes.ts";

export function Header() {
  return (
    <header class="head">
      <button class="logo" aria-pressed={isSideShown.value} title="Show or hide the side pane" onClick={() => toggleSide()}>
        <Logo /> qlio
      </button>
      <ScriptTabs />
      <span class="gap" />
      <Connection />
      <button aria-label="Keys" title="Keys (?)" onClick={() => (isHelpOpen.value = true)}>
        <Icon name="help" />
      </button>
    </header>
  );
}

function Logo() {
  return (
    <svg class="mark-logo" viewBox="0 0 16 16" width="18" height="18" aria-hidden="true">
      <path d="M2 4h5M2 8h9M2 12h6" />
      <circle cx="13" cy="4" r="1.8" />
    </svg>
  );
}

function ScriptTabs() {
  const shown = openScripts.value;
  return (
    <nav class="script-tabs" aria-label="Open scripts">
      {shown.map(({ id, title }) => (
        <span key={id} class={id === activeId.value ? "script-tab chosen" : "script-tab"}>
          <button aria-current={id === activeId.value ? "page" : undefined} onClick={() => (activeId.value = id)} title={title}>
            {title}
          </button>
          <button
            class="close"
            aria-label={`Close ${title}`}
            title="Close; it stays in the list of closed scripts"
            onClick={() => {
              forgetScript(id);
              close(id);
            }}
          >
            <Icon name="close" />
          </button>
        </span>
      ))}
      <button aria-label="New script" title="New script" onClick={() => void open()}>
        <Icon name="plus" />
      </button>
    </nav>
  );
}

function Connection() {
  const words = {
    connecting: "connecting",
    open: "connected",
    lost: "disconnected",
    absent: "no live connection",
  }[socket.state.value];
  return (
    <span class={`connection connection-${socket.state.value}`} title={serverInfo.value && `qlio ${serverInfo.value.version}`}>
      <i aria-hidden="true" /> {words}
    </span>
  );
}

/** What the person should know before anything else. */
export function Banners() {
  const state = socket.state.value;
  return (
    <div class="banners" role="status">
      {state === "lost" && (
        <p class="banner">
          The connection to the server is lost; your text is safe. It is tried again by itself.
          <button onClick={() => socket.retryNow()}>Try now</button>
        </p>
      )}
      {state === "absent" && (
        <p class="banner">
          There is no WebSocket to this server: scripts run over HTTP, without live marks, step-by-step runs, problems and
          completion while typing.
        </p>
      )}
      {isLeftOut.value && (
        <p class="banner">This script is too long to be checked and completed while typing; it can be run.</p>
      )}
      {storageProblem.value && <p class="banner">{storageProblem.value}</p>}
      {serverInfo.value?.adhoc === false && (
        <p class="banner">This server runs no scripts of one's own: tables and routes can be looked at, routes tried.</p>
      )}
      {notice.value && (
        <p class="banner">
          {notice.value}
          <button onClick={() => (notice.value = "")}>Close</button>
        </p>
      )}
      {told.value && <p class="toast">{told.value}</p>}
    </div>
  );
}
