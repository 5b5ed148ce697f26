// What a script returns: as JSON, table, text and page, also when it is large, deep or hostile.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { copiedBy, eventually, openPage, resultText, runAndWait, setScript, startBrowser, startShop, stopAll } from "./harness.mjs";
import { scriptFor, startUpstream } from "./upstream.mjs";

const HOSTILE = `<!doctype html><script>window.top.hacked = 1; alert(1)</script><img src=x onerror="alert(2)"><h1>Page</h1>`;
const ROWS = Array.from({ length: 2_000 }, (_, at) => ({
  id: at,
  name: at === 1_999 ? "needle" : `row ${2_000 - at}`,
  nested: { deep: [at], big: "@big@" },
  price: at === 3 ? null : (at * 7919) % 1000,
  big: "@big@",
}));
const TABLE = JSON.stringify(ROWS).replaceAll('"@big@"', "9007199254740993123");
const DEEP = `${'{"a":'.repeat(90)}1${"}".repeat(90)}`;
const LARGE = JSON.stringify(Array.from({ length: 105_000 }, (_, at) => ({ id: at, text: `row ${at} ${"x".repeat(60)}` })));

/** Builds for development read 10 MB on a busy machine in more time of the processor than scripts have otherwise. */
const PATIENT = { adhoc: { limits: { cpuMs: 5_000 } } };

let browser;
let shop;
let upstream;
before(async () => {
  upstream = await startUpstream({
    "/rows": TABLE,
    "/page": JSON.stringify({ html: HOSTILE }),
    "/deep": DEEP,
    "/abyss": "[".repeat(200_000),
    "/large": LARGE,
    "/binary": (_request, response) =>
      response.writeHead(200, { "content-type": "application/octet-stream" }).end(Buffer.from([0, 255, 1, 254, 128])),
    "/huge": (_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const piece = Buffer.alloc(1 << 20, "[");
      let left = 100;
      const send = () => {
        while (left > 0 && response.write(piece)) left -= 1;
        if (left <= 0) response.end();
      };
      response.on("drain", send);
      send();
    },
    "/html": (_request, response) => response.writeHead(200, { "content-type": "text/html" }).end(HOSTILE),
  });
  [browser, shop] = await Promise.all([startBrowser(), startShop({ settings: PATIENT })]);
});
after(stopAll);

/** Where the text of an element ends, in pixels from the left. */
function endOfText(element) {
  const range = document.createRange();
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  range.selectNode(texts.nextNode());
  return range.getBoundingClientRect().right;
}

test("rows are a table that is sorted, hidden by columns and copied", async () => {
  const { page, context, notes } = await openPage(browser, shop.page, {
    profile: { permissions: ["clipboard-read", "clipboard-write"] },
  });
  await setScript(page, scriptFor(upstream.address, "/rows"));
  await runAndWait(page);
  // Numbers stay as they were written, however many digits they have.
  await eventually(async () => assert.match(await resultText(page), /"big": 9007199254740993123/));
  await page.getByRole("tab", { name: "Table", exact: true }).click();
  const grid = page.getByRole("grid");
  await eventually(async () => assert.equal(await grid.getAttribute("aria-rowcount"), "2001"));
  const firstCells = () => grid.locator("[aria-rowindex='2'] [role=gridcell]").allTextContents();
  await eventually(async () =>
    assert.deepEqual(await firstCells(), ["0", "row 2000", '{"deep":[0],"big":9007199254740993123}', "0", "9007199254740993123"]),
  );
  // Heads of numbers stand to the right, above their digits.
  for (const [column, at] of [["id", 0], ["price", 3], ["big", 4]]) {
    const head = grid.getByRole("columnheader", { name: column, exact: true });
    const cell = grid.locator("[aria-rowindex='2'] [role=gridcell]").nth(at);
    const [headEnd, cellEnd] = await Promise.all([head, cell].map((place) => place.evaluate(endOfText)));
    assert.ok(Math.abs(headEnd - cellEnd) < 1, `${column}: the head ends at ${headEnd}, the value at ${cellEnd}`);
  }
  await page.getByRole("button", { name: "price" }).click();
  await page.getByRole("button", { name: "price" }).click();
  await eventually(async () => assert.equal((await firstCells())[3], "999"));
  await page.getByText("Columns", { exact: true }).click();
  await page.getByLabel("nested").uncheck();
  await eventually(async () => assert.equal((await firstCells()).length, 4));
  await page.getByLabel("nested").check();
  await eventually(async () => assert.equal((await firstCells()).length, 5));
  await page.getByText("Columns", { exact: true }).click();
  await grid.locator(".nested").first().click();
  await eventually(async () => assert.match(await page.locator(".opened .cm-content").textContent(), /"big": 9007199254740993123/));
  const csv = await copiedBy(page, () => page.getByRole("button", { name: "CSV" }).click());
  assert.equal(csv.split("\r\n")[0], "id,name,nested,price,big");
  assert.equal(csv.split("\r\n")[1], '0,row 2000,"{""deep"":[0],""big"":9007199254740993123}",0,9007199254740993123');
  const json = await copiedBy(page, () => page.getByRole("button", { name: "Copy", exact: true }).click());
  assert.equal(JSON.parse(json).length, 2_000);
  assert.deepEqual(notes.errors, []);
  await context.close();
});

test("the search finds what is not on the screen", async () => {
  const { page, context } = await openPage(browser, shop.page);
  await setScript(page, scriptFor(upstream.address, "/rows"));
  await runAndWait(page);
  await page.getByRole("button", { name: "Search in the result" }).click();
  await page.locator(".result-view .cm-search input[name=search]").pressSequentially("needle");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".result-view .cm-content").textContent.includes("needle"));
  await page.waitForSelector(".result-view .cm-searchMatch-selected");
  assert.equal(await page.locator(".result-view .cm-search [role=status]").textContent(), "1 match");
  // Words that are selected are those that are searched.
  await page.locator(".result-view .cm-content").focus();
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("Shift+End");
  await page.keyboard.press("Control+f");
  await page.waitForFunction(() => document.querySelector(".result-view .cm-search input").value === "[");
  await page.locator(".result-view .cm-search input").fill("needle");
  await page.keyboard.press("F3");
  await page.waitForSelector(".result-view .cm-searchMatch-selected");
  await page.keyboard.press("End");
  await page.keyboard.insertText("!");
  await page.waitForFunction(() => document.querySelector(".result-view .cm-search [role=status]").textContent === "no match");
  await page.keyboard.press("Escape");
  await page.waitForSelector(".result-view .cm-search", { state: "detached" });
  // The search was asked for once: the next result comes without it, and leaves the focus where it is.
  await page.locator(".editor .cm-content").focus();
  await runAndWait(page);
  await resultText(page);
  assert.equal(await page.locator(".result-view .cm-search").count(), 0);
  assert.ok(await page.evaluate(() => document.activeElement.closest(".editor") !== null));
  await context.close();
});

test("HTML is shown in a frame without rights, and no script of an answer runs", async () => {
  const { page, context, notes } = await openPage(browser, shop.page);
  await page.evaluate(() => (window.hacked = 0));
  await setScript(page, `create table t on select get from "${upstream.address}/page"\nx = select html from t\nreturn "{x[0]}"\n`);
  await runAndWait(page);
  for (const view of ["JSON", "Text", "Page", "Raw"]) {
    await page.getByRole("tab", { name: view, exact: true }).click();
    if (view === "Page") {
      const frame = page.frameLocator(".result-view iframe");
      await frame.locator("h1").waitFor();
      assert.equal(await page.locator(".result-view iframe").getAttribute("sandbox"), "");
    }
  }
  // The body of the exchange as well.
  await setScript(page, scriptFor(upstream.address, "/html"));
  await runAndWait(page);
  await page.getByRole("tab", { name: /^Calls/ }).click();
  await page.locator(".call-row:not(.call-head)").first().click();
  await page.waitForSelector(".details .cm-content, .details .quiet, .details .pairs");
  assert.equal(await page.evaluate(() => window.hacked), 0);
  assert.equal(notes.dialogs, 0);
  assert.deepEqual(notes.errors, []);
  assert.deepEqual(notes.violations, []);
  await context.close();
});

test("deep, large and binary answers", async () => {
  const { page, context, notes } = await openPage(browser, shop.page);
  await setScript(page, scriptFor(upstream.address, "/deep"));
  await runAndWait(page);
  await eventually(async () => assert.match(await resultText(page), /"a": 1/));
  // Deeper than anything that is read: the run ends, and says so.
  await setScript(page, scriptFor(upstream.address, "/abyss"));
  await runAndWait(page);
  await page.waitForSelector(".run-failed");
  await eventually(async () => assert.match(await resultText(page), /deep|nest/i));
  await setScript(page, scriptFor(upstream.address, "/binary"));
  await runAndWait(page);
  await eventually(async () => assert.ok((await page.locator(".result").textContent()).length > 10));
  await setScript(page, scriptFor(upstream.address, "/large"));
  await runAndWait(page);
  await eventually(async () => {
    const text = await resultText(page);
    assert.ok(text.length > 10_000_000, `${text.length} characters: ${text.slice(0, 300)}`);
    assert.ok(text.includes("row 104999 "));
  });
  assert.deepEqual(notes.errors, []);
  await context.close();
});

test("an answer of 100 MB ends the run with words, not the page", async () => {
  const { page, context, notes } = await openPage(browser, shop.page);
  await setScript(page, scriptFor(upstream.address, "/huge"));
  await runAndWait(page);
  await page.waitForSelector(".run-failed");
  await eventually(async () => assert.match(await resultText(page), /exceeds limit/));
  await setScript(page, "return 1");
  await runAndWait(page);
  assert.deepEqual(notes.errors, []);
  await context.close();
});

test("a script that fails says where and why", async () => {
  const { page, context } = await openPage(browser, shop.page);
  await setScript(page, "-- one\nreturn select * form shop.search\n");
  await page.keyboard.press("Control+Enter");
  await page.waitForFunction(() => /Line 2|line 2/.test(document.body.textContent));
  await context.close();
});
