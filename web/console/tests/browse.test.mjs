// Tables and routes beside the script: what they say, trying them, and lists that are long or hostile.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually, openPage, runAndWait, scriptText, setScript, startApp, startBrowser, stopAll } from "./harness.mjs";
import { startUpstream } from "./upstream.mjs";

const EVIL = `<img src=x onerror="window.hacked = 1"><script>window.hacked = 2</script>`;
const RUNS_KEPT = 200;
const LISTED = 300;

let browser;
let app;
let held;
before(async () => {
  held = [];
  const upstream = await startUpstream({
    "/item": (request, response) => {
      const { searchParams } = new URL(request.url, "http://x");
      const answer = () => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(Object.fromEntries(searchParams)));
      if (searchParams.get("id") === "slow") held.push(answer);
      else answer();
    },
  });
  browser = await startBrowser();
  app = await startApp({
    "qlio.json": JSON.stringify({ maxNestedRequests: 100 }),
    "tables/items.ql": `/* Things that *somebody* sells. */
create table items
  on select get from "${upstream.address}/item?id={^id}&size={size}&colour={colour}"
    using defaults size = 'small'
    using headers 'x-shop' = 'main'
  on insert post to "${upstream.address}/item"
`,
    "routes/items.ql": "/* One thing. */\nreturn select id as id, size as size, colour as colour from items where id = '{id}' and colour = '{colour}'\n  via route '/items/{id}?colour={colour}' using method get\n",
    "routes/echo.ql": "return { \"got\": \"{words}\" }\n  via route '/echo' using method post\n",
    "routes/evil.ql": `/* ${EVIL} [link](javascript:window.hacked=3) **bold** */\nreturn "${EVIL.replaceAll('"', '\\"')}"\n  via route '/evil' using method get\n`,
    ...Object.fromEntries(Array.from({ length: LISTED + 20 }, (_, at) => [`tables/many/t${at}.ql`, `create table many.t${String(at).padStart(3, "0")} on select get from "http://127.0.0.1:1/"\n`])),
  });
});
after(stopAll);

test("a table says what it asks for, with what, and who uses it", async () => {
  const { page, context, notes } = await openPage(browser, app.page);
  await page.getByRole("button", { name: "items", exact: true }).click();
  await page.locator(".documentation em").getByText("somebody").waitFor();
  const select = page.getByRole("region", { name: "select" });
  assert.match(await select.textContent(), /select GET http:\/\/127\.0\.0\.1:\d+\/item\?id=\{\^id\}&size=\{size\}/);
  const params = select.getByRole("listitem");
  await eventually(async () => assert.deepEqual(await params.allTextContents(), ["idrequired", 'size default "small"', "colour", "x-shop: main"]));
  assert.match(await page.getByRole("region", { name: "insert" }).textContent(), /insert POST/);
  assert.deepEqual(await page.getByRole("region", { name: "Used by" }).getByRole("listitem").allTextContents(), ["GET /items/{id}?colour={colour}"]);
  await setScript(page, "");
  await page.getByRole("button", { name: "Insert a select" }).click();
  await eventually(async () => assert.equal(await scriptText(page), "select * from items where id = ''\n"));
  assert.deepEqual(notes.errors, []);
  await context.close();
});

test("a route is tried with its path, its query and a body, and shows the answer to what was asked last", async () => {
  const { page, context, notes } = await openPage(browser, app.page);
  await page.getByRole("tab", { name: "Routes" }).click();
  await page.getByRole("button", { name: /GET \/items/ }).click();
  await page.getByText("One thing.").waitFor();
  const body = page.locator(".answer .cm-content");
  await page.getByLabel("id", { exact: true }).fill("a/b c");
  await page.getByLabel("colour", { exact: true }).fill("grün & blau");
  await page.getByRole("button", { name: "Send" }).click();
  await eventually(async () => assert.deepEqual(JSON.parse(await body.textContent()), [{ id: "a/b c", size: "small", colour: "grün & blau" }]));
  await page.locator(".answer summary").click();
  assert.match(await page.locator(".answer pre").textContent(), /content-type: application\/json/);
  // The first answer comes after that to the second question.
  await page.getByLabel("id", { exact: true }).fill("slow");
  await page.getByRole("button", { name: "Send" }).click();
  await eventually(() => assert.equal(held.length, 1));
  await page.getByLabel("id", { exact: true }).fill("fast");
  await page.getByRole("button", { name: "Send" }).click();
  await eventually(async () => assert.equal(JSON.parse(await body.textContent())[0].id, "fast"));
  const late = page.waitForResponse((response) => response.url().includes("/items/slow"));
  held[0]();
  await (await late).finished();
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  assert.equal(JSON.parse(await body.textContent())[0].id, "fast");
  await page.getByRole("button", { name: /POST \/echo/ }).click();
  await page.getByLabel("Body, as JSON").fill('{"words":"Grüße"}');
  await page.getByRole("button", { name: "Send" }).click();
  await eventually(async () => assert.deepEqual(JSON.parse(await body.textContent()), { got: "Grüße" }));
  // A server that is away is told.
  await page.route("**/echo", (route) => route.abort());
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText(/^The request failed: /).waitFor();
  assert.deepEqual(notes.errors, []);
  await context.close();
});

test("documentation of routes, and what they answer, is text, never a script", async () => {
  // As the server tells it, and as one would that escapes nothing.
  for (const info of [undefined, `${EVIL}<strong>bold</strong><iframe srcdoc="${EVIL.replaceAll('"', "&quot;")}"></iframe><a href="javascript:window.hacked=4">link</a>`]) {
    const { page, context, notes } = await openPage(browser, app.page, {
      before: (fresh) =>
        fresh.route("**/console/catalog", async (route) => {
          const response = await route.fetch();
          const catalog = await response.json();
          if (info) for (const one of catalog.routes) one.info = info;
          await route.fulfill({ response, json: catalog });
        }),
    });
    await page.getByRole("tab", { name: "Routes" }).click();
    await page.getByRole("button", { name: /GET \/evil/ }).click();
    await page.locator(".documentation strong").getByText("bold").waitFor();
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator(".answer .cm-content").getByText("window.hacked = 2").waitFor();
    assert.equal(await page.locator(".pane-browse :is(img, script, iframe, a[href^=javascript])").count(), 0);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.deepEqual([notes.dialogs, notes.errors], [0, []]);
    // Chromium tells of attributes with scripts while the page only reads them, to leave them out.
    if (!info) assert.deepEqual(notes.violations, []);
    await context.close();
  }
});

test("a long list shows its beginning, says how much more there is, and a filter finds the rest", async () => {
  const { page, context } = await openPage(browser, app.page);
  const names = page.getByRole("list", { name: "Tables" }).locator(".entry");
  await eventually(async () => assert.equal(await names.count(), LISTED));
  await page.getByText("… and 21 more: filter to see them.").waitFor();
  await page.getByLabel("Filter tables").fill("T319");
  await eventually(async () => assert.deepEqual(await names.allTextContents(), ["many.t319"]));
  await page.getByLabel("Filter tables").fill("nothing has this name");
  await eventually(async () => assert.equal(await names.count(), 0));
  await context.close();
});

test("of the runs the last 200 are remembered, and those that are pinned", async () => {
  const { page, context } = await openPage(browser, app.page, {
    before: (fresh) =>
      fresh.addInitScript((count) => {
        if (localStorage["qlio.history"]) return;
        const past = (at) => ({ id: `p${at}`, text: `return ${at}`, at: 1e12 + at, elapsed: 7, state: at % 2 ? "done" : "failed", calls: at, isPinned: at === 0 });
        localStorage["qlio.history"] = JSON.stringify(Array.from({ length: count }, (_, at) => past(count - 1 - at)));
      }, RUNS_KEPT),
  });
  await page.getByRole("tab", { name: "Runs" }).click();
  const runs = page.getByRole("list", { name: "Runs" }).getByRole("listitem");
  await eventually(async () => assert.equal(await runs.count(), RUNS_KEPT));
  assert.match(await runs.nth(RUNS_KEPT - 2).textContent(), /^return 1.*done · 7 ms · 1 call$/);
  assert.match(await runs.nth(RUNS_KEPT - 3).textContent(), /^return 2.*failed · 7 ms · 2 calls$/);
  await setScript(page, "return 'the newest'");
  await runAndWait(page);
  await eventually(async () => assert.match(await runs.first().textContent(), /the newest.*done/));
  assert.equal(await runs.count(), RUNS_KEPT);
  // The oldest that is not pinned has gone, here and in what is kept.
  assert.match(await runs.last().textContent(), /^return 0/);
  assert.match(await runs.nth(RUNS_KEPT - 2).textContent(), /^return 2/);
  await page.reload();
  await page.getByRole("tab", { name: "Runs" }).click();
  await eventually(async () => assert.equal(await runs.count(), RUNS_KEPT));
  await context.close();
});

test("two runs compared say how many calls are not drawn", async () => {
  const { page, context } = await openPage(browser, app.page);
  const ids = Array.from({ length: 45 }, (_, at) => `'${at}'`).join(", ");
  await setScript(page, `return select id from items where id in (${ids})`);
  await runAndWait(page);
  await setScript(page, "return select id from items where id = 'one'");
  await runAndWait(page);
  await page.getByRole("tab", { name: "Runs" }).click();
  for (const box of await page.getByLabel(/^Compare the run/).all()) await box.check();
  const compared = page.getByRole("group", { name: "Two runs compared" });
  await eventually(async () => assert.equal(await compared.locator(".compare-bars li").count(), 41));
  assert.equal(await compared.getByText("… and 5 more", { exact: true }).count(), 1);
  assert.match(await compared.textContent(), / 1 call(?!s).* 45 calls/);
  await context.close();
});
