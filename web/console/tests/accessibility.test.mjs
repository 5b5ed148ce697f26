// Rules of WCAG 2.2 A and AA in the states of the page, in light and dark; the keyboard; narrow screens.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { PRODUCTS, eventually, openPage, readyToRun, runAndWait, scriptText, setScript, startBrowser, startShop, stopAll } from "./harness.mjs";
import { startUpstream } from "./upstream.mjs";

const axe = await readFile(fileURLToPath(new URL("../node_modules/axe-core/axe.min.js", import.meta.url)), "utf8");
const PHONE = { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true };

let browser;
let shop;
let upstream;
before(async () => {
  upstream = await startUpstream({ "/slow": () => undefined, "/cut": (request) => request.socket.destroy(), "/page": JSON.stringify({ html: "<!doctype html><h1>Page</h1>" }) });
  [browser, shop] = await Promise.all([startBrowser(), startShop()]);
});
after(stopAll);

const LOOKS_MAX = 3;

/** The rules that are broken, and where. Axe fails if an element goes while it looks, and looks again then. */
async function brokenRules(page) {
  for (let look = 1; ; look += 1) {
    try {
      return await page.evaluate(async (source) => {
        // The policy of the page lets no script element in, but what a debugger evaluates.
        if (!window.axe) (0, eval)(source);
        const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
        const { violations } = await window.axe.run(document, { runOnly: { type: "tag", values: tags } });
        return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
      }, axe);
    } catch (error) {
      if (look === LOOKS_MAX) throw error;
    }
  }
}

/** Fails with the rules that are broken and where, in both colour schemes. */
async function hold(page, state) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    assert.deepEqual(await brokenRules(page), [], `${state}, ${colorScheme}`);
  }
}

test("the states of the page keep the rules", async () => {
  const { page, context, notes } = await openPage(browser, shop.page, { before: (fresh) => fresh.addInitScript(axe) });
  await hold(page, "empty");
  await setScript(page, `create table t on select get from "${upstream.address}/slow"\nreturn select * from t\n`);
  await readyToRun(page);
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(".run-running");
  await hold(page, "running");
  await page.getByRole("button", { name: "Stop" }).click();
  await setScript(page, "return select * form nothing.here\n");
  await page.waitForSelector(".cm-lintRange-error");
  await page.waitForFunction(() => document.querySelector(".why-not").textContent !== "");
  await hold(page, "error");
  await setScript(page, PRODUCTS);
  await runAndWait(page);
  await hold(page, "result as JSON");
  await page.click(".editor .cm-content");
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("Shift+F12");
  await page.getByRole("listbox", { name: "Reference list" }).waitFor();
  await hold(page, "list of uses");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Search in the result" }).click();
  await page.keyboard.type("title");
  await page.locator(".cm-search [role=status]").filter({ hasText: "matches" }).waitFor();
  await hold(page, "search in the result");
  await page.keyboard.press("Escape");
  await page.getByRole("tab", { name: "Table", exact: true }).click();
  await page.getByRole("tab", { name: /^Calls/ }).click();
  await page.getByRole("row").filter({ hasText: "details/ln-310" }).click();
  await hold(page, "result as table, calls open");
  await page.getByRole("tab", { name: "Routes" }).click();
  await page.getByRole("button", { name: /\/products/ }).click();
  await page.getByLabel("keyword", { exact: true }).fill("tent");
  await page.getByRole("button", { name: "Send" }).click();
  await page.waitForSelector(".answer .cm-content");
  await hold(page, "explorer");
  await page.getByRole("tab", { name: "Formats" }).click();
  await page.getByLabel("Bytes of an answer").fill('[{"a":1,"b":2}]');
  await page.getByLabel("Columns, separated by commas").fill("a");
  await page.locator(".left-out").waitFor();
  await hold(page, "playground");
  await page.keyboard.press("Control+s");
  await page.getByRole("textbox", { name: "Path" }).fill("/saved");
  await page.getByRole("button", { name: "Show what changes" }).click();
  await page.locator(".diff").waitFor();
  await hold(page, "save as a route");
  await page.keyboard.press("Escape");
  await page.getByRole("tab", { name: "Runs" }).click();
  await hold(page, "history");
  await setScript(page, `create table t on select get from "${upstream.address}/page"\nx = select html from t\nreturn "{x[0]}"\n`);
  await runAndWait(page);
  await page.getByRole("tab", { name: "Page", exact: true }).click();
  await hold(page, "result as page");
  await setScript(page, PRODUCTS);
  await readyToRun(page);
  await page.keyboard.press("Control+Shift+Enter");
  await page.waitForSelector(".step");
  await hold(page, "step by step");
  await page.keyboard.press("Control+k");
  await page.waitForSelector("dialog");
  await hold(page, "palette");
  await page.keyboard.press("Escape");
  await shop.stopGateway();
  await page.waitForSelector(".connection-lost");
  await hold(page, "offline");
  await shop.restartGateway();
  assert.deepEqual(notes.errors, []);
  await context.close();
});

test("a server that runs no scripts of one's own says so, and shows the rest", async () => {
  const locked = await startShop({ options: [], settings: { console: true } });
  const { page, context } = await openPage(browser, locked.page, { before: (fresh) => fresh.addInitScript(axe) });
  await page.getByText("This server runs no scripts of one's own").waitFor();
  await page.waitForSelector('.toolbar .primary[aria-disabled="true"]');
  await page.locator(".why-not").filter({ hasText: "switched off" }).waitFor();
  await page.getByRole("tab", { name: "Routes" }).click();
  await page.getByRole("button", { name: /\/products/ }).click();
  await page.getByLabel("keyword", { exact: true }).fill("tent");
  await page.getByRole("button", { name: "Send" }).click();
  await page.waitForSelector(".answer .good");
  await hold(page, "locked");
  await context.close();
});

test("a phone shows one pane at a time, 320 pixels wide, without scrolling sideways", async () => {
  const { page, context } = await openPage(browser, shop.page, { profile: PHONE, before: (fresh) => fresh.addInitScript(axe) });
  await setScript(page, PRODUCTS);
  await readyToRun(page);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForSelector(".run-done", { state: "attached" });
  for (const name of ["Result", "Plan", "Calls", "Browse", "Script"]) {
    await page.getByRole("navigation", { name: "Panes" }).getByRole("button", { name }).click();
    await eventually(async () => assert.equal(await page.locator(".pane:visible").count(), 1, name));
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 320, `${name} is ${width} pixels wide`);
    const small = await page.evaluate(() =>
      [...document.querySelectorAll("button")]
        .filter((button) => button.offsetParent !== null && !button.closest(".cm-editor, .virtual"))
        .filter((button) => button.offsetHeight < 24 || button.offsetWidth < 24)
        .map((button) => button.outerHTML.slice(0, 120)),
    );
    assert.deepEqual(small, [], name);
    await hold(page, `phone, ${name}`);
  }
  await page.getByRole("navigation", { name: "Panes" }).getByRole("button", { name: "Result" }).click();
  for (const name of ["JSON", "Table", "Raw"]) {
    await page.getByRole("tab", { name, exact: true }).click();
    const height = await page.locator(".result .bar").evaluate((bar) => bar.offsetHeight);
    assert.ok(height < 60, `the bar of ${name} is one row: ${height} pixels`);
  }
  await hold(page, "phone, result as table");
  await page.getByRole("navigation", { name: "Panes" }).getByRole("button", { name: "Script" }).click();
  await page.getByRole("button", { name: /Save as a route/ }).or(page.locator('.toolbar [aria-haspopup="dialog"]')).first().click();
  await page.getByRole("textbox", { name: "Path" }).fill("/saved");
  await page.getByRole("button", { name: "Show what changes" }).click();
  await page.locator(".diff").waitFor();
  const buttons = page.locator(".dialog-buttons .primary");
  await buttons.scrollIntoViewIfNeeded();
  const box = await buttons.boundingBox();
  assert.ok(box.x >= 0 && box.x + box.width <= 320, "the dialog fits");
  await hold(page, "phone, save as a route");
  await context.close();
});

test("on a phone the states of calls and the heads above them are to be read whole", async () => {
  const { page, context } = await openPage(browser, shop.page, { profile: PHONE });
  await setScript(page, `create table t on select get from "${upstream.address}/cut"\nx = select * from t || 1\nreturn x\n`);
  await readyToRun(page);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForSelector(".run-done", { state: "attached" });
  await page.getByRole("navigation", { name: "Panes" }).getByRole("button", { name: "Calls" }).click();
  await page.locator(".call-row em").getByText("retry").waitFor();
  const cut = await page.locator(".call-head > *, .call-row > :nth-child(2)").evaluateAll((cells) =>
    cells
      .filter((cell) => cell.offsetParent !== null)
      .filter((cell) => {
        const words = document.createRange();
        words.selectNodeContents(cell);
        const [inner, outer] = [words.getBoundingClientRect(), cell.getBoundingClientRect()];
        return inner.left < outer.left || inner.right > outer.right;
      })
      .map((cell) => cell.textContent),
  );
  assert.deepEqual(cut, []);
  await context.close();
});

test("the keyboard alone reaches everything and leaves the editor", async () => {
  const { page, context } = await openPage(browser, shop.page);
  await page.evaluate(() => document.activeElement?.blur());
  const seen = new Set();
  for (let press = 0; press < 60; press += 1) {
    await page.keyboard.press("Tab");
    seen.add(
      await page.evaluate(() => {
        const element = document.activeElement;
        return element.getAttribute("aria-label") ?? element.textContent?.slice(0, 20) ?? "";
      }),
    );
  }
  const names = [...seen].map((name) => name.trim());
  for (const name of ["Script", "Run", "Debug", "Format", "Share", "Width of the script", "Plan", "Keys", "Filter tables"]) {
    assert.ok(names.includes(name), `${name} is not reached: ${names.join(", ")}`);
  }
  await page.getByRole("separator", { name: "Width of the script" }).focus();
  const before = await page.locator(".pane-script").evaluate((pane) => pane.offsetWidth);
  await page.keyboard.press("ArrowLeft");
  // The page is drawn anew a moment later.
  await page.waitForFunction((width) => document.querySelector(".pane-script").offsetWidth < width, before);
  await page.keyboard.press("Control+Alt+3");
  await page.waitForFunction(() => document.activeElement?.closest(".pane-plan") !== null);
  await page.keyboard.press("Control+Alt+1");
  await page.waitForFunction(() => document.activeElement?.closest(".editor") !== null);
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("?");
  await page.waitForSelector("dialog .keys");
  await context.close();
});

test("from the list of tables to the answer of a call, with the keyboard alone", async () => {
  const { page, context } = await openPage(browser, shop.page);
  await page.waitForSelector(".connection-open");
  const focused = () => page.evaluate(() => (document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent).trim());
  /** Presses a key until the focus is on what is called so; each place that it comes to is to be seen. */
  const go = async (name, key = "Tab") => {
    for (let press = 0; press < 60; press += 1) {
      await page.keyboard.press(key);
      const outline = await page.evaluate(() => {
        const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
        return document.activeElement.closest(".cm-editor") || document.activeElement === document.body ? 2 : outlineStyle === "none" ? 0 : parseFloat(outlineWidth);
      });
      assert.ok(outline >= 2, `the focus on ${await focused()} is to be seen`);
      if ((await focused()).startsWith(name)) return;
    }
    assert.fail(`${name} is not reached`);
  };
  await page.keyboard.press("Control+Alt+1");
  await page.waitForFunction(() => document.activeElement?.closest(".editor") !== null);
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await page.keyboard.press("Control+Alt+5");
  await page.waitForFunction(() => document.activeElement?.closest(".pane-browse") !== null);
  await go("shop.search");
  await page.keyboard.press("Enter");
  await go("Insert a select");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement?.closest(".editor") !== null);
  await page.keyboard.press("Control+Home");
  // Tab indents where that is wanted, and leaves the editor else.
  await page.keyboard.press("Control+m");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Control+m");
  await page.keyboard.type("return ");
  await page.keyboard.press("Control+End");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.type("tent");
  await eventually(async () => assert.match(await scriptText(page), /^ {2}return select \* from shop\.search where keyword = 'tent'/));
  await page.keyboard.press("Escape");
  await runAndWait(page);
  await page.keyboard.press("Control+Alt+4");
  await page.waitForFunction(() => document.activeElement?.classList.contains("call-rows"));
  await page.keyboard.press("ArrowDown");
  await page.waitForSelector(".details .cm-content");
  await go("Response");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await page.locator(".pairs").first().waitFor();
  assert.equal(await focused(), "Headers");
  await page.keyboard.press("Control+Alt+1");
  await page.waitForFunction(() => document.activeElement?.closest(".editor") !== null);
  await go("Run", "Shift+Tab");
  await go("Share");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement?.getAttribute("role") === "menuitem");
  const first = await focused();
  await page.keyboard.press("ArrowDown");
  assert.notEqual(await focused(), first);
  await page.keyboard.press("Escape");
  await page.waitForSelector("[role=menu]", { state: "detached" });
  await eventually(async () => assert.equal(await focused(), "Share"));
  await context.close();
});

test("wishes of the reader: zoom, contrast, colours of the system, no motion, paper", async () => {
  // What 1280 pixels are at 200 percent, and 1280 pixels at 400.
  for (const width of [640, 320]) {
    const { page, context } = await openPage(browser, shop.page, { profile: { viewport: { width, height: 400 } } });
    await setScript(page, PRODUCTS);
    await runAndWait(page);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `${wide} of ${width} pixels`);
    await context.close();
  }
  const { page, context } = await openPage(browser, shop.page);
  await setScript(page, PRODUCTS);
  await runAndWait(page);
  await page.getByRole("tab", { name: /^Calls/ }).click();
  const bar = page.locator(".call-bar .phase-wait").first();
  const styleOf = (locator, name) => locator.evaluate((element, property) => getComputedStyle(element)[property], name);
  const muted = () => page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--muted").trim());
  const before = await muted();
  await page.emulateMedia({ contrast: "more" });
  await eventually(async () => assert.notEqual(await muted(), before));
  await page.emulateMedia({ contrast: "no-preference", forcedColors: "active" });
  await eventually(async () => assert.equal(await styleOf(bar, "borderTopStyle"), "solid"));
  const run = page.locator(".toolbar .primary");
  await page.emulateMedia({ forcedColors: "none", reducedMotion: "no-preference" });
  await eventually(async () => assert.match(await styleOf(run, "transitionDuration"), /0\.12s/));
  await page.emulateMedia({ reducedMotion: "reduce" });
  await eventually(async () => assert.match(await styleOf(run, "transitionDuration"), /^0s/));
  await page.emulateMedia({ media: "print" });
  await eventually(async () => assert.equal(await page.locator(".head, .toolbar, .pane-browse").filter({ visible: true }).count(), 0));
  for (const pane of ["script", "result", "lower"]) assert.ok(await page.locator(`.pane-${pane}`).isVisible(), pane);
  await context.close();
});

test("pages without the console keep the rules, also 320 pixels wide", async () => {
  const plain = await startShop({ options: ["--dev", "--disableConsole"] });
  const route = (path, method) => `/route?path=${encodeURIComponent(path)}&method=${method}`;
  const paths = ["/", "/tables", "/table?name=shop.search", "/routes", "/api", route("/products?keyword={keyword}", "get")];
  for (const profile of [{}, PHONE]) {
    for (const path of paths) {
      const { page, context } = await openPage(browser, plain.address + path, { isBare: true, profile, before: (fresh) => fresh.addInitScript(axe) });
      await page.locator("h1").waitFor();
      const { wide, room } = await page.evaluate(() => ({ wide: document.documentElement.scrollWidth, room: innerWidth }));
      assert.ok(wide <= room, `${path} is ${wide} of ${room} pixels wide`);
      const heads = await page.locator("th").evaluateAll((all) => all.map((head) => head.offsetHeight));
      assert.ok(heads.every((height) => height < 50), `${path}: a title is broken: ${heads}`);
      await hold(page, path);
      await context.close();
    }
  }
});
