// The playground of formats: bytes of an answer, how they are read, and the rows that come out. The server
// reads them with what reads answers of upstreams, so the rows are those of a script.

import { useEffect, useMemo, useState } from "preact/hooks";
import { download, tell } from "../parts/clipboard.ts";
import { tableOf } from "../result/rows.ts";
import { TextView } from "../result/text-view.tsx";
import { current, isJson } from "../runs/runs.ts";
import { show } from "../scripts/scripts.ts";
import { serverInfo, tables } from "../server/catalog.ts";
import { urlOf } from "../server/place.ts";
import { selectOf } from "./tables-pane.tsx";

const TYPES = [
  "application/json",
  "application/xml",
  "text/csv",
  "text/plain",
  "application/msgpack",
  "application/cbor",
];
const PAUSE_MS = 100;

/** Answers that are read while one types; larger ones belong into a run. */
const BYTES_MAX = 4 << 20;

/** Rows that are asked which members they have. */
const ROWS_ASKED_MAX = 100;

interface Answer {
  rows?: string;
  problem?: string;
  /** Members that the rows have and the columns leave out. */
  leftOut: readonly string[];
}

export function FormatsPane() {
  const [text, setText] = useState("");
  const [file, setFile] = useState<File | undefined>(undefined);
  const [type, setType] = useState(TYPES[0] as string);
  const [table, setTable] = useState("");
  const [resultset, setResultset] = useState("");
  const [columns, setColumns] = useState("");
  const [answer, setAnswer] = useState<Answer>({ leftOut: [] });
  const body = file ?? text;
  const names = useMemo(() => columns.split(",").map((name) => name.trim()).filter(Boolean), [columns]);
  const scriptOf = (wanted: string) => {
    const loaded = tables.value.find(({ name }) => name === table);
    // What the table asks for must be there, and makes no difference to what is answered.
    const select = loaded && selectOf(loaded).trim().replaceAll("= ''", "= 'any'");
    if (select) return `return ${select.replace("select *", `select ${wanted}`)}\n`;
    const path = resultset.trim() && `\n  resultset '${resultset.trim().replaceAll("'", "")}'`;
    return `create table given on select get from 'http://answer.invalid/'${path}\nreturn select ${wanted} from given\n`;
  };
  const script = scriptOf(names.join(", ") || "*");
  useEffect(() => {
    const size = typeof body === "string" ? body.length : body.size;
    if (size === 0) {
      setAnswer({ leftOut: [] });
      return;
    }
    if (size > BYTES_MAX) {
      setAnswer({ leftOut: [], problem: `At most ${BYTES_MAX >> 20} MiB are read here; larger answers belong into a run.` });
      return;
    }
    const abort = new AbortController();
    const ask = async () => {
      const all = names.length > 0 ? decode(scriptOf("*"), body, type, abort.signal) : undefined;
      const read = await decode(script, body, type, abort.signal);
      const members = membersOf((await all)?.rows);
      if (abort.signal.aborted) return;
      const heads = new Set(names.map((name) => name.split(/[.[\s]/)[0]));
      setAnswer({ ...read, leftOut: members.filter((name) => !heads.has(name)) });
    };
    const timer = setTimeout(() => void ask(), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [body, type, script]);
  if (serverInfo.value?.adhoc === false) return <p class="quiet">This server runs no scripts of one's own.</p>;
  const takeLast = () => {
    const last = current.peek()?.exchanges.findLast(({ responseBody }) => responseBody);
    if (!last) {
      tell("There is no answer to take: run a script first");
      return;
    }
    setFile(undefined);
    setText(last.responseBody ?? "");
    const sent = last.responseHeaders?.find(({ name }) => name.toLowerCase() === "content-type")?.value ?? "";
    setType(TYPES.find((known) => sent.startsWith(known)) ?? (TYPES[0] as string));
  };
  return (
    <div class="list formats">
      <label class="field">
        Bytes of an answer
        <textarea
          rows={8}
          value={file ? `${file.name}, ${file.size} bytes` : text}
          readOnly={file !== undefined}
          spellcheck={false}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      <div class="bar">
        <button onClick={takeLast}>Take the last answer</button>
        <label class="file-button">
          Choose a file
          <input type="file" onChange={({ currentTarget }) => setFile(currentTarget.files?.[0])} />
        </label>
        {file && <button onClick={() => setFile(undefined)}>Write instead</button>}
      </div>
      <label class="field">
        Type
        <select value={type} onChange={({ currentTarget }) => setType(currentTarget.value)}>
          {TYPES.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <label class="field">
        Read as
        <select value={table} onChange={({ currentTarget }) => setTable(currentTarget.value)}>
          <option value="">a table of one's own</option>
          {tables.value
            .filter(({ select }) => select)
            .map(({ name }) => (
              <option key={name} value={name}>
                an answer to {name}
              </option>
            ))}
        </select>
      </label>
      {table === "" && (
        <label class="field">
          resultset
          <input
            value={resultset}
            placeholder="products.items"
            onInput={({ currentTarget }) => setResultset(currentTarget.value)}
          />
        </label>
      )}
      <label class="field">
        Columns, separated by commas
        <input
          value={columns}
          placeholder="all"
          onInput={({ currentTarget }) => setColumns(currentTarget.value)}
        />
      </label>
      {answer.problem && (
        <p class="problem" role="alert">
          {answer.problem}
        </p>
      )}
      {answer.leftOut.length > 0 && (
        <p class="left-out">
          Left out:{" "}
          {answer.leftOut.map((name) => (
            <button key={name} class="link" title={`Add the column ${name}`} onClick={() => setColumns([...names, name].join(", "))}>
              {name}
            </button>
          ))}
        </p>
      )}
      {answer.rows !== undefined && (
        <>
          <TextView text={answer.rows} isJson label="Rows" />
          <div class="bar">
            <button onClick={() => show(script)}>Open as a script</button>
            <button onClick={() => download("rows.json", "application/json", answer.rows ?? "")}>Save the rows</button>
          </div>
        </>
      )}
    </div>
  );
}

/** The names of the members of rows. */
function membersOf(rows: string | undefined): readonly string[] {
  if (rows === undefined) return [];
  const read: unknown = JSON.parse(rows);
  const found = Array.isArray(read) ? tableOf(read.slice(0, ROWS_ASKED_MAX)) : undefined;
  return found?.columns ?? [];
}

/** What the script makes of these bytes. */
async function decode(script: string, body: string | File, type: string, signal: AbortSignal): Promise<Pick<Answer, "rows" | "problem">> {
  const url = urlOf("console/decode");
  url.searchParams.set("s", script);
  try {
    const reply = await fetch(url, {
      method: "POST",
      headers: { "content-type": type, accept: "application/json" },
      // Without a type of its own, which a text would bring along.
      body: typeof body === "string" ? new TextEncoder().encode(body) : await body.arrayBuffer(),
      signal,
    });
    const text = await reply.text();
    if (reply.ok) return { rows: text };
    const said = isJson(reply.headers.get("content-type") ?? "") ? (JSON.parse(text) as { message?: string }) : {};
    return { problem: said.message ?? `The server answers with status ${reply.status}` };
  } catch (error) {
    return signal.aborted ? {} : { problem: `The server did not answer: ${String(error)}` };
  }
}
