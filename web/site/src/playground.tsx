// The playground: the language service of the editors on a page, without a server.

import { formatDocument } from "@codemirror/lsp-client";
import { effect, signal } from "@preact/signals";
import { render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { adoptStyles } from "../../console/src/editor/adopted-styles.ts";
import { MenuHost } from "../../console/src/parts/menu.tsx";
import { type Files, type Shown, readAddress, writeAddress } from "./playground/address.ts";
import { add, allFiles, changes, createEditor, editor, open, paths, reconnect, show, shown } from "./playground/files.ts";
import { state } from "./playground/service.ts";
import { PlanPane, ProblemsPane, RunPane, planSoon } from "./playground/panes.tsx";

const FIRST = "routes/products.ql";
const NEW_TABLE = `-- What this API knows.
create table mine
  on select get from 'https://api.example/things?name={^name}'
    resultset 'things'
`;

/** The address is written when the typing pauses. */
const PAUSE_MS = 500;

const notice = signal("");
/** The files of the example app, and whether they are the ones that are open. */
let shop: Files = {};
let withShop = true;
let written = "";

/** Opens what the address says; the example app if it says nothing. */
async function openAddress(): Promise<void> {
  let wanted: Shown | undefined;
  try {
    wanted = await readAddress(location.hash);
    notice.value = "";
  } catch (error) {
    notice.value = `The address holds no example that can be read (${String(error)}). This is the example app.`;
  }
  withShop = wanted?.withShop ?? wanted === undefined;
  const files = { ...(withShop ? shop : {}), ...wanted?.files };
  open(files, wanted?.shown ?? FIRST);
}

let addressTimer: ReturnType<typeof setTimeout> | undefined;
function rememberSoon(): void {
  clearTimeout(addressTimer);
  addressTimer = setTimeout(() => void remember(), PAUSE_MS);
}

async function remember(): Promise<void> {
  const all = allFiles();
  const files = withShop ? Object.fromEntries(Object.entries(all).filter(([path, text]) => shop[path] !== text)) : all;
  const hash = await writeAddress({ files, shown: shown.peek(), ...(withShop ? { withShop } : {}) });
  if (hash === undefined) {
    notice.value = "The files are too long for an address: this page does not keep them when it is left.";
    return;
  }
  written = hash;
  history.replaceState(null, "", hash);
}

async function share(): Promise<void> {
  clearTimeout(addressTimer);
  await remember();
  try {
    await navigator.clipboard.writeText(location.href);
    notice.value = "The address is copied. It holds all that is shown here.";
  } catch {
    notice.value = "The browser does not let this page copy; copy the address of the page, it holds all that is shown here.";
  }
}

function FileChoice() {
  const folders = new Map<string, string[]>();
  for (const path of paths.value) {
    const folder = path.includes("/") ? path.slice(0, path.indexOf("/")) : "App";
    folders.set(folder, [...(folders.get(folder) ?? []), path]);
  }
  return (
    <label class="file">
      <span>File</span>
      <select value={shown.value} onChange={(event) => show(event.currentTarget.value)}>
        {[...folders].map(([folder, of]) => (
          <optgroup label={folder} key={folder}>
            {of.map((path) => (
              <option value={path} key={path}>
                {path}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
    </label>
  );
}

function Tools() {
  const isReady = state.value === "ready";
  return (
    <div class="tools" role="toolbar" aria-label="Playground">
      <FileChoice />
      <button type="button" onClick={() => add("script.ql", "return select * from \n")}>
        New script
      </button>
      <button type="button" onClick={() => add("tables/mine.ql", NEW_TABLE)}>
        New table
      </button>
      <button
        type="button"
        aria-disabled={!isReady}
        onClick={() => {
          const view = editor();
          if (isReady && view) formatDocument(view);
        }}
      >
        Format
      </button>
      <button type="button" onClick={() => void share()}>
        Share
      </button>
    </div>
  );
}

function ServiceState() {
  const now = state.value;
  if (now === "ready") return null;
  if (now === "loading") return <p class="note">The language service is being loaded …</p>;
  return (
    <p class="note failed" role="alert">
      The language service has stopped ({now.failed}). Your texts are as they were.{" "}
      <button type="button" onClick={reconnect}>
        Start it again
      </button>
    </p>
  );
}

function Playground() {
  const parent = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!parent.current) return;
    createEditor(parent.current);
    void openAddress();
    effect(() => {
      if (changes.value > 0) rememberSoon();
    });
    effect(() => {
      void [changes.value, shown.value, state.value];
      planSoon();
    });
    addEventListener("hashchange", () => {
      if (location.hash !== written) void openAddress();
    });
  }, []);
  return (
    <>
      <h1 class="for-readers">Playground</h1>
      <Tools />
      {notice.value && (
        <p class="note" role="status">
          {notice.value}
        </p>
      )}
      <ServiceState />
      <div class="panes">
        <section class="editor" aria-label="Editor" ref={parent} />
        <div class="side">
          <ProblemsPane />
          <PlanPane />
          <RunPane withShop={withShop} />
        </div>
      </div>
      <MenuHost />
    </>
  );
}

adoptStyles();
const answer = await fetch(new URL("shop.json", import.meta.url));
shop = (await answer.json()) as Files;
const place = document.getElementById("playground");
if (place) render(<Playground />, place);
