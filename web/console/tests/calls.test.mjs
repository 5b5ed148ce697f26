// The calls of a run: which of them have bars, what of them is not shown, and the archives that they are saved as.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { Validator } from "@cfworker/json-schema";
import { eventually, openPage, resultText, runAndWait, setScript, startApp, startBrowser, stopAll } from "./harness.mjs";
import { startUpstream } from "./upstream.mjs";

const schemas = createRequire(import.meta.url)("har-schema");

/** Exchanges of a run that the page keeps, as docs/console.md says. */
const SHOWN_MAX = 20_000;
/** Three statements that make so many calls each: some more than are shown, and no more than one statement may. */
const BIG = ["a", "b", "c"];
const CALLS_EACH = 6_700;

const json = (response, value, headers = {}, status = 200) =>
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));

let browser;
let app;
let asked;
before(async () => {
  asked = [];
  const upstream = await startUpstream({
    "/item": (request, response) => {
      asked.push(request.url);
      json(response, { id: new URL(request.url, "http://x").searchParams.get("id") });
    },
    "/ids": JSON.stringify(Array.from({ length: CALLS_EACH }, (_, at) => ({ id: `k${at}` }))),
    "/token": (_request, response) => json(response, { access_token: "PLANTED1", token_type: "bearer", expires_in: 3600 }),
    "/guarded": (request, response) => json(response, { sent: request.headers.authorization === "Bearer PLANTED1" }),
    "/moved": (_request, response) => json(response, {}, { location: "/item?id=moved" }, 302),
    "/words": (_request, response) => json(response, { words: "Grüße – 你好 😀" }, { "set-cookie": "session=PLANTED2" }),
    "/long": JSON.stringify({ long: "x".repeat(100_000) }),
    "/cut": (request) => request.socket.destroy(),
    "/refused": (_request, response) => json(response, { why: "no" }, {}, 404),
    "/echo": (request, response) => request.on("data", () => {}).on("end", () => json(response, { got: true })),
  });
  const table = (name, path, rest = "") => [`tables/${name}.ql`, `create table ${name} on select get from "${upstream.address}${path}"${rest}\n`];
  browser = await startBrowser();
  app = await startApp({
    "qlio.json": JSON.stringify({
      cache: { impl: "memory" },
      maxNestedRequests: CALLS_EACH,
      adhoc: { limits: { requests: 2 * SHOWN_MAX, cpuMs: 60_000, memoryMiB: 512 } },
      // The page has to take in what comes at full speed; a busy machine may be slow at that.
      wsMaxQueue: 256 * 1024 * 1024,
    }),
    ...Object.fromEntries([
      table("kept", "/item?id={^id}", " expires 600"),
      table("plain", "/item?id={^id}"),
      table("many", "/item?id={^id}&after={after}"),
      table("ids", "/ids"),
      table("guarded", "/guarded?n={^n}", ` using oauth2 client 'me' secret 'PLANTED3' token "${upstream.address}/token"`),
      table("moved", "/moved?token={^token}"),
      table("words", "/words"),
      table("long", "/long"),
      table("cut", "/cut"),
      table("refused", "/refused?q={^q}"),
      ["tables/echo.ql", `create table echo on insert post to "${upstream.address}/echo" using bodyTemplate 'echo.mu' type 'application/json'\n`],
      ["tables/echo.mu", '{"name":"{{params.name}}"}'],
    ]),
  });
});
after(stopAll);

const rowsOf = (page) => page.locator(".call-row:not(.call-head)");

/** What stands in the rows, and the phases of their bars. */
const bars = (page) =>
  rowsOf(page).evaluateAll((rows) =>
    rows.map((row) => ({
      name: row.querySelector(".call-name").textContent.replace(/127\.0\.0\.1:\d+/, "").replaceAll(/\s+/g, " ").trim(),
      status: row.children[1].textContent,
      phases: [...row.querySelectorAll(".phase")].map(({ className }) => className.replace("phase phase-", "")),
    })),
  );

async function openCalls(page, count) {
  await page.getByRole("tab", { name: `Calls (${count})`, exact: true }).click();
  await eventually(async () => assert.equal(await rowsOf(page).count(), count));
}

test("an answer of the cache is marked and has no bar, as nothing was sent", async () => {
  const { page, context, notes } = await openPage(browser, app.page);
  await setScript(page, "return select * from kept where id = 'once'");
  await runAndWait(page);
  await openCalls(page, 1);
  const [first] = await bars(page);
  assert.equal(first.name, "GET /item?id=once");
  assert.ok(first.phases.includes("wait"), JSON.stringify(first));
  await setScript(page, "a = select * from kept where id = 'once'\nb = select * from plain where id = 'twice'\nreturn [\"{a}\", \"{b}\"]");
  await runAndWait(page);
  await openCalls(page, 2);
  const [cached, sent] = await bars(page);
  assert.deepEqual(cached, { name: "GET cache /item?id=once", status: "200", phases: [] });
  assert.equal(sent.name, "GET /item?id=twice");
  assert.ok(sent.phases.includes("wait"), JSON.stringify(sent));
  assert.deepEqual(asked.filter((url) => url.includes("once")).length, 1);
  // It counts as a call, but no byte of it came over the network and no time passed.
  const responses = notes.received.map((frame) => JSON.parse(frame)).filter(({ type }) => type === "statement-response");
  const { bodySize } = responses.find(({ data }) => data.uri === undefined && data.body.includes("twice")).data;
  assert.match(await page.locator(".totals").textContent(), new RegExp(`^2 calls0 B sent${bodySize} B received`));
  await page.getByLabel("Filter calls").fill("cache");
  await eventually(async () => assert.deepEqual((await bars(page)).map(({ name }) => name), ["GET cache /item?id=once"]));
  // Its body is there to be looked at.
  await rowsOf(page).click();
  await eventually(async () => assert.match(await page.locator(".details .cm-content").textContent(), /"once"/));
  assert.deepEqual(notes.errors, []);
  await context.close();
});

test("what a statement asks for several times is one call and one bar", async () => {
  const { page, context } = await openPage(browser, app.page);
  await setScript(page, "return select id from plain where id in ('7', '3', '7')");
  await runAndWait(page);
  await openCalls(page, 2);
  assert.deepEqual((await bars(page)).map(({ name }) => name), ["GET /item?id=7", "GET /item?id=3"]);
  await eventually(async () => assert.deepEqual(JSON.parse(await resultText(page)), ["7", "3", "7"]));
  await page.getByRole("tab", { name: "Plan", exact: true }).click();
  await page.getByRole("row", { name: /, done, \d+ ms, 2 of 2 calls/ }).waitFor();
  await context.close();
});

test("a request for a token has a bar of its own, beside the call that waits for it, and tells no secret", async () => {
  const { page, context, notes } = await openPage(browser, app.page);
  await setScript(page, "return select sent from guarded where n = 1");
  await runAndWait(page);
  await eventually(async () => assert.match(await resultText(page), /true/));
  await openCalls(page, 2);
  const [call, token] = await bars(page);
  assert.equal(call.name, "GET /guarded?n=1");
  assert.equal(token.name, "POST token /token");
  for (const { phases } of [call, token]) assert.ok(phases.includes("wait"), JSON.stringify(phases));
  await rowsOf(page).nth(1).click();
  await page.getByText("No body is shown.").waitFor();
  await page.getByRole("tab", { name: "Headers" }).click();
  await eventually(async () => assert.match(await page.locator(".pairs").first().textContent(), /authorization\[redacted\]/));
  // The next run has the token.
  await setScript(page, "return select sent from guarded where n = 2");
  await runAndWait(page);
  await openCalls(page, 1);
  assert.doesNotMatch(notes.received.join("\n"), /PLANTED/);
  await context.close();
});

test("calls of earlier runs stay where that is wanted", async () => {
  const { page, context } = await openPage(browser, app.page);
  await setScript(page, "return select id from plain where id = 'one'");
  await runAndWait(page);
  await openCalls(page, 1);
  await page.getByLabel("Keep calls of earlier runs").check();
  await setScript(page, "return select id from plain where id = 'two'");
  await runAndWait(page);
  await eventually(async () => assert.deepEqual((await bars(page)).map(({ name }) => name), ["GET /item?id=one", "GET /item?id=two"]));
  await page.getByLabel("Keep calls of earlier runs").uncheck();
  await setScript(page, "return select id from plain where id = 'three'");
  await runAndWait(page);
  await eventually(async () => assert.deepEqual((await bars(page)).map(({ name }) => name), ["GET /item?id=three"]));
  await context.close();
});

test("a run with more calls than are shown says how many, and all others can be reached", async () => {
  const { page, context, notes } = await openPage(browser, app.page);
  // One after the other: so many requests at once wait for no upstream.
  const statements = BIG.map((name, place) => `${name} = select id from many where id in ("{keys}") and after = "{${BIG[place - 1] ?? "keys"}[0]}"`);
  const values = BIG.map((name) => `"${name}": "{${name}}"`);
  await setScript(page, `keys = select id from ids\n${statements.join("\n")}\nreturn { ${values.join(", ")} }`);
  await runAndWait(page);
  await page.locator(".run-line.run-done").waitFor();
  const all = 1 + BIG.length * CALLS_EACH;
  const calls = page.getByRole("tab", { name: /^Calls/ });
  await eventually(async () => assert.equal(await calls.textContent(), `Calls (${all})`));
  await calls.click();
  await page.locator(".totals").getByText(`${all - SHOWN_MAX} more are not shown`, { exact: true }).waitFor();
  assert.match(await page.locator(".totals").textContent(), new RegExp(`^${SHOWN_MAX} calls`));
  // All of the statements, one below the other; few of the rows exist at a time.
  const groups = page.locator(".call-row.group");
  await eventually(async () => assert.equal(await groups.count(), BIG.length));
  for (const place of [2, 1, 0]) await groups.nth(place).click();
  const grid = page.getByRole("treegrid", { name: "Calls" });
  const rows = 1 + BIG.length + SHOWN_MAX;
  await eventually(async () => assert.equal(await grid.getAttribute("aria-rowcount"), String(rows)));
  await grid.focus();
  await page.keyboard.press("End");
  const last = grid.locator(`[aria-rowindex="${rows}"]`);
  await last.waitFor();
  assert.ok((await rowsOf(page).count()) < 100);
  await last.click();
  await page.locator(".details .cm-content").filter({ hasText: '"id": "k' }).waitFor();
  await page.getByLabel("Filter calls").fill("id=k4321");
  await eventually(async () => assert.ok((await bars(page)).some(({ name }) => name === "GET /item?id=k4321&after=k0")));
  // Those that are not shown have been made all the same, and count in the plan.
  await page.getByRole("tab", { name: "Plan", exact: true }).click();
  for (const name of BIG) {
    await page.getByRole("row", { name: new RegExp(`${name} = .*, done, \\d+ ms, ${CALLS_EACH} of ${CALLS_EACH} calls`) }).waitFor();
  }
  assert.deepEqual(notes.errors, []);
  await context.close();
});

/** What of an archive is not as HTTP Archive 1.2 has it. */
function archiveProblems(archive) {
  const validator = new Validator(schemas.har, "7", false);
  for (const schema of Object.values(schemas)) if (schema !== schemas.har) validator.addSchema(schema);
  const problems = validator.validate(archive).errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`);
  // The schema says these with a word that validators do not know.
  for (const [place, { time, timings }] of archive.log?.entries?.entries() ?? []) {
    const { send, wait, receive, blocked, dns, connect } = timings;
    if (time < 0 || Math.min(send, wait, receive) < 0 || Math.min(blocked, dns, connect) < -1) problems.push(`entry ${place}: ${JSON.stringify({ time, timings })}`);
  }
  return problems;
}

async function savedHar(page) {
  const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save HAR" }).click()]);
  assert.equal(saved.suggestedFilename(), "qlio.har");
  return readFile(await saved.path(), "utf8");
}

const openHar = (page, name, text) =>
  page.locator("input[type=file]").setInputFiles({ name, mimeType: "application/json", buffer: Buffer.from(text) });

test("calls are saved as an HTTP archive 1.2 without secrets, and drawn again from it", async () => {
  const { page, context } = await openPage(browser, app.page);
  await setScript(page, "return select * from kept where id = 'archived'");
  await runAndWait(page);
  await setScript(
    page,
    [
      "a = select * from kept where id = 'archived'",
      "b = select * from guarded where n = 3",
      "c = select * from moved where token = 'PLANTED4'",
      "d = select * from words",
      "e = select * from long",
      "f = select * from cut || 1",
      "g = select * from refused where q = 'ü {x} 😀' || 1",
      "h = insert into echo (name) values ('Grüße')",
      'return ["{a}", "{b}", "{c}", "{d}", "{e}", "{f}", "{g}", "{h}"]',
    ].join("\n"),
  );
  await runAndWait(page);
  await page.getByRole("tab", { name: /^Calls \(\d+\)/ }).click();
  await eventually(async () => assert.ok((await rowsOf(page).count()) > 8));
  // An answer of the cache is no exchange over the network, so no archive has it.
  const drawn = (await bars(page)).filter(({ name }) => !name.includes(" cache "));
  const text = await savedHar(page);
  const archive = JSON.parse(text);
  assert.deepEqual(archiveProblems(archive), []);
  assert.doesNotMatch(text, /PLANTED/);
  const { version, creator, entries } = archive.log;
  assert.equal(version, "1.2");
  assert.equal(creator.name, "qlio");
  assert.equal(entries.length, drawn.length);
  const entryOf = (path) => entries.find(({ request }) => new URL(request.url).pathname === path);
  const { content } = entryOf("/words").response;
  assert.deepEqual(JSON.parse(content.text), { words: "Grüße – 你好 😀" });
  assert.equal(content.size, Buffer.byteLength(content.text), "bytes, not characters");
  assert.equal(entryOf("/moved").response.status, 302);
  assert.equal(entryOf("/moved").response.redirectURL, "/item?id=moved");
  assert.match(entryOf("/moved").request.url, /\?token=%5Bredacted%5D$/);
  assert.equal(entryOf("/cut").response.status, 0);
  assert.deepEqual(entryOf("/refused").request.queryString, [{ name: "q", value: "ü {x} 😀" }]);
  const { postData, bodySize } = entryOf("/echo").request;
  assert.deepEqual(postData, { mimeType: "application/json", params: [], text: '{"name":"Grüße"}' });
  assert.equal(bodySize, Buffer.byteLength(postData.text));

  // The same rows with the same bars, but for what an archive has no place for.
  const plain = (rows) => rows.map((row) => ({ ...row, name: row.name.replace(/ (token|redirect|retry) /, " ").replace("[redacted]", "%5Bredacted%5D") }));
  await openHar(page, "calls.har", text);
  await page.getByRole("tab", { name: `Calls (${entries.length})`, exact: true }).waitFor();
  await eventually(async () => assert.deepEqual(await bars(page), plain(drawn)));
  // And saved again, it is what it was.
  const again = JSON.parse(await savedHar(page));
  assert.deepEqual(archiveProblems(again), []);
  assert.deepEqual(again.log.entries.map(({ request }) => request.url), entries.map(({ request }) => request.url));
  await context.close();
});

test("what is no archive is refused with words, and what an archive holds is text", async () => {
  const { page, context, notes } = await openPage(browser, app.page);
  await page.getByRole("tab", { name: "Calls", exact: true }).click();
  const refuses = async (text, words) => {
    await openHar(page, "bad.har", text);
    await page.getByText(words).waitFor();
  };
  await refuses("{}", "this is no HTTP archive: it has no `log.entries`");
  await refuses("null", "this is no HTTP archive: it has no `log.entries`");
  await refuses("<html>", "this is no HTTP archive: SyntaxError");
  await refuses('{"log":{"entries":[null]}}', "entry 1 is no entry of an HTTP archive");
  await refuses('{"log":{"entries":[{"startedDateTime":"today"}]}}', "entry 1 has no `startedDateTime`");
  await refuses(JSON.stringify({ log: { entries: Array(20_001).fill(0) } }), "it has more than 20000 entries");
  // Calls of others belong to no statement: each is a row.
  const others = Array.from({ length: 9 }, () => ({ startedDateTime: "2026-01-01T00:00:00Z", time: 1, request: { url: "http://a.example/" } }));
  await openHar(page, "others.har", JSON.stringify({ log: { entries: others } }));
  await openCalls(page, 9);
  const evil = `<img src=x onerror="window.hacked = 1"><script>window.hacked = 2</script>`;
  const entry = {
    startedDateTime: "2026-01-01T00:00:00Z",
    time: "long",
    request: { method: evil, url: `javascript:window.hacked=3//${evil}`, headers: [null, { name: evil, value: evil }] },
    response: { status: 200, statusText: evil, headers: "none", content: { text: evil, mimeType: "text/html" } },
    timings: { wait: -7, send: null },
  };
  await openHar(page, "evil.har", JSON.stringify({ log: { entries: [entry] } }));
  await openCalls(page, 1);
  await rowsOf(page).click();
  for (const part of ["Request", "Headers", "Times", "Response"]) {
    await page.locator(".details").getByRole("tab", { name: part }).click();
  }
  await page.locator(".details .cm-content").getByText("window.hacked = 2").waitFor();
  assert.equal(await page.locator(".calls :is(img, script, a)").count(), 0);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.deepEqual([notes.dialogs, notes.errors, notes.violations], [0, [], []]);
  await context.close();
});
