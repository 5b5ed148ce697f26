// How fast the page is: a table, printed and, with --report FILE, written as a page of docs/benchmarks.
//
//   node tests/speed.mjs [--report ../../docs/benchmarks/console.md]
//
// Measured in Chromium against the executable that QLIO_EXECUTABLE names; a release build is what people run.
// It fails where a figure is above twice its goal. What a busy machine adds is part of the figures, so the
// load of the machine stands beside them.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { QLIO, openPage, readyToRun, runAndWait, setScript, startApp, startBrowser, startShop, stopAll } from "./harness.mjs";
import { scriptFor, startUpstream } from "./upstream.mjs";

const rows = [];
const report = process.argv.includes("--report") ? process.argv[process.argv.indexOf("--report") + 1] : undefined;

/** `goal` is the most that is wanted; figures of work, not of taste, fail above twice of it. */
function tell(what, figure, goal, unit) {
  rows.push({ what, figure: Math.round(figure * 10) / 10, goal, unit });
  console.log(`${what}: ${rows.at(-1).figure} ${unit}${goal === undefined ? "" : ` (goal ${goal})`}`);
}

function percentile(numbers, part) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}

const heapOf = async (page) => {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize / 2 ** 20;
};

/** Counts the processor time of the page's thread, which other programs do not add to. */
async function clockOf(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value * 1_000;
}

/** Notes how long the thread of the page is blocked, from here on. */
const watchTasks = (page) =>
  page.evaluate(() => {
    window.longTasks = [];
    window.taskObserver?.disconnect();
    window.taskObserver = new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map(({ duration }) => duration)));
    window.taskObserver.observe({ entryTypes: ["longtask"] });
  });
const longest = (page) => page.evaluate(() => Math.max(0, ...window.longTasks));

/** Milliseconds from a key in an element, or a click on it, until the frame is drawn in which `where` shows `words`. */
const timeOf = (page, { at, key, where, words }) =>
  page.evaluate(
    ({ at, key, where, words }) =>
      new Promise((resolve) => {
        const from = performance.now();
        const look = () => {
          if (!document.querySelector(where)?.textContent.includes(words)) requestAnimationFrame(look);
          else setTimeout(() => resolve(performance.now() - from));
        };
        const element = document.querySelector(at);
        if (key) element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
        else element.click();
        requestAnimationFrame(look);
      }),
    { at, key, where, words },
  );

const LARGE = JSON.stringify(Array.from({ length: 105_000 }, (_, at) => ({ id: at, text: `row ${at} ${"x".repeat(60)}` })));

async function assets(browser, url) {
  let requests = 0;
  const { page, context } = await openPage(browser, "about:blank", { isBare: true });
  page.on("request", (request) => (requests += /\/console(\/console\.(js|css).*)?$/.test(request.url()) ? 1 : 0));
  await page.goto(url);
  await page.waitForSelector(".editor .cm-content");
  const files = ["index.html", "console.js", "console.css"];
  const bytes = files.map((name) => gzipSync(readFileSync(fileURLToPath(new URL(`../dist/${name}`, import.meta.url))), { level: 9 }).length);
  tell("all files of the page, compressed", bytes.reduce((a, b) => a + b) / 1024, 260, "KiB");
  tell("requests for them", requests, 3, "");
  await context.close();
}

async function coldStart(browser, url) {
  const paints = [];
  const readies = [];
  const works = [];
  for (let round = 0; round < 5; round += 1) {
    const { page, context } = await openPage(browser, "about:blank", { isBare: true });
    const busy = await clockOf(page);
    const busyBefore = await busy();
    await page.goto(url);
    await page.waitForSelector(".editor .cm-content");
    works.push((await busy()) - busyBefore);
    const found = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0);
    paints.push(found);
    readies.push(await page.evaluate(() => performance.getEntriesByName("editor-ready")[0]?.startTime ?? performance.now()));
    await context.close();
  }
  tell("first paint, cold", percentile(paints, 0.5), 300, "ms");
  tell("editor ready, cold", percentile(readies, 0.5), 600, "ms");
  tell("processor time of the page until then", percentile(works, 0.5), 300, "ms");
}

const WORDS = "a script that somebody writes, letter after letter, in the middle of two thousand lines";

/**
 * Milliseconds of each key: until what it does is done, and until the frame is drawn that shows it.
 * A key is released while nothing else happens, as by people, and comes at any place between two frames.
 */
async function typedOn(page) {
  await page.evaluate(() => {
    window.keys = [];
    window.works = [];
    let begun = 0;
    const onKey = (event) => {
      begun = event.timeStamp;
      const channel = new MessageChannel();
      channel.port1.onmessage = () => window.keys.push(performance.now() - event.timeStamp);
      requestAnimationFrame(() => channel.port2.postMessage(0));
    };
    addEventListener("keydown", onKey, { capture: true });
    // The editor acts on what has changed in the page before this has its turn. Chromium keeps timers and messages
    // that come after a key waiting until the frame is drawn: they would tell of the frame.
    addEventListener("input", () => queueMicrotask(() => window.works.push(performance.now() - begun)));
  });
  for (const [at, key] of [...WORDS].entries()) {
    await page.keyboard.press(key === " " ? "Space" : key, { delay: 25 });
    await page.waitForTimeout(60 + ((at * 7) % 17));
  }
  await page.waitForTimeout(500);
  return page.evaluate(() => ({ keys: window.keys, works: window.works }));
}

async function typing(browser, url) {
  const { page, context } = await openPage(browser, url);
  await page.waitForSelector(".editor[data-language=on]");
  const lines = Array.from({ length: 1_000 }, (_, at) => `-- remark ${at}\nt${at} = select id from shop.search where keyword = "k"`);
  await setScript(page, `${lines.join("\n")}\nreturn 1\n`);
  await page.waitForTimeout(3_000);
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("End");
  await watchTasks(page);
  const busy = await clockOf(page);
  const busyBefore = await busy();
  const { keys, works } = await typedOn(page);
  const busyAfter = await busy();
  tell("processor time of the page for a key, all that follows included, 2,000 lines, mean", (busyAfter - busyBefore) / keys.length, 16, "ms");
  tell("a key, until the page has handled it, 2,000 lines, p50", percentile(works, 0.5), 16, "ms");
  tell("a key, until the page has handled it, 2,000 lines, p95", percentile(works, 0.95), 16, "ms");
  tell("a key, until it is on the screen, 2,000 lines, p50", percentile(keys, 0.5), 16, "ms");
  tell("a key, until it is on the screen, 2,000 lines, p95", percentile(keys, 0.95), 16, "ms");
  tell("longest task while typing", await longest(page), 50, "ms");
  await context.close();

  // What Chromium, the debugger that presses the keys, and the machine take of that.
  const bare = await openPage(browser, "data:text/html,<textarea></textarea>", { isBare: true });
  await bare.page.focus("textarea");
  const least = (await typedOn(bare.page)).keys;
  tell("the same key in a page with nothing but a text field, p50", percentile(least, 0.5), undefined, "ms");
  tell("the same key in a page with nothing but a text field, p95", percentile(least, 0.95), undefined, "ms");
  await bare.context.close();
}

async function diagnostics(browser) {
  const tables = Array.from({ length: 1_000 }, (_, at) => [`tables/t${at}.ql`, `create table t${at}.rows on select get from "http://127.0.0.1:1/{^id}"\n`]);
  const app = await startApp(Object.fromEntries(tables));
  const { page, context } = await openPage(browser, app.page);
  await page.waitForSelector(".editor[data-language=on]");
  const times = [];
  for (let round = 0; round < 9; round += 1) {
    await setScript(page, "return select a form t7.rows where id = ");
    await page.waitForSelector(".cm-lintRange-error");
    await setScript(page, "return 1");
    await page.waitForFunction(() => document.querySelector(".cm-lintRange-error") === null);
    await setScript(page, "return select a form t7.rows where id =");
    times.push(
      await page.evaluate(
        () =>
          new Promise((resolve) => {
            const from = performance.now();
            const look = () => (document.querySelector(".cm-lintRange-error") ? resolve(performance.now() - from) : requestAnimationFrame(look));
            look();
          }),
      ),
    );
  }
  tell("problems, after the last key, 1,000 tables", percentile(times, 0.5), 300, "ms");
  await context.close();
}

async function playground(browser, url) {
  const { page, context } = await openPage(browser, url);
  await page.getByRole("tab", { name: "Formats" }).click();
  const rows = Array.from({ length: 200 }, (_, at) => ({ id: at, title: `row ${at}`, left: true }));
  await page.getByLabel("Columns, separated by commas").fill("id, title");
  const times = [];
  for (let round = 0; round < 9; round += 1) {
    const words = `round ${round}`;
    await page.getByLabel("Bytes of an answer").fill(JSON.stringify([{ id: words, title: "", left: true }, ...rows]));
    times.push(
      await page.evaluate(
        (words) =>
          new Promise((resolve) => {
            const from = performance.now();
            const look = () => {
              const isShown = document.querySelector(".formats .text-view .cm-content")?.textContent.includes(words);
              if (!isShown || !document.querySelector(".left-out")) requestAnimationFrame(look);
              else setTimeout(() => resolve(performance.now() - from));
            };
            look();
          }),
        words,
      ),
    );
  }
  tell("rows of pasted bytes, and what is left out, from the last key until they are drawn", percentile(times, 0.5), 200, "ms");
  await context.close();
}

async function firstStep(browser, url) {
  const { page, context } = await openPage(browser, url);
  await setScript(page, "a = 1\nb = 2\nreturn [\"{a}\", \"{b}\"]\n");
  const times = [];
  for (let round = 0; round < 9; round += 1) {
    await readyToRun(page);
    times.push(await timeOf(page, { at: '[title^="Run step by step"]', where: ".step", words: "step 1" }));
    await page.keyboard.press("F5");
    await page.waitForSelector(".run-done");
  }
  tell("step by step, from the click until the first step is drawn", percentile(times, 0.5), 200, "ms");
  await context.close();
}

/** From the second Escape until the upstream sees that its connection is closed. */
async function stopping(browser, url) {
  let stopped = () => undefined;
  let asked = () => undefined;
  const upstream = await startUpstream({
    "/slow": (request) => {
      asked();
      request.socket.on("close", () => stopped());
    },
  });
  const { page, context } = await openPage(browser, url);
  await setScript(page, scriptFor(upstream.address, "/slow"));
  const times = [];
  for (let round = 0; round < 9; round += 1) {
    await readyToRun(page);
    const isAsked = new Promise((resolve) => (asked = resolve));
    const isStopped = new Promise((resolve) => (stopped = resolve));
    await page.keyboard.press("Control+Enter");
    await isAsked;
    await page.keyboard.press("Escape");
    const from = performance.now();
    await page.keyboard.press("Escape");
    await isStopped;
    times.push(performance.now() - from);
    await page.waitForSelector(".run-cancelled");
  }
  tell("stopping a run, from the key until the upstream sees it", percentile(times, 0.5), 100, "ms");
  await context.close();
}

async function largeResult(browser, url, upstream) {
  const { page, context } = await openPage(browser, url);
  await setScript(page, "return 1");
  await runAndWait(page);
  const before = await heapOf(page);
  await setScript(page, scriptFor(upstream.address, "/large"));
  await readyToRun(page);
  await watchTasks(page);
  const busy = await clockOf(page);
  const busyBefore = await busy();
  await page.keyboard.press("Control+Enter");
  const shown = await page.evaluate(
    () =>
      new Promise((resolve) => {
        const look = () => {
          const content = document.querySelector(".result-view .cm-content");
          const view = content && (content.cmTile?.view ?? content.cmView?.view);
          if (!view || view.state.doc.length < 9_000_000) return requestAnimationFrame(look);
          const fetched = performance.getEntriesByType("resource").find(({ name }) => name.includes("/console/results/"));
          setTimeout(() => resolve(performance.now() - fetched.responseEnd));
        };
        look();
      }),
  );
  tell("10 MB result, from the last byte until it is shown", shown, 700, "ms");
  tell("10 MB result, processor time of the page for all of it", (await busy()) - busyBefore, 700, "ms");
  await page.waitForTimeout(1_000);
  tell("10 MB result, longest task", await longest(page), 200, "ms");
  tell("10 MB result, heap", (await heapOf(page)) - before, 150, "MiB");
  await page.getByRole("button", { name: "Search in the result" }).click();
  const search = page.locator(".result-view .cm-search input[name=search]");
  await search.pressSequentially("row 104000 ");
  const found = await timeOf(page, { at: ".result-view .cm-search input", key: "Enter", where: ".result-view .cm-content", words: "row 104000 " });
  tell("10 MB result, search", found, 300, "ms");
  await setScript(page, "return 1");
  await runAndWait(page);
  tell("heap that the next run leaves of it", Math.max(0, (await heapOf(page)) - before), 20, "MiB");
  await context.close();
}

async function largePlan(browser, url) {
  const { page, context } = await openPage(browser, url, { before: hearPlans });
  await page.waitForSelector(".connection-open");
  const lines = Array.from({ length: 199 }, (_, at) => `t${at} = select id from shop.search where keyword = "k${at}"`);
  const rounds = [];
  for (let round = 0; round < 5; round += 1) {
    await setScript(page, `-- ${round}\n`);
    await page.waitForFunction(() => document.querySelectorAll(".plan-row").length === 0);
    await page.evaluate(() => {
      window.drawn = 0;
      const seen = new MutationObserver(() => {
        if (document.querySelectorAll(".plan-row").length < 5) return;
        seen.disconnect();
        requestAnimationFrame(() => setTimeout(() => (window.drawn = performance.now() - window.heard)));
      });
      seen.observe(document.querySelector(".pane-lower"), { childList: true, subtree: true });
    });
    await setScript(page, `${lines.join("\n")}\nreturn "{t198}"\n-- ${round}\n`);
    await page.waitForFunction(() => window.drawn !== 0);
    rounds.push(await page.evaluate(() => window.drawn));
  }
  tell("plan of 200 statements, from its message until it is drawn", percentile(rounds, 0.5), 100, "ms");
  tell("elements of the page with it", await page.evaluate(() => document.querySelectorAll("*").length), 1500, "");
  await context.close();
}

/** Has the page note when a plan arrives. */
const hearPlans = (page) =>
  page.addInitScript(() => {
    const { WebSocket: Plain } = window;
    window.WebSocket = class extends Plain {
      constructor(...args) {
        super(...args);
        this.addEventListener("message", ({ data }) => {
          if (data.startsWith('{"type":"plan"') || data.includes('"type":"plan"')) window.heard = performance.now();
        });
      }
    };
  });

async function manyExchanges(browser, upstream) {
  const shop = await startShop({ apis: upstream.address, settings: { maxNestedRequests: 100, adhoc: { limits: { requests: 6_000 } } } });
  const { page, context } = await openPage(browser, shop.page);
  const ids = Array.from({ length: 100 }, (_, at) => `"${at}"`).join(", ");
  const statements = Array.from({ length: 50 }, (_, at) => `s${at} = select a from t where id in (${ids}) and n = ${at}`);
  const script = `create table t on select get from "${upstream.address}/item?id={^id}&n={^n}"\n${statements.join("\n")}\nreturn "{s49}"\n`;
  await setScript(page, script);
  await page.getByRole("tab", { name: /^Calls/ }).click();
  await readyToRun(page);
  await watchTasks(page);
  const busy = await clockOf(page);
  const busyBefore = await busy();
  await page.keyboard.press("Control+Enter");
  await page.waitForFunction(() => /Run \d+(done|failed)/.test(document.querySelector(".run-line")?.textContent ?? ""));
  const calls = await page.getByRole("tab", { name: /^Calls/ }).textContent();
  tell(`processor time of the page for ${calls.replace(/\D/g, "")} exchanges that come in`, (await busy()) - busyBefore, 5_000, "ms");
  tell(`longest task while ${calls.replace(/\D/g, "")} exchanges come in`, await longest(page), 100, "ms");
  tell("rows of them in the page", await page.locator(".call-row").count(), 100, "");
  const group = page.locator(".call-row:not(.call-head)").first();
  await group.click();
  await page.locator(".call-row.inner").first().waitFor();
  const details = await timeOf(page, { at: ".call-row.inner", where: ".details .cm-content", words: '"a": 1' });
  tell("details of one of them", details, 100, "ms");
  await context.close();
}

async function manyRuns(browser, url) {
  const { page, context } = await openPage(browser, url);
  await setScript(page, "return 1");
  for (let run = 0; run < 5; run += 1) await runAndWait(page);
  const before = await heapOf(page);
  for (let run = 0; run < 100; run += 1) await runAndWait(page);
  tell("heap that 100 runs leave", Math.max(0, (await heapOf(page)) - before), 10, "MiB");
  await context.close();
}

/** Milliseconds of processor time that a process has taken; the system counts in hundredths of a second. */
function processorTime(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function languageServer() {
  const files = Array.from({ length: 1_000 }, (_, at) => [`tables/t${at}.ql`, `create table t${at}.rows on select get from "http://127.0.0.1:1/{^id}"\n`]);
  const { folder } = await startApp(Object.fromEntries(files));
  const child = spawn(QLIO, ["lsp"], { cwd: folder, stdio: ["pipe", "pipe", "inherit"] });
  let bytes = Buffer.alloc(0);
  const waiting = new Map();
  child.stdout.on("data", (more) => {
    bytes = Buffer.concat([bytes, more]);
    for (;;) {
      const end = bytes.indexOf("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(bytes.subarray(0, Math.max(0, end)))?.[1]);
      if (end < 0 || bytes.length < end + 4 + length) return;
      const message = JSON.parse(bytes.subarray(end + 4, end + 4 + length));
      bytes = bytes.subarray(end + 4 + length);
      waiting.get(message.id)?.(message);
    }
  });
  const send = (message) => {
    const text = JSON.stringify({ jsonrpc: "2.0", ...message });
    child.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  };
  let asked = 0;
  const ask = (method, params) =>
    new Promise((resolve) => {
      const id = (asked += 1);
      waiting.set(id, resolve);
      send({ id, method, params });
    });
  const from = performance.now();
  const uri = `file://${folder}/script.ql`;
  await ask("initialize", { capabilities: {}, rootUri: `file://${folder}` });
  send({ method: "initialized", params: {} });
  send({ method: "textDocument/didOpen", params: { textDocument: { uri, languageId: "qlio", version: 1, text: "return select a from t\n" } } });
  await ask("textDocument/diagnostic", { textDocument: { uri } });
  tell("qlio lsp, from its start to the first problems, 1,000 files", performance.now() - from, 500, "ms");
  const busyBefore = processorTime(child.pid);
  tell("processor time of it until then", busyBefore, 500, "ms");
  const times = [];
  for (let round = 0; round < 100; round += 1) {
    const begun = performance.now();
    await ask("textDocument/completion", { textDocument: { uri }, position: { line: 0, character: 22 } });
    times.push(performance.now() - begun);
  }
  tell("completion, 1,000 tables, p99", percentile(times, 0.99), 50, "ms");
  tell("processor time of the server for one, mean", (processorTime(child.pid) - busyBefore) / times.length, 50, "ms");
  child.kill();
}

try {
  const upstream = await startUpstream({ "/large": LARGE, "/item": '{"a":1}' });
  const [browser, shop] = await Promise.all([startBrowser(), startShop()]);
  await assets(browser, shop.page);
  await coldStart(browser, shop.page);
  await typing(browser, shop.page);
  await diagnostics(browser);
  await playground(browser, shop.page);
  await firstStep(browser, shop.page);
  await stopping(browser, shop.page);
  await largeResult(browser, shop.page, upstream);
  await largePlan(browser, shop.page);
  await manyExchanges(browser, upstream);
  await manyRuns(browser, shop.page);
  await languageServer();
} finally {
  await stopAll();
}

const slow = rows.filter(({ figure, goal }) => goal !== undefined && figure > goal * 2);
const lines = rows.map(({ what, figure, goal, unit }) => `| ${what} | ${figure} ${unit} | ${goal ?? ""} ${goal === undefined ? "" : unit} |`.replace(/ +\|/g, " |"));
if (report) {
  const kind = QLIO.includes("release") ? "release build" : "build for development, which is slower than what people run";
  const load = loadavg()[0].toFixed(1);
  const words = `# The console's page

How fast the page of the [console](../console.md) is, in a Chromium without a screen, on loopback.
What other programs do at the same time is part of the figures, but not of processor times: the load of the machine stands below, and where it is above the number of cores, times by the clock say more of the machine than of the page. A key is on the screen when the frame that shows it has been drawn; a frame alone takes up to 16.7 ms.

Do not edit: \`node tests/speed.mjs --report ../../docs/benchmarks/console.md\`, in \`web/console\`, writes this page. It fails where a figure is above twice its goal.
A ${kind}, on ${cpus()[0].model.trim()}, ${cpus().length} cores, load ${load} at the end, ${new Date().toISOString().slice(0, 10)}.

| What | Measured | Goal, at most |
| --- | --- | --- |
${lines.join("\n")}
`;
  await writeFile(report, words);
}
if (slow.length > 0) {
  console.error(`above twice the goal: ${slow.map(({ what }) => what).join("; ")}`);
  process.exitCode = 1;
}
