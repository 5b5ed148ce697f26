// "Save as a route", in development mode: the server says what would change and whether it would work, the
// person agrees, it is written, and the page says that it is served. It can be put back as it was.

import { useState } from "preact/hooks";
import { showPane, side } from "../app/panes.ts";
import { wantedRoute } from "../browse/routes-pane.tsx";
import { replaceText, shownText } from "../editor/editor.ts";
import { Dialog } from "../parts/dialog.tsx";
import { active, belongTo } from "../scripts/scripts.ts";
import { loadCatalog } from "../server/catalog.ts";
import { changedLines } from "./changed-lines.ts";
import { type Drafted, type Problem, Refused, draft, fileFor, hasRoute, isSaving, withRoute } from "./drafts.ts";

const METHODS = ["get", "post", "put", "patch", "delete"];

/** Unchanged lines that are shown around changed ones. */
const LINES_AROUND = 3;

export function SaveRoute() {
  return isSaving.value ? <Form text={shownText()} /> : null;
}

interface Proposal {
  text: string;
  drafted: Drafted;
}

function Form({ text }: { text: string }) {
  const script = active.peek();
  const isRoute = hasRoute(text);
  const [path, setPath] = useState("");
  const [method, setMethod] = useState("get");
  const [file, setFile] = useState(script?.file ?? "");
  const [proposal, setProposal] = useState<Proposal | undefined>(undefined);
  const [saved, setSaved] = useState<Proposal | undefined>(undefined);
  const [refused, setRefused] = useState<Refused | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const name = file || fileFor(path);
  const close = () => (isSaving.value = false);
  const change = <Value,>(set: (value: Value) => void) => (value: Value) => {
    set(value);
    setProposal(undefined);
    setRefused(undefined);
  };
  const ask = async (work: () => Promise<void>) => {
    if (isBusy) return;
    setBusy(true);
    setRefused(undefined);
    try {
      await work();
    } catch (error) {
      setRefused(error instanceof Refused ? error : new Refused(String(error), 0, {}));
    }
    setBusy(false);
  };
  const propose = () =>
    ask(async () => {
      const wanted = isRoute ? text : withRoute(text, method, path);
      setProposal({ text: wanted, drafted: await draft({ file: name, text: wanted }) });
    });
  const write = ({ text: wanted, drafted }: Proposal) =>
    ask(async () => {
      try {
        const done = await draft({ file: drafted.file, text: wanted, version: drafted.version, write: true });
        setSaved({ text: wanted, drafted: done });
        replaceText(wanted);
        if (script) belongTo(script.id, done.file);
        await loadCatalog();
      } catch (error) {
        // Somebody else has written it meanwhile: what would change is another thing now, and is shown first.
        const said = error instanceof Refused && error.status === 409 ? error.said : {};
        const { before = null, version = null } = said;
        setProposal(version === null ? undefined : { text: wanted, drafted: { ...drafted, before, version } });
        throw error;
      }
    });
  const undo = ({ text: written, drafted }: Proposal) =>
    ask(async () => {
      const { file: where, before, version } = drafted;
      await draft({ file: where, text: before, version, write: true });
      replaceText(text);
      if (script) belongTo(script.id, before === null ? undefined : where);
      setSaved(undefined);
      setProposal({ text: written, drafted: await draft({ file: where, text: written }) });
      await loadCatalog();
    });
  return (
    <Dialog title="Save as a route" onClose={close}>
      {saved ? (
        <Saved saved={saved} onUndo={() => void undo(saved)} onClose={close} />
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void (proposal ? write(proposal) : propose());
          }}
        >
          {isRoute ? (
            <p class="quiet">Its path and method are those that the script says with “via route”.</p>
          ) : (
            <div class="fields">
              <label class="field">
                Method
                <select value={method} onChange={({ currentTarget }) => change(setMethod)(currentTarget.value)}>
                  {METHODS.map((known) => (
                    <option key={known} value={known}>
                      {known.toUpperCase()}
                    </option>
                  ))}
                </select>
              </label>
              <label class="field">
                Path
                <input
                  value={path}
                  required
                  pattern="/.*"
                  title="It begins with a slash"
                  placeholder="/lanterns?keyword={keyword}"
                  onInput={({ currentTarget }) => change(setPath)(currentTarget.value)}
                />
              </label>
            </div>
          )}
          <label class="field">
            File below the folder of routes
            <input
              value={name}
              required
              placeholder="lanterns.ql"
              onInput={({ currentTarget }) => change(setFile)(currentTarget.value)}
            />
          </label>
          {refused && <Refusal refused={refused} />}
          {proposal && <Changes proposal={proposal} />}
          <div class="dialog-buttons">
            <button type="button" onClick={close}>
              Cancel
            </button>
            <button class="primary" aria-disabled={isBusy || (proposal !== undefined && hasErrors(proposal))}>
              {proposal ? "Write the file" : "Show what changes"}
            </button>
          </div>
        </form>
      )}
      {saved && refused && <Refusal refused={refused} />}
    </Dialog>
  );
}

function hasErrors({ drafted }: Proposal): boolean {
  return drafted.problems.some(({ severity, file }) => severity === "error" && file.endsWith(drafted.file));
}

function Refusal({ refused }: { refused: Refused }) {
  return (
    <div class="problem" role="alert">
      {refused.message}
      <Problems problems={refused.said.problems ?? []} />
    </div>
  );
}

function Problems({ problems, own = "" }: { problems: readonly Problem[]; own?: string }) {
  if (problems.length === 0) return null;
  const placeOf = (file: string) => (own && file.endsWith(`/${own}`) ? "" : `${file}, `);
  return (
    <ul>
      {problems.map(({ file, line, column, severity, code, message }, place) => (
        <li key={place}>
          {severity} {code.split(" ")[0]}, {placeOf(file)}line {line}, column {column}: {message}
        </li>
      ))}
    </ul>
  );
}

function Changes({ proposal: { text, drafted } }: { proposal: Proposal }) {
  const lines = changedLines(drafted.before ?? "", text);
  const isNear = (at: number) =>
    lines.slice(Math.max(0, at - LINES_AROUND), at + LINES_AROUND + 1).some(({ kind }) => kind !== "same");
  const isSame = lines.every(({ kind }) => kind === "same");
  return (
    <>
      <p>
        {drafted.before === null ? "Makes" : "Changes"} <code>{drafted.file}</code>
        {drafted.routes.length > 0 && ", which serves "}
        {drafted.routes.map(({ method, path }) => (
          <code key={`${method} ${path}`}>
            {method} {path}{" "}
          </code>
        ))}
      </p>
      {drafted.problems.length > 0 && (
        <div class="warnings" role="status">
          <Problems problems={drafted.problems} own={drafted.file} />
        </div>
      )}
      {isSame ? (
        <p class="quiet">It holds that already.</p>
      ) : (
        <pre class="diff" tabIndex={0} aria-label="What changes">
          {lines.map(
            ({ kind, line }, at) =>
              isNear(at) && (
                <span key={at} class={`diff-${kind}`}>
                  {{ same: "  ", added: "+ ", removed: "- " }[kind]}
                  {line}
                  {"\n"}
                </span>
              ),
          )}
        </pre>
      )}
    </>
  );
}

function Saved({ saved, onUndo, onClose }: { saved: Proposal; onUndo: () => void; onClose: () => void }) {
  const { file, routes, reload } = saved.drafted;
  const route = routes[0];
  const isServed = reload?.verdict !== "refused";
  return (
    <>
      <p role="status" class={isServed ? "saved" : "problem"}>
        <code>{file}</code> is written. {isServed ? "It is served from now on: " : "It is not served: "}
        {reload?.message}
      </p>
      <div class="dialog-buttons">
        <button onClick={onUndo}>Undo</button>
        <button onClick={onClose}>Close</button>
        {isServed && route && (
          <button
            class="primary"
            onClick={() => {
              onClose();
              side.value = "routes";
              wantedRoute.value = `${route.method} ${route.path}`;
              showPane("browse");
            }}
          >
            Try the route
          </button>
        )}
      </div>
    </>
  );
}
