// What stands beside the editor: problems, the plan, and how to run what was written.

import { signal } from "@preact/signals";
import { type Files } from "./address.ts";
import { allFiles, changes, goTo, planOf, problems, shown } from "./files.ts";
import { state } from "./service.ts";

/** The plan is asked for when the typing pauses. */
const PAUSE_MS = 300;
/** The longest address that consoles take in a link. */
const LINK_CHARS_MAX = 8_000;

interface Plan {
  text: string;
  picture: string;
}

const plan = signal<Plan | { why: string } | undefined>(undefined);
let timer: ReturnType<typeof setTimeout> | undefined;
let asked = 0;

export function planSoon(): void {
  clearTimeout(timer);
  timer = setTimeout(() => void ask(), PAUSE_MS);
}

async function ask(): Promise<void> {
  if (state.peek() !== "ready" || shown.peek() === "") return;
  const mine = (asked += 1);
  let found: Plan | { why: string };
  try {
    const { text, svg } = await planOf(shown.peek());
    found = { text, picture: `data:image/svg+xml,${encodeURIComponent(svg)}` };
  } catch (error) {
    // What the service refuses comes as an object of the protocol.
    found = { why: (error as { message?: string } | null)?.message ?? String(error) };
  }
  if (mine === asked) plan.value = found;
}

export function ProblemsPane() {
  const found = problems.value;
  return (
    <section aria-labelledby="problems">
      <h2 id="problems">Problems</h2>
      {found.length === 0 && <p class="quiet">{state.value === "ready" ? "None." : "Not looked for yet."}</p>}
      <ul class="problems">
        {found.map(({ from, line, column, severity, message }) => {
          const [, code, slug, words = message] = /^(Q\d{4}) ([\w-]+): ([^]*)$/.exec(message) ?? [];
          return (
            <li key={`${from} ${message}`} class={severity}>
              <button type="button" onClick={() => goTo(from)}>
                {line}:{column}
              </button>{" "}
              {code && (
                <a href={`errors/${code}-${slug}.html`} title={slug}>
                  {code}
                </a>
              )}{" "}
              <span>{words}</span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

export function PlanPane() {
  const now = plan.value;
  return (
    <section aria-labelledby="plan">
      <h2 id="plan">Plan</h2>
      {now === undefined && <p class="quiet">Not made yet.</p>}
      {now && "why" in now && <p class="quiet">{now.why}</p>}
      {now && "text" in now && (
        <>
          <div class="picture" tabIndex={0} role="region" aria-label="Picture of the plan">
            <img src={now.picture} alt="The plan as a picture; it is below as text" />
          </div>
          <pre tabIndex={0}>{now.text}</pre>
        </>
      )}
    </section>
  );
}

/** The script with what it needs of the other files, as a client can send it. */
function forConsole(files: Files, path: string, withShop: boolean): string {
  const script = files[path] ?? "";
  if (withShop) return script;
  const tables = Object.entries(files).filter(([name]) => name.startsWith("tables/") && name !== path);
  return [...tables.map(([, text]) => text.trim()), script].join("\n\n");
}

export function RunPane({ withShop }: { withShop: boolean }) {
  // Drawn again with each change of a text.
  void changes.value;
  const path = shown.value;
  const isScript = path.endsWith(".ql") && !path.startsWith("tables/");
  const link = isScript ? `http://127.0.0.1:3000/console?s=${encodeURIComponent(forConsole(allFiles(), path, withShop))}` : "";
  return (
    <section aria-labelledby="run">
      <h2 id="run">Run it</h2>
      <p>
        Not here: calling APIs takes the server, and a page must not call other hosts for you. On this page are the parser, the planner and the
        language service, in your browser; no text leaves it.
      </p>
      <p>
        With the sources of qlio, <code>make run</code> starts the example app with its sample APIs
        {link && link.length <= LINK_CHARS_MAX ? (
          <>
            {" "}
            at port 3000; then <a href={link}>open this script in your console</a>.
          </>
        ) : (
          "; its console runs scripts."
        )}{" "}
        With an executable, save the files under their names in a folder, and <code>{isScript ? `qlio run ${path}` : "qlio check"}</code> there.
      </p>
    </section>
  );
}
