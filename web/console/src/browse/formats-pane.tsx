// The playground of formats: bytes of an answer, how they are read, and the rows that come out.

import { useEffect, useState } from "preact/hooks";
import { indentJson, memberText } from "../parts/json-text.ts";
import { TextView } from "../result/text-view.tsx";
import { current } from "../runs/runs.ts";
import { urlOf } from "../server/place.ts";

const TYPES = ["application/json", "application/xml", "text/csv", "application/x-www-form-urlencoded", "text/plain"];
const PAUSE_MS = 150;

export function FormatsPane() {
  const [bytes, setBytes] = useState("");
  const [type, setType] = useState(TYPES[0] as string);
  const [resultset, setResultset] = useState("");
  const [columns, setColumns] = useState("");
  const [answer, setAnswer] = useState<{ rows?: string; skipped: string[]; problem?: string }>({ skipped: [] });
  useEffect(() => {
    if (bytes === "") return;
    const abort = new AbortController();
    const timer = setTimeout(
      () => void decode({ bytes, type, resultset, columns }, abort.signal).then((next) => next && setAnswer(next)),
      PAUSE_MS,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [bytes, type, resultset, columns]);
  const takeLast = () => {
    const last = current.peek()?.exchanges.findLast(({ responseBody }) => responseBody);
    if (!last) return;
    setBytes(last.responseBody ?? "");
    const sent = last.responseHeaders?.find(({ name }) => name.toLowerCase() === "content-type")?.value ?? "";
    setType(TYPES.find((known) => sent.startsWith(known)) ?? (TYPES[0] as string));
  };
  return (
    <div class="list formats">
      <label class="field">
        Bytes of an answer
        <textarea rows={8} value={bytes} spellcheck={false} onInput={({ currentTarget }) => setBytes(currentTarget.value)} />
      </label>
      <button onClick={takeLast}>Take the last answer of this run</button>
      <label class="field">
        Type
        <select value={type} onChange={({ currentTarget }) => setType(currentTarget.value)}>
          {TYPES.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <label class="field">
        resultset
        <input value={resultset} onInput={({ currentTarget }) => setResultset(currentTarget.value)} />
      </label>
      <label class="field">
        Columns, separated by commas
        <input value={columns} onInput={({ currentTarget }) => setColumns(currentTarget.value)} />
      </label>
      {answer.problem && (
        <p class="problem" role="alert">
          {answer.problem}
        </p>
      )}
      {answer.skipped.map((words) => (
        <p key={words} class="note">
          {words}
        </p>
      ))}
      {answer.rows !== undefined && <TextView text={answer.rows} isJson label="Rows" />}
    </div>
  );
}

interface Question {
  bytes: string;
  type: string;
  resultset: string;
  columns: string;
}

async function decode({ bytes, type, resultset, columns }: Question, signal: AbortSignal) {
  const names = columns.split(",").map((name) => name.trim()).filter(Boolean);
  const encoded = new TextEncoder().encode(bytes);
  let binary = "";
  for (const byte of encoded) binary += String.fromCharCode(byte);
  try {
    const reply = await fetch(urlOf("console/decode"), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        bytes: btoa(binary),
        type,
        ...(resultset ? { resultset } : {}),
        ...(names.length > 0 ? { columns: names } : {}),
      }),
      signal,
    });
    const text = await reply.text();
    if (!reply.ok) return { skipped: [], problem: JSON.parse(memberText(text, "message") ?? '"it cannot be read"') as string };
    const skipped = JSON.parse(memberText(text, "skipped") ?? "[]") as string[];
    return { rows: indentJson(memberText(text, "rows") ?? "null"), skipped };
  } catch (error) {
    if (signal.aborted) return undefined;
    return { skipped: [], problem: `The server did not answer: ${String(error)}` };
  }
}
