// What the browser tests share: the executable with the example app and its sample APIs, a proxy that
// puts a path in front, and Chromium. Everything is on free ports of loopback and ends with the tests.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Generous, as tests also run on machines that are busy. */
export const PATIENCE_MS = 60_000;

export const QLIO = process.env.QLIO_EXECUTABLE ?? join(process.env.CARGO_TARGET_DIR ?? join(root, "target"), "debug/qlio");
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** What has been started and still runs. */
const started = new Set();

/** Has `stop` called at the end of the tests, if it has not been before. */
export function stopAtEnd(stop) {
  started.add(stop);
}

/** Ends all that the tests have started, also where a test has failed before it could. */
export async function stopAll() {
  await Promise.all([...started].map((stop) => stop()));
}

/** Starts a command and waits for the address that it prints first. */
async function startServer(args) {
  const child = spawn(QLIO, args, { stdio: ["ignore", "pipe", "pipe"] });
  const stop = async () => {
    // An executable that is not there has never run.
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGTERM");
    await once(child, "exit");
  };
  stopAtEnd(stop);
  let words = "";
  child.stderr.on("data", (bytes) => (words += bytes));
  const lines = createInterface({ input: child.stdout });
  const address = await Promise.race([
    once(lines, "line").then(([line]) => String(line)),
    once(child, "exit").then(() => Promise.reject(new Error(`qlio ${args.join(" ")} has ended: ${words}`))),
  ]);
  return { address, stop };
}

/** The example app on its sample APIs, which take `latency` milliseconds. */
export async function startShop({ latency = 50, options = ["--dev"], port = 0, apisPort = 0, settings = {}, apis, folder: app } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "qlio-console-"));
  stopAtEnd(() => rm(folder, { recursive: true, force: true }));
  const shop = app ?? join(root, "examples/shop");
  const mock = apis ? undefined : await startServer(["mock", join(shop, "apis"), "--port", String(apisPort), "--latency", String(latency)]);
  const config = join(folder, "config.json");
  const text = await readFile(join(shop, "qlio.json"), "utf8");
  const values = { ...JSON.parse(text.replace("http://127.0.0.1:7070", apis ?? mock.address)), ...settings };
  await writeFile(config, JSON.stringify(values));
  const start = (at) => startServer(["serve", ...options, "--port", String(at), "--app", shop, "--config", config]);
  let gateway = await start(port);
  const address = gateway.address;
  return {
    address,
    app: shop,
    page: `${address}/console`,
    /** Ends the gateway and starts another one at the same address. */
    stopGateway: () => gateway.stop(),
    restartGateway: async () => {
      await gateway.stop();
      gateway = await start(Number(new URL(address).port));
    },
  };
}

/** A copy of the example app, which a test may change. */
export async function copyShop() {
  const folder = await mkdtemp(join(tmpdir(), "qlio-shop-"));
  stopAtEnd(() => rm(folder, { recursive: true, force: true }));
  await cp(join(root, "examples/shop"), folder, { recursive: true });
  return folder;
}

/** An app of these files, which can be ended and started again at its address. */
export async function startApp(files, { options = ["--dev"] } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "qlio-console-"));
  stopAtEnd(() => rm(folder, { recursive: true, force: true }));
  for (const [path, text] of Object.entries({ "qlio.json": "{}", ...files })) {
    await mkdir(join(folder, path, ".."), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  const start = (port) => startServer(["serve", ...options, "--port", String(port), "--app", folder]);
  let server = await start(0);
  const { address } = server;
  return {
    address,
    page: `${address}/console`,
    folder,
    stop: () => server.stop(),
    startAgain: async () => {
      server = await start(Number(new URL(address).port));
    },
  };
}

/** Chromium without anything that asks others. */
export async function startBrowser() {
  if (!existsSync(CHROMIUM)) throw new Error(`there is no Chromium at ${CHROMIUM}`);
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  stopAtEnd(() => browser.close());
  return browser;
}

/** A page of a fresh profile, which notes what goes wrong in it and each frame of its WebSockets. */
export async function openPage(browser, url, options = {}) {
  const context = options.context ?? (await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options.profile }));
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  if (process.env.CONSOLE_DIST) await serveFromDisk(page);
  if (process.env.CPU_SLOWDOWN) {
    const session = await context.newCDPSession(page);
    await session.send("Emulation.setCPUThrottlingRate", { rate: Number(process.env.CPU_SLOWDOWN) });
  }
  const notes = { errors: [], sent: [], received: [], violations: [], dialogs: 0, hosts: new Set() };
  page.on("pageerror", (error) => notes.errors.push(String(error)));
  await page.exposeFunction("noteViolation", (words) => notes.violations.push(words));
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", ({ effectiveDirective, target, blockedURI }) => {
      // Chromium styles what is typed over a selection, and the editor throws that away.
      const isTyping = effectiveDirective.startsWith("style-src") && target.closest?.(".cm-content");
      if (!isTyping) void window.noteViolation(`${effectiveDirective} ${blockedURI} ${target.outerHTML?.slice(0, 200)}`);
    });
  });
  page.on("dialog", (dialog) => {
    notes.dialogs += 1;
    void dialog.dismiss();
  });
  page.on("request", (request) => notes.hosts.add(new URL(request.url()).host));
  page.on("websocket", (socket) => {
    socket.on("framesent", ({ payload }) => notes.sent.push(String(payload)));
    socket.on("framereceived", ({ payload }) => notes.received.push(String(payload)));
  });
  if (options.before) await options.before(page);
  await page.goto(url);
  if (!options.isBare) await page.waitForSelector(".editor .cm-content");
  return { page, context, notes };
}

/** Waits until `check` does not throw any more: what an action leads to is there a moment later, on a busy machine much later. */
export async function eventually(check) {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
}

/** Waits until the page would run what stands there: it is connected, and nothing is known to be wrong with the text. */
export async function readyToRun(page) {
  await page.waitForSelector('.toolbar .primary:not([aria-disabled="true"])', { state: "attached" });
}

/** The files as they were built last, whichever are in the executable: changes of the page are tested without compiling. */
async function serveFromDisk(page) {
  for (const name of ["console.js", "console.css"]) {
    const path = join(root, "web/console/dist", name);
    await page.route(new RegExp(`/console/${name.replace(".", "\\.")}(\\?|$)`), (route) => route.fulfill({ path }));
  }
}

/** What an action puts onto the clipboard, which the page may read and write. */
export async function copiedBy(page, action) {
  await page.evaluate(() => navigator.clipboard.writeText("nothing was copied"));
  await action();
  return eventually(async () => {
    const text = await page.evaluate(() => navigator.clipboard.readText());
    if (text === "nothing was copied") throw new Error(text);
    return text;
  });
}

/** Puts a text into the editor, as a paste would. */
export async function setScript(page, text) {
  await page.click(".editor .cm-content");
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}

/** Runs what stands there and waits for the end. */
export async function runAndWait(page) {
  await readyToRun(page);
  const before = await runNumber(page);
  await page.keyboard.press("Control+Enter");
  await page.waitForFunction(
    (number) => {
      const line = document.querySelector(".run-line");
      const shown = Number(/\d+/.exec(line?.querySelector("strong")?.textContent ?? "0")?.[0] ?? 0);
      return shown > number && !line.classList.contains("run-running");
    },
    before,
    { timeout: PATIENCE_MS },
  );
}

async function runNumber(page) {
  const words = await page.locator(".run-line strong").textContent({ timeout: 100 }).catch(() => "0");
  return Number(/\d+/.exec(words)?.[0] ?? 0);
}

/** The text of the editor, all of it. */
export function scriptText(page) {
  return page.evaluate(() => {
    const view = document.querySelector(".editor .cm-content").cmTile?.view ?? document.querySelector(".editor .cm-content").cmView?.view;
    return view.state.doc.toString();
  });
}

/** The text of the result. */
export async function resultText(page) {
  await page.waitForSelector(".result-view .cm-content", { state: "attached" });
  return page.evaluate(() => {
    const content = document.querySelector(".result-view .cm-content");
    const view = content.cmTile?.view ?? content.cmView?.view;
    return view.state.doc.toString();
  });
}

export const PRODUCTS = `ids = select id from shop.search where keyword = "lantern"
details = select id as id, title as title from shop.details where id in ("{ids}")
reviews = select product as id, reviewCount as count from shop.reviews where product in ("{ids}")
return select d.id as id, d.title as title, r.count as reviews from details as d, reviews as r where d.id = r.id
`;
