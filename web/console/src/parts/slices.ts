// Long work in slices, between which the page is drawn and keys are heard.

/** So long does a slice hold the page; a frame takes 16 ms. */
const SLICE_MS = 10;

/** Comes back when all that waited has had its turn; unlike timers, also in pages that nobody looks at. */
function nextTurn(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}

/** Repeats `step` until it says `false`. Resolves to whether it came to that before `signal` was given. */
export async function inSlices(step: () => boolean, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    const end = performance.now() + SLICE_MS;
    do {
      if (!step()) return true;
    } while (performance.now() < end);
    await nextTurn();
  }
  return false;
}
