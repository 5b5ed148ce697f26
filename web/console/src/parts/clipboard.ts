// Copying, also where the page is not served from a place that browsers trust.

import { signal } from "@preact/signals";

/** What was copied or kept last, for a short message. */
export const told = signal("");

const TOLD_MS = 4_000;
let timer: ReturnType<typeof setTimeout> | undefined;

export function tell(words: string): void {
  told.value = words;
  clearTimeout(timer);
  timer = setTimeout(() => (told.value = ""), TOLD_MS);
}

/** Copies `text` and says that `what` was copied. */
export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // The older way needs a selection, but neither a permission nor HTTPS.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    if (!isCopied) {
      tell(`The browser does not let this page copy: ${what} was not copied`);
      return;
    }
  }
  tell(`${what} copied`);
}

/** Offers a file to the person. */
export function download(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  URL.revokeObjectURL(url);
}
