// The routes of the server, with a form to try each.

import { signal } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import { TextView } from "../result/text-view.tsx";
import { isJson } from "../runs/runs.ts";
import { type Route, catalogProblem, routes } from "../server/catalog.ts";
import { urlOf } from "../server/place.ts";
import { openFile } from "../share/drafts.ts";
import { Documentation } from "./documentation.tsx";
import { List } from "./list.tsx";

/** A route that is to be opened in the list, as its method and path. */
export const wantedRoute = signal("");

export function RoutesPane() {
  return (
    <List
      label="Routes"
      entries={routes.value}
      nameOf={({ method, path }) => `${method.toUpperCase()} ${path}`}
      wordsOf={({ method, path }) => (
        <>
          <b>{method.toUpperCase()}</b> {path}
        </>
      )}
      open={(route) => <RouteDetails route={route} />}
      empty={catalogProblem.value || "This server shows no routes."}
      wanted={wantedRoute}
    />
  );
}

interface Answer {
  status: number;
  heads: string;
  type: string;
  text: string;
}

function RouteDetails({ route }: { route: Route }) {
  const names = namesIn(route.path);
  const hasBody = !/^(get|head|delete)$/i.test(route.method);
  const [values, setValues] = useState<Record<string, string>>({});
  const [body, setBody] = useState("");
  const [answer, setAnswer] = useState<Answer | string | undefined>(undefined);
  const asked = useRef(0);
  const ask = async () => {
    // Only the answer to what was asked last is shown, whenever others come.
    const number = (asked.current += 1);
    const show = (shown: Answer | string) => {
      if (number === asked.current) setAnswer(shown);
    };
    show("…");
    try {
      const reply = await fetch(targetOf(route.path, values), {
        method: route.method.toUpperCase(),
        ...(hasBody ? { headers: { "content-type": "application/json" }, body } : {}),
      });
      const heads = [...reply.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
      const type = reply.headers.get("content-type") ?? "";
      show({ status: reply.status, heads, type, text: await reply.text() });
    } catch (error) {
      show(`The request failed: ${String(error)}`);
    }
  };
  return (
    <>
      <Documentation html={route.info} />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void ask();
        }}
      >
        {names.map((name) => (
          <label key={name} class="field">
            {name}
            <input
              value={values[name] ?? ""}
              onInput={({ currentTarget }) => setValues({ ...values, [name]: currentTarget.value })}
            />
          </label>
        ))}
        {hasBody && (
          <label class="field">
            Body, as JSON
            <textarea rows={4} value={body} onInput={({ currentTarget }) => setBody(currentTarget.value)} />
          </label>
        )}
        <button class="primary">Send</button>
        {route.file !== undefined && (
          <button type="button" onClick={() => void openFile(route.file as string)}>
            Open its file
          </button>
        )}
      </form>
      {typeof answer === "string" && <p class="quiet">{answer}</p>}
      {typeof answer === "object" && (
        <section class="answer" aria-label="Answer">
          <p>
            <b class={answer.status < 400 ? "good" : "bad"}>{answer.status}</b> {answer.type}
          </p>
          <details>
            <summary>Headers</summary>
            <pre tabIndex={0}>{answer.heads}</pre>
          </details>
          <TextView
            text={answer.text}
            isJson={isJson(answer.type)}
            label="Body of the answer"
          />
        </section>
      )}
    </>
  );
}

/** The names in braces of a path template, in their order. */
function namesIn(path: string): string[] {
  return [...new Set([...path.matchAll(/\{[=^#|]?([^{}]+)\}/g)].map(([, name]) => name ?? ""))].filter(Boolean);
}

/** The template with values in it; parameters of the query without a value are left out. */
function targetOf(template: string, values: Readonly<Record<string, string>>): URL {
  const [path = "", query = ""] = template.split("?");
  const filled = path.replace(/\{[=^#|]?([^{}]+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
  const url = urlOf(filled.replace(/^\/+/, ""));
  for (const [name, value] of new URLSearchParams(query)) {
    const variable = /^\{[=^#|]?([^{}]+)\}$/.exec(value)?.[1];
    const given = variable === undefined ? value : values[variable];
    if (given) url.searchParams.append(name, given);
  }
  return url;
}
