// Following runs: calls, plan, steps, stopping; and taking scripts elsewhere.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { PATIENCE_MS, PRODUCTS, copiedBy, eventually, openPage, readyToRun, resultText, runAndWait, scriptText, setScript, startBrowser, startShop, stopAll } from "./harness.mjs";
import { startProxy } from "./proxy.mjs";
import { startUpstream } from "./upstream.mjs";

const CLIPBOARD = { permissions: ["clipboard-read", "clipboard-write"] };
const FAN_OUT = `ids = ["ln-310", "ln-118", "ln-402", "ln-207", "ln-155", "ln-310x", "ln-118x", "ln-402x"]
return select id from shop.details where id in ("{ids}")
`;

let browser;
let shop;
let upstream;
let closed;
let held;
before(async () => {
  closed = 0;
  held = [];
  upstream = await startUpstream({
    "/slow": (request) => request.socket.on("close", () => (closed += 1)),
    "/held": (_request, response) => held.push(response),
    "/fast": JSON.stringify({ ok: true }),
    "/refuse": (_request, response) => response.writeHead(503, { "content-type": "application/json" }).end('{"why":"busy"}'),
  });
  [browser, shop] = await Promise.all([startBrowser(), startShop()]);
});
after(stopAll);

const call = (page, words) => page.getByRole("row").filter({ hasText: words });

test("calls are bars of their phases with sums below, and groups where they are many", async () => {
  const { page, context, notes } = await openPage(browser, shop.page);
  await setScript(page, PRODUCTS);
  await runAndWait(page);
  await page.getByRole("tab", { name: "Calls (11)" }).click();
  await eventually(async () =>
    assert.match(await page.locator(".totals").textContent(), /^11 calls0 B sent[\d.]+ KB received\d+ ms in all\d+ ms together$/),
  );
  const responses = notes.received.map((frame) => JSON.parse(frame)).filter(({ type }) => type === "statement-response");
  assert.equal(responses.length, 11);
  for (const { data } of responses) {
    // Those with fractions, which the bars are drawn of. A thread that is busy may add time between phases,
    // which belongs to none of them; no phase may be longer than the whole.
    const { time, ...phases } = data.exact;
    const sum = Object.values(phases).reduce((all, length) => all + Math.max(0, length), 0);
    assert.ok(sum > 0 && sum <= time + 1, JSON.stringify(data.exact));
  }
  const wait = call(page, "search/products").locator(".phase-wait");
  const widthOf = async () => (await wait.boundingBox()).width;
  await eventually(async () => assert.ok((await widthOf()) > 10, "the bar is visible"));
  const width = await widthOf();
  // Zoom by the place of the key, and back.
  await page.getByRole("treegrid", { name: "Calls" }).focus();
  await page.keyboard.press("w");
  await eventually(async () => assert.ok((await widthOf()) > width * 1.3));
  await page.keyboard.press("0");
  await eventually(async () => assert.ok(Math.abs((await widthOf()) - width) < 2));
  await page.keyboard.press("/");
  await page.keyboard.type("reviews/ln-310");
  await eventually(async () => assert.equal(await page.locator(".call-row:not(.call-head)").count(), 1));
  await setScript(page, FAN_OUT);
  await runAndWait(page);
  await page.getByLabel("Filter calls").fill("");
  const group = page.locator(".call-row.group");
  await eventually(async () => assert.match(await group.textContent(), /8 × GET/));
  await group.click();
  await eventually(async () => assert.equal(await page.locator(".call-row.inner").count(), 8));
  await eventually(async () => assert.ok((await page.locator(".outcome-bad.inner").count()) > 0, "what failed is marked"));
  await context.close();
});

test("details of a call, and its command, which answers alike", async () => {
  const { page, context } = await openPage(browser, shop.page, { profile: CLIPBOARD });
  await setScript(page, 'return select title from shop.search where keyword = "tent"');
  await runAndWait(page);
  await page.getByRole("tab", { name: /^Calls/ }).click();
  await call(page, "search/products").click();
  await page.getByRole("tab", { name: "Params (1)" }).click();
  await eventually(async () => assert.match(await page.locator(".pairs").textContent(), /keywordtent/));
  await page.getByRole("tab", { name: "Response" }).click();
  const body = page.locator(".details .cm-content");
  await eventually(async () => assert.match(await body.textContent(), /[{[]/));
  const shown = await body.textContent();
  const command = await copiedBy(page, () => page.getByRole("button", { name: "Copy as cURL" }).click());
  const { stdout } = await promisify(execFile)("sh", ["-c", `${command} --silent`]);
  assert.ok(shown.includes(Object.keys(JSON.parse(stdout))[0]), command);
  await context.close();
});

test("the plan shows before the run, and its times after it", async () => {
  const { page, context } = await openPage(browser, shop.page);
  await setScript(page, PRODUCTS);
  const rows = page.getByRole("treegrid", { name: "Statements of the plan" }).getByRole("row");
  await rows.first().waitFor();
  const summary = page.locator(".plan-summary");
  await eventually(async () => assert.match(await summary.textContent(), /total = slowest of lines 2, 3, after line 1.*calls/));
  await runAndWait(page);
  await page.getByText(/^total \d+ ms; critical path: line 1 \(\d+ ms\) → line [23]/).waitFor();
  await eventually(async () =>
    assert.match(await rows.nth(1).getAttribute("aria-label"), /line 2, .*details.*, done, \d+ ms, 5 of 5 calls, 5 rows/),
  );
  await eventually(async () => assert.ok((await page.locator(".plan-row.critical").count()) >= 2));
  await page.click(".editor .cm-content");
  await page.keyboard.type(" ");
  const marks = page.locator(".cm-marks .mark-done:visible");
  await eventually(async () => assert.equal(await marks.count(), 0, "an edit takes the marks away"));
  await context.close();
});

test("the plan says what waits, runs with how many calls, is done, has failed and was skipped", async () => {
  const { page, context } = await openPage(browser, shop.page);
  await setScript(
    page,
    `create table held on select get from "${upstream.address}/held?id={id}"\n` +
      `create table fast on select get from "${upstream.address}/fast"\n` +
      `create table refused on select get from "${upstream.address}/refuse"\n` +
      `a = select * from held where id in ("1", "2")\n` +
      `b = select * from refused where 1 = "{a}"\n` +
      `c = select * from fast || b\n` +
      `return { "a": "{a}", "b": "{b}", "c": "{c}" }\n`,
  );
  await readyToRun(page);
  await page.keyboard.press("Control+Enter");
  const says = (words) => page.getByRole("row", { name: words }).waitFor();
  await says(/^line 4, a = .*, runs, 0 of 2 calls/);
  await says(/^line 5, b = .*, waits/);
  await says(/^line 6, c = select from fast, done, \d+ ms, 1 of 1 calls/);
  await says(/^line 6, c = .*fallback.*, skipped/);
  await eventually(async () => assert.equal(held.length, 2));
  held[0].writeHead(200, { "content-type": "application/json" }).end("{}");
  await says(/^line 4, a = .*, runs, 1 of 2 calls/);
  // It is asked once more, and cut again.
  held[1].destroy();
  await eventually(async () => assert.equal(held.length, 3));
  held[2].destroy();
  await says(/^line 4, a = .*, done, \d+ ms, 3 of 3 calls/);
  await says(/^line 5, b = .*, failed/);
  await page.waitForSelector(".run-failed");
  await page.getByRole("tab", { name: "Calls" }).click();
  await page.locator(".call-row.outcome-bad").filter({ hasText: "retry" }).locator(".phase-failed").waitFor();
  await eventually(async () =>
    assert.deepEqual(await page.locator(".call-row:not(.call-head) > :nth-child(2)").allTextContents(), ["200", "✕ failed", "✕ failed", "200", "✕ 503"]),
  );
  await context.close();
});

test("steps: marks, variables, to a line, to the end", async () => {
  const { page, context } = await openPage(browser, shop.page);
  await setScript(page, PRODUCTS);
  await readyToRun(page);
  await page.keyboard.press("Control+Shift+Enter");
  const step = (number) => page.waitForSelector(`.step[data-step="${number}"]`);
  await step(1);
  await page.waitForSelector(".cm-marks .mark-next");
  const changed = page.locator(".variable.changed dt");
  await eventually(async () => assert.match(await changed.textContent(), /^ids/));
  await page.keyboard.press("F10");
  await step(2);
  await eventually(async () => assert.match(await changed.textContent(), /^(details|reviews)/));
  await eventually(async () => assert.match(await page.locator(".step").textContent(), /next: line [23]/));
  await page.keyboard.press("F5");
  await page.waitForSelector(".run-done");
  await eventually(async () => assert.match(await resultText(page), /ln-310/));
  // To the line of the cursor.
  await page.click(".editor .cm-content");
  await readyToRun(page);
  await page.keyboard.press("Control+Shift+Enter");
  await step(1);
  await page.keyboard.press("Control+End");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Control+F10");
  await page.waitForFunction(() => document.querySelector(".step")?.textContent.includes("next: line 4"));
  await page.keyboard.press("Shift+F5");
  await page.waitForSelector(".run-cancelled");
  await page.getByText("session has ended").waitFor();
  await context.close();
});

test("a step-by-step run that the server ends says so", async () => {
  const impatient = await startShop({ settings: { wsSessionIdle: 1_500 } });
  const { page, context } = await openPage(browser, impatient.page);
  await setScript(page, PRODUCTS);
  await readyToRun(page);
  await page.keyboard.press("Control+Shift+Enter");
  await page.getByRole("alert").filter({ hasText: "The server has ended this run: it was not stepped for too long" }).waitFor();
  await page.waitForSelector(".run-cancelled");
  assert.equal(await page.locator(".step").count(), 0);
  await setScript(page, "return 1");
  await runAndWait(page);
  await page.waitForSelector(".run-done");
  await context.close();
});

test("stopping ends the run at once, and the upstream sees it", async () => {
  const { page, context } = await openPage(browser, shop.page);
  await setScript(page, `create table t on select get from "${upstream.address}/slow"\nreturn select * from t\n`);
  await readyToRun(page);
  await page.keyboard.press("Control+Enter");
  await page.waitForFunction(() => document.querySelector(".mark-running") !== null);
  const before = closed;
  const stopped = Date.now();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.waitForSelector(".run-cancelled");
  const deadline = Date.now() + PATIENCE_MS;
  while (closed === before && Date.now() < deadline) await page.waitForTimeout(5);
  assert.equal(closed, before + 1);
  console.log(`stopped after ${Date.now() - stopped} ms`);
  await context.close();
});

test("the button stops a run as well, and the end of a run is said once", async () => {
  const { page, context } = await openPage(browser, shop.page);
  const before = closed;
  // What a screen reader is told, from the beginning.
  await page.evaluate(() => {
    window.said = [];
    const region = document.querySelector("[role=status][aria-live=polite]");
    new MutationObserver(() => window.said.push(region.textContent)).observe(region, { childList: true, characterData: true, subtree: true });
  });
  const said = () => page.evaluate(() => window.said);
  await setScript(page, `create table t on select get from "${upstream.address}/slow"\nreturn select * from t\n`);
  await readyToRun(page);
  await page.keyboard.press("Control+Enter");
  await page.waitForFunction(() => document.querySelector(".mark-running") !== null);
  await page.getByRole("button", { name: "Stop" }).click();
  await page.waitForSelector(".run-cancelled");
  await eventually(() => assert.equal(closed, before + 1));
  await setScript(page, PRODUCTS);
  await runAndWait(page);
  await eventually(async () => assert.match((await said()).at(-1), /^Run 2 finished, 11 calls, \d+ ms\.$/));
  assert.equal((await said()).length, 2, JSON.stringify(await said()));
  assert.match((await said())[0], /^Run 1 was stopped, 1 call, \d+ ms\.$/);
  await context.close();
});

test("a run whose connection goes is lost, not run again, and the next one runs", async () => {
  let asked = 0;
  const counting = await startUpstream({ "/slow": () => (asked += 1) });
  const proxy = await startProxy(shop.address, "/p");
  const { page, context, notes } = await openPage(browser, `${proxy.address}/console`);
  await setScript(page, `create table t on select get from "${counting.address}/slow"\nreturn select * from t\n`);
  await readyToRun(page);
  await page.keyboard.press("Control+Enter");
  await eventually(() => assert.equal(asked, 1));
  proxy.cut();
  await page.waitForSelector(".run-lost");
  await page.getByRole("alert").filter({ hasText: "The connection was lost before the end" }).waitFor();
  await page.waitForSelector(".connection-open");
  await setScript(page, "return 'goes on'");
  await runAndWait(page);
  await eventually(async () => assert.match(await resultText(page), /goes on/));
  assert.equal(asked, 1);
  assert.deepEqual(notes.errors, []);
  await context.close();
});

test("links, URIs and commands for a script", async () => {
  const { page, context } = await openPage(browser, shop.page, { profile: CLIPBOARD });
  const copied = (choice) =>
    copiedBy(page, async () => {
      await page.getByRole("button", { name: "Share" }).click();
      await page.getByRole("menuitem", { name: choice }).click();
    });
  await setScript(page, "return \"it's\"");
  const { stdout } = await promisify(execFile)("sh", ["-c", `${await copied("Copy as cURL")} --silent`]);
  assert.equal(stdout, '"it\'s"');
  const answer = await fetch(await copied("Copy the URI that runs it"));
  assert.equal(await answer.text(), '"it\'s"');
  assert.match(await copied("Copy a link to this script"), /\/console\?s=return/);
  const long = `-- ${"long ".repeat(3_000)}\nreturn ${Array.from({ length: 3_000 }, (_, at) => `"${(at * 7919) % 10_007}"`).join(" || ")}`;
  await setScript(page, long);
  const link = await copied("Copy a link to this script");
  assert.match(link, /\/console#s=[\w-]+$/);
  await setScript(page, "return 1");
  await page.goto("about:blank");
  await page.goto(link);
  await page.waitForSelector(".editor .cm-content");
  await eventually(async () => assert.equal(await scriptText(page), long));
  await page.reload();
  await page.waitForSelector(".editor .cm-content");
  await eventually(async () => assert.equal(await scriptText(page), long));
  await context.close();
});

test("runs are remembered, searched, pinned and compared", async () => {
  const { page, context } = await openPage(browser, shop.page);
  await setScript(page, 'return "one"');
  await runAndWait(page);
  await setScript(page, PRODUCTS);
  await runAndWait(page);
  await page.getByRole("tab", { name: "Runs" }).click();
  const runs = page.getByRole("list", { name: "Runs" }).getByRole("listitem");
  await eventually(async () => assert.equal(await runs.count(), 2));
  await page.getByLabel("Search runs").fill("lantern");
  await eventually(async () => assert.equal(await runs.count(), 1));
  await page.getByLabel("Search runs").fill("");
  await page.getByRole("button", { name: "Pin this run" }).last().click();
  for (const box of await page.getByLabel(/^Compare the run/).all()) await box.check();
  await page.getByRole("group", { name: "Two runs compared" }).waitFor();
  await page.reload();
  await page.getByRole("tab", { name: "Runs" }).click();
  await page.getByRole("button", { name: "Forget all" }).click();
  await eventually(async () => assert.equal(await runs.count(), 1));
  await page.getByRole("button", { name: /return "one"/ }).last().click();
  await eventually(async () => assert.equal(await scriptText(page), 'return "one"'));
  await context.close();
});

test("without WebSockets, scripts run over HTTP and the page says what is missing", async () => {
  const { page, context, notes } = await openPage(browser, shop.page, {
    before: (fresh) => fresh.addInitScript(() => delete window.WebSocket),
  });
  await page.getByText("There is no WebSocket to this server").waitFor();
  await setScript(page, 'return select id from shop.search where keyword = "tent"');
  await runAndWait(page);
  await eventually(async () => assert.match(await resultText(page), /tn-/));
  await page.getByRole("tab", { name: "Calls (1)" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Debug" }).getAttribute("title"), "Without a WebSocket, scripts run in one go.");
  assert.deepEqual(notes.errors, []);
  await context.close();
});

test("a server that tells only progress shows the plan and no empty lists of calls", async () => {
  const quiet = await startShop({ settings: { trace: "progress" } });
  const { page, context } = await openPage(browser, quiet.page);
  await setScript(page, PRODUCTS);
  await runAndWait(page);
  await page.getByText(/^total \d+ ms; critical path/).waitFor();
  await page.getByRole("tab", { name: "Calls" }).click();
  await page.getByText("This run made no call that is shown here.").waitFor();
  // Steps are told of, with what they change.
  await page.keyboard.press("Control+Shift+Enter");
  await page.waitForSelector('.step[data-step="1"]');
  await page.locator(".variable.changed dt").getByText("ids").waitFor();
  await page.keyboard.press("F5");
  await page.waitForSelector(".run-done");
  await context.close();
});

test("a server that tells nothing runs scripts, and says what it does not show", async () => {
  const silent = await startShop({ options: [], settings: { console: true, trace: "none", metadata: "none", adhoc: { enabled: true } } });
  const { page, context, notes } = await openPage(browser, silent.page);
  await setScript(page, PRODUCTS);
  await page.getByText("This server shows no plans.").waitFor();
  await page.getByText("This server shows no tables.").waitFor();
  await runAndWait(page);
  await eventually(async () => assert.match(await resultText(page), /ln-310/));
  await page.getByRole("tab", { name: "Calls" }).click();
  await page.getByText("This run made no call that is shown here.").waitFor();
  const debug = page.getByRole("button", { name: "Debug" });
  assert.equal(await debug.getAttribute("title"), "This server does not tell of steps.");
  await page.keyboard.press("Control+Shift+Enter");
  await debug.click({ force: true });
  await runAndWait(page);
  await eventually(async () => assert.match(await page.locator(".run-line").textContent(), /^Run 2done/));
  assert.deepEqual(notes.errors, []);
  await context.close();
});

test("below a path of a proxy, and asking nobody else", async () => {
  const proxy = await startProxy(shop.address, "/some/where");
  const { page, context, notes } = await openPage(browser, `${proxy.address}/console`);
  await page.waitForSelector(".connection-open");
  await setScript(page, PRODUCTS);
  await runAndWait(page);
  await eventually(async () => assert.match(await resultText(page), /ln-310/));
  await page.getByRole("button", { name: "shop.search" }).click();
  await page.getByText("keyword").first().waitFor();
  await page.getByRole("tab", { name: "Routes" }).click();
  await page.getByRole("button", { name: /\/products/ }).click();
  await page.getByLabel("keyword", { exact: true }).fill("tent");
  await page.getByRole("button", { name: "Send" }).click();
  await page.waitForSelector(".answer .good");
  assert.deepEqual([...notes.hosts], [new URL(proxy.address).host]);
  const policy = (await page.request.get(page.url())).headers()["content-security-policy"];
  assert.match(policy, /default-src 'none'|default-src 'self'/);
  assert.match(policy, /frame-ancestors 'none'/);
  assert.doesNotMatch(policy, /unsafe|\*|https?:/);
  assert.deepEqual(notes.violations, []);
  // A cut connection comes back, and nothing runs twice.
  const sent = notes.sent.filter((frame) => JSON.parse(frame).type === "script").length;
  proxy.cut();
  await page.waitForSelector(".connection-lost");
  await page.waitForSelector(".connection-open", { timeout: PATIENCE_MS });
  assert.equal(notes.sent.filter((frame) => JSON.parse(frame).type === "script").length, sent);
  await context.close();
});
