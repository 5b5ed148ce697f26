// Saving calls as an HTTP archive, and looking at one.

import { useRef } from "preact/hooks";
import { download, tell } from "../parts/clipboard.ts";
import type { Exchange } from "../runs/run.ts";
import { showExchanges } from "../runs/runs.ts";
import { serverInfo } from "../server/catalog.ts";
import { HAR_BYTES_MAX, exchangesOfHar, harOf } from "./har.ts";

export function HarButtons({ exchanges }: { exchanges: readonly Exchange[] }) {
  const input = useRef<HTMLInputElement>(null);
  const load = async (file: File | undefined) => {
    if (!file) return;
    if (file.size > HAR_BYTES_MAX) {
      tell(`The archive is larger than ${HAR_BYTES_MAX / 1024 / 1024} MB`);
      return;
    }
    try {
      showExchanges(exchangesOfHar(await file.text()), file.name);
    } catch (error) {
      tell(`${file.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  return (
    <>
      <button
        disabled={exchanges.length === 0}
        title="Save the calls as an HTTP archive"
        onClick={() => download("qlio.har", "application/json", harOf(exchanges, serverInfo.value?.version ?? ""))}
      >
        Save HAR
      </button>
      <button title="Look at the calls of an HTTP archive" onClick={() => input.current?.click()}>
        Open HAR
      </button>
      <input
        ref={input}
        type="file"
        hidden
        accept=".har,application/json"
        aria-label="HTTP archive"
        onChange={({ currentTarget }) => {
          void load(currentTarget.files?.[0]);
          currentTarget.value = "";
        }}
      />
    </>
  );
}
