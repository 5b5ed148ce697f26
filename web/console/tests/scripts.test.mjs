// Writing and running, and that no text is lost.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { PATIENCE_MS, eventually, openPage, readyToRun, resultText, runAndWait, scriptText, setScript, startBrowser, startShop, stopAll } from "./harness.mjs";

let browser;
let shop;
before(async () => {
  [browser, shop] = await Promise.all([startBrowser(), startShop()]);
});
after(stopAll);

const scriptsSent = (notes) =>
  notes.sent.map((frame) => JSON.parse(frame)).filter(({ type }) => type === "script");

/** The texts of all scripts that the browser keeps. */
const keptTexts = (page) =>
  page.evaluate(() =>
    Object.keys(localStorage)
      .filter((key) => key.startsWith("qlio.script."))
      .map((key) => JSON.parse(localStorage[key]).text)
      .sort(),
  );

test("what stands on the screen is what runs, typed in the same moment", async () => {
  const { page, context, notes } = await openPage(browser, shop.page);
  await setScript(page, "return 1");
  await runAndWait(page);
  await page.click(".editor .cm-content");
  await page.keyboard.press("Control+End");
  // Both keys are on their way before the page has drawn anything.
  await Promise.all([page.keyboard.type("2"), page.keyboard.press("Control+Enter")]);
  await page.waitForFunction(() => document.querySelector(".run-line strong")?.textContent === "Run 2");
  assert.equal(scriptsSent(notes).at(-1).data, await scriptText(page));
  await page.waitForSelector(".run-done");
  await eventually(async () => assert.match(await resultText(page), /^12\n?$/));
  assert.deepEqual(notes.errors, []);
  assert.deepEqual(notes.violations, []);
  await context.close();
});

test("an older run never replaces a newer one", async () => {
  // What the server says of the first run is on its way until the second one is over, and nothing tells it to stop.
  const { page, context, notes } = await openPage(browser, shop.page, {
    before: (fresh) =>
      fresh.addInitScript(() => {
        const late = [];
        window.lateCount = () => late.length;
        window.releaseLate = () => late.splice(0).forEach((send) => send());
        window.WebSocket = class extends WebSocket {
          set onmessage(handler) {
            super.onmessage = (event) => {
              const { id, type } = JSON.parse(event.data);
              if (id === 1 && /^s/.test(type)) late.push(() => handler(event));
              else handler(event);
            };
          }
          send(text) {
            if (JSON.parse(text).type !== "kill") super.send(text);
          }
        };
      }),
  });
  await setScript(page, 'return select id from shop.search where keyword = "lantern"');
  await readyToRun(page);
  await page.keyboard.press("Control+Enter");
  await page.waitForFunction(() => document.querySelector(".run-line strong")?.textContent === "Run 1");
  await setScript(page, 'return "newer"');
  await page.keyboard.press("Control+Enter");
  await page.waitForFunction(() => document.querySelector(".run-line")?.textContent.includes("Run 2done"));
  // Its result is the last of them.
  await eventually(async () => assert.ok((await page.evaluate(() => window.lateCount())) >= 5));
  await page.evaluate(() => window.releaseLate());
  // The plan of another text comes after all of them.
  await setScript(page, 'first = 1\nsecond = 2\nreturn "{first}{second}"');
  await page.getByRole("row", { name: /^line 3, / }).waitFor();
  assert.match(await page.locator(".run-line").textContent(), /Run 2done/);
  assert.match(await resultText(page), /newer/);
  assert.deepEqual(notes.errors, []);
  await context.close();
});

test("a reload keeps the text as it was after the last key", async () => {
  const { page, context } = await openPage(browser, shop.page);
  await setScript(page, "return 1");
  await runAndWait(page);
  await page.click(".editor .cm-content");
  await page.keyboard.press("Control+End");
  for (const key of "234") {
    await page.keyboard.type(key);
    const before = await scriptText(page);
    await page.reload();
    await page.waitForSelector(".editor .cm-content");
    assert.equal(await scriptText(page), before);
    await page.click(".editor .cm-content");
    await page.keyboard.press("Control+End");
  }
  await context.close();
});

test("a page that goes in the moment of a key keeps its text, and so does one that another window overtakes", async () => {
  const { page, context } = await openPage(browser, shop.page);
  await setScript(page, "return 1");
  await runAndWait(page);
  /** Types as one key does, then `then`, before the page has had a moment for anything else. */
  const typeAnd = (letter, then) =>
    page.evaluate(
      ({ letter, then }) => {
        const content = document.querySelector(".editor .cm-content");
        const view = content.cmTile?.view ?? content.cmView?.view;
        const end = view.state.doc.length;
        // There is no such moment any more.
        window.requestIdleCallback = () => 0;
        view.dispatch({ changes: { from: end, insert: letter }, selection: { anchor: end + 1 } });
        const key = Object.keys(localStorage).find((name) => name.startsWith("qlio.script."));
        if (then === "go") location.reload();
        else {
          const theirs = JSON.stringify({ ...JSON.parse(localStorage[key]), text: then });
          localStorage[key] = theirs;
          dispatchEvent(new StorageEvent("storage", { key, newValue: theirs }));
        }
      },
      { letter, then },
    );
  await Promise.all([page.waitForEvent("load"), typeAnd("2", "go")]);
  await page.waitForSelector(".editor .cm-content");
  assert.equal(await scriptText(page), "return 12");
  await typeAnd("3", "return 'theirs'");
  assert.equal(await scriptText(page), "return 123");
  await eventually(async () => assert.deepEqual(await keptTexts(page), ["return 'theirs'", "return 123"]));
  await context.close();
});

test("an address with a script opens it as a new tab and does not run it", async () => {
  const { page, context, notes } = await openPage(browser, shop.page);
  await setScript(page, 'return "mine"');
  await page.goto(`${shop.page}?s=${encodeURIComponent("return 'from a link'")}`);
  await page.waitForSelector(".editor .cm-content");
  await eventually(async () => assert.equal(await scriptText(page), "return 'from a link'"));
  assert.deepEqual(scriptsSent(notes), []);
  await page.getByRole("button", { name: 'return "mine"', exact: true }).click();
  await eventually(async () => assert.equal(await scriptText(page), 'return "mine"'));
  await context.close();
});

test("back and forward show the scripts that were run", async () => {
  const { page, context } = await openPage(browser, shop.page);
  await setScript(page, "return 1");
  await runAndWait(page);
  await setScript(page, "return 2");
  await runAndWait(page);
  await page.goBack();
  await page.waitForFunction(() => document.querySelector(".editor .cm-content").textContent.includes("return 1"));
  await page.goForward();
  await page.waitForFunction(() => document.querySelector(".editor .cm-content").textContent.includes("return 2"));
  await context.close();
});

test("the arrow keys bring back what was run earlier", async () => {
  const { page, context } = await openPage(browser, shop.page);
  for (const text of ["return 1", "return 2", "return 3"]) {
    await setScript(page, text);
    await runAndWait(page);
  }
  await page.click(".editor .cm-content");
  const press = async (key, text) => {
    await page.keyboard.press(key);
    await eventually(async () => assert.equal(await scriptText(page), text));
  };
  await press("Alt+ArrowUp", "return 3");
  await press("Alt+ArrowUp", "return 2");
  await press("Alt+ArrowUp", "return 1");
  await press("Alt+ArrowUp", "return 1");
  await press("Alt+ArrowDown", "return 2");
  // A run begins anew.
  await setScript(page, "return 4");
  await runAndWait(page);
  await press("Alt+ArrowUp", "return 4");
  await press("Alt+ArrowUp", "return 3");
  await context.close();
});

test("two windows do not overwrite each other", async () => {
  const { page: one, context } = await openPage(browser, shop.page);
  await setScript(one, "return 'first'");
  const { page: two } = await openPage(browser, shop.page, { context });
  await eventually(async () => assert.equal(await scriptText(two), "return 'first'"));
  await setScript(two, "return 'second'");
  await setScript(one, "return 'third'");
  await eventually(async () => {
    const kept = await keptTexts(one);
    assert.ok(kept.includes("return 'second'") && kept.includes("return 'third'"), JSON.stringify(kept));
  });
  assert.equal(await scriptText(one), "return 'third'");
  assert.equal(await scriptText(two), "return 'second'");
  await context.close();
});

test("a full or forbidden storage is told, and scripts still run", async () => {
  const full = (page) =>
    page.addInitScript(() => {
      Storage.prototype.setItem = () => {
        throw new DOMException("full", "QuotaExceededError");
      };
    });
  const forbidden = (page) =>
    page.addInitScript(() => {
      Object.defineProperty(window, "localStorage", {
        get: () => {
          throw new DOMException("denied", "SecurityError");
        },
      });
    });
  for (const [prepare, words] of [
    [full, /storage is full/],
    [forbidden, /does not let this page keep/],
  ]) {
    const { page, context } = await openPage(browser, shop.page, { before: prepare });
    await setScript(page, "return 7");
    await page.locator(".banner").filter({ hasText: words }).waitFor();
    await runAndWait(page);
    await eventually(async () => assert.match(await resultText(page), /^7/));
    await context.close();
  }
});

test("a closed script can be opened again", async () => {
  const { page, context } = await openPage(browser, shop.page);
  await setScript(page, "return 'kept'");
  await page.getByRole("button", { name: /^Close return/ }).click();
  await eventually(async () => assert.equal(await scriptText(page), ""));
  await page.getByRole("tab", { name: "Closed" }).click();
  await page.getByRole("button", { name: /return 'kept'/ }).click();
  await eventually(async () => assert.equal(await scriptText(page), "return 'kept'"));
  await context.close();
});

test("a lost connection is told, comes back by itself, and the text stays", async () => {
  const { page, context } = await openPage(browser, shop.page);
  await page.waitForSelector(".connection-open");
  await setScript(page, "return 'still here'");
  await shop.stopGateway();
  await page.waitForSelector(".connection-lost");
  await page.locator(".banner").filter({ hasText: "your text is safe" }).waitFor();
  await page.waitForSelector('.toolbar .primary[aria-disabled="true"]');
  await shop.restartGateway();
  await page.waitForSelector(".connection-open", { timeout: PATIENCE_MS });
  assert.equal(await scriptText(page), "return 'still here'");
  await runAndWait(page);
  await eventually(async () => assert.match(await resultText(page), /still here/));
  await context.close();
});

test("long scripts run and keep the connection; very long ones are not checked while typing", async () => {
  const { page, context, notes } = await openPage(browser, shop.page);
  await page.waitForSelector(".editor[data-language=on]");
  const lines = Array.from({ length: 1_500 }, (_, at) => `-- a remark that makes the script long, number ${at}`);
  await setScript(page, `${lines.join("\n")}\nreturn * from shop.search\n`);
  // More than a frame of the console, and less than a message of the language service.
  await page.waitForSelector(".cm-lint-marker-error", { state: "attached" });
  await setScript(page, `${lines.join("\n")}\nreturn 'long'\n`);
  await runAndWait(page);
  await eventually(async () => assert.match(await resultText(page), /long/));
  const huge = `-- ${"x".repeat(1_048_500)}\nreturn 'very long'\n`;
  await page.evaluate((text) => {
    const content = document.querySelector(".editor .cm-content");
    const view = content.cmTile?.view ?? content.cmView?.view;
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
  }, huge);
  await page.getByText("too long to be checked").waitFor();
  await runAndWait(page);
  await eventually(async () => assert.match(await resultText(page), /very long/));
  assert.equal(await scriptText(page), huge);
  await setScript(page, "return select 1 form");
  await page.waitForSelector(".cm-lint-marker-error", { state: "attached" });
  assert.equal(await page.locator(".connection-open").count(), 1);
  const hellos = notes.sent.filter((frame) => JSON.parse(frame).method === "initialize");
  assert.equal(hellos.length, 1, "no connection was lost");
  assert.deepEqual(notes.errors, []);
  await context.close();
});
