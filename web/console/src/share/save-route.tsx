// "Save as route", in development mode: the server says what would change, the person agrees, then it
// is written.

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { Dialog } from "../parts/dialog.tsx";
import { tell } from "../parts/clipboard.ts";
import { loadCatalog } from "../server/catalog.ts";
import { urlOf } from "../server/place.ts";
import { changedLines } from "./changed-lines.ts";

interface Proposal {
  path: string;
  exists: boolean;
  old: string | null;
  problems: { message?: string }[];
  confirm: string;
}

const wanted = signal<string | undefined>(undefined);

export function askToSave(text: string): void {
  wanted.value = text;
}

async function send(body: object): Promise<unknown> {
  const answer = await fetch(urlOf("console/routes"), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const reply = (await answer.json()) as { message?: string };
  if (!answer.ok) throw new Error(reply.message ?? `the server answers with status ${answer.status}`);
  return reply;
}

export function SaveRoute() {
  const text = wanted.value;
  return text === undefined ? null : <Form text={text} />;
}

function Form({ text }: { text: string }) {
  const [path, setPath] = useState("");
  const [proposal, setProposal] = useState<Proposal | undefined>(undefined);
  const [problem, setProblem] = useState("");
  const close = () => (wanted.value = undefined);
  const propose = async () => {
    try {
      setProblem("");
      setProposal((await send({ path, text, confirm: false })) as Proposal);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  const write = async () => {
    try {
      await send({ path, text, confirm: proposal?.confirm });
      tell(`${proposal?.path ?? path} written`);
      void loadCatalog();
      close();
    } catch (error) {
      setProposal(undefined);
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <Dialog title="Save as a route" onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void (proposal ? write() : propose());
        }}
      >
        <label class="field">
          File below <code>routes</code>
          <input
            value={path}
            required
            pattern="[\w./\-]+\.ql"
            placeholder="products.ql"
            onInput={({ currentTarget }) => {
              setPath(currentTarget.value);
              setProposal(undefined);
            }}
          />
        </label>
        {problem && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        {proposal && (
          <>
            <p>
              {proposal.exists ? "Changes" : "Makes"} <code>{proposal.path}</code>:
            </p>
            {proposal.problems.length > 0 && (
              <ul class="warnings">
                {proposal.problems.map(({ message }, place) => (
                  <li key={place}>{message}</li>
                ))}
              </ul>
            )}
            <pre class="diff" tabIndex={0} aria-label="What changes">
              {changedLines(proposal.old ?? "", text).map(({ kind, line }, place) => (
                <span key={place} class={`diff-${kind}`}>
                  {{ same: "  ", added: "+ ", removed: "- " }[kind]}
                  {line}
                  {"\n"}
                </span>
              ))}
            </pre>
          </>
        )}
        <div class="dialog-buttons">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button class="primary">{proposal ? "Write the file" : "Show what changes"}</button>
        </div>
      </form>
    </Dialog>
  );
}
