// All that is known of one exchange.

import { useState } from "preact/hooks";
import { copy } from "../parts/clipboard.ts";
import { Icon } from "../parts/icons.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { TextView } from "../result/text-view.tsx";
import type { Header } from "../server/packets.ts";
import type { Exchange } from "../runs/run.ts";
import { curlOf } from "./curl.ts";
import { paramsOf } from "./har.ts";
import { phasesOf } from "./timeline.ts";

type Part = "response" | "request" | "headers" | "params" | "times";

export function Details({ exchange, onClose }: { exchange: Exchange; onClose: () => void }) {
  const [part, setPart] = useState<Part>("response");
  const params = paramsOf(exchange.uri);
  return (
    <section class="details" aria-label={`Call ${exchange.method} ${exchange.uri}`}>
      <div class="bar">
        <Tabs
          label="Parts of the call"
          panel="call-part"
          chosen={part}
          onChoose={setPart}
          tabs={[
            { name: "response", label: "Response" },
            { name: "request", label: "Request" },
            { name: "headers", label: "Headers" },
            { name: "params", label: `Params (${params.length})` },
            { name: "times", label: "Times" },
          ]}
        />
        <span class="gap" />
        <button onClick={() => void copy(curlOf(exchange), "Command")}>Copy as cURL</button>
        <button aria-label="Close the details" title="Close (Escape)" onClick={onClose}>
          <Icon name="close" />
        </button>
      </div>
      <p class="uri">
        <b>{exchange.method}</b> {exchange.uri}
      </p>
      {exchange.error !== undefined && <p class="problem">{exchange.error}</p>}
      <div class="details-part" id="call-part" role="tabpanel" aria-label={part}>
        {part === "response" && <Body text={exchange.responseBody} headers={exchange.responseHeaders} isCut={exchange.isBodyCut} />}
        {part === "request" && <Body text={exchange.requestBody} headers={exchange.requestHeaders} isCut={false} />}
        {part === "headers" && (
          <>
            <Pairs title="Request" pairs={exchange.requestHeaders} />
            <Pairs title={`Response ${exchange.status ?? ""}`} pairs={exchange.responseHeaders ?? []} />
          </>
        )}
        {part === "params" && <Pairs title="Query" pairs={params} />}
        {part === "times" && <Times exchange={exchange} />}
      </div>
    </section>
  );
}

function Body({ text, headers, isCut }: { text: string | undefined; headers: Header[] | undefined; isCut: boolean | undefined }) {
  if (!text) return <p class="quiet">No body is shown.</p>;
  const type = headers?.find(({ name }) => name.toLowerCase() === "content-type")?.value ?? "";
  const isJson = /json/i.test(type) && !isCut;
  return (
    <>
      {isCut && <p class="note">This is only the beginning of the body.</p>}
      <TextView text={text} isJson={isJson} label="Body" />
    </>
  );
}

function Pairs({ title, pairs }: { title: string; pairs: readonly Header[] }) {
  return (
    <table class="pairs">
      <caption>{title}</caption>
      <tbody>
        {pairs.map(({ name, value }, place) => (
          <tr key={place}>
            <th scope="row">{name}</th>
            <td>{value}</td>
          </tr>
        ))}
        {pairs.length === 0 && (
          <tr>
            <td>none</td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

function Times({ exchange }: { exchange: Exchange }) {
  const phases = phasesOf(exchange).map(({ phase, length }) => ({ name: phase, value: `${length.toFixed(2)} ms` }));
  const all = exchange.time === undefined ? [] : [{ name: "in all", value: `${exchange.time.toFixed(2)} ms` }];
  return <Pairs title="Times" pairs={[...phases, ...all]} />;
}
