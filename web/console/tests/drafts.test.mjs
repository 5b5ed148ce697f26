// Routes that are saved from the page, in development mode; the playground of formats; and all of it as
// somebody does who has just started the server.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { copyShop, eventually, openPage, readyToRun, resultText, runAndWait, scriptText, setScript, startApp, startBrowser, startShop, stopAll } from "./harness.mjs";

const ROUTE = "return 'one'\n  via route '/one'\n  using method get\n";

let browser;
before(async () => {
  browser = await startBrowser();
});
after(stopAll);

const dialog = (page) => page.getByRole("dialog", { name: "Save as a route" });

async function ask(address, wish, headers = {}) {
  const answer = await fetch(`${address}/console/routes`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(wish),
  });
  return { status: answer.status, said: await answer.json() };
}

test("from the first page to a changed, saved and tried route, without leaving the browser", async () => {
  const shop = await startShop({ folder: await copyShop() });
  const { page, context, notes } = await openPage(browser, `${shop.address}/`);
  const times = [];
  const began = Date.now();
  const lap = (words) => times.push(`${words} ${Date.now() - began} ms`);
  // What is here: the tables, and one of them to begin with.
  await page.getByRole("button", { name: "shop.search" }).click();
  await setScript(page, "");
  await page.getByRole("button", { name: "Insert a select" }).click();
  await eventually(async () => assert.match(await scriptText(page), /^select \* from shop\.search/));
  lap("a select to begin with");
  const select = "return select title as title, price.amount as price\n  from shop.search\n  where keyword = 'KEYWORD'\n  order by price\n";
  await setScript(page, select.replace("KEYWORD", "tent"));
  await runAndWait(page);
  await eventually(async () => assert.match(await resultText(page), /"price"/));
  lap("a result");
  await setScript(page, select.replace("KEYWORD", "{keyword}"));
  await page.keyboard.press("Control+s");
  await dialog(page).getByLabel("Path").fill("/cheapest?keyword={keyword}");
  assert.equal(await dialog(page).getByLabel("File below").inputValue(), "cheapest.ql");
  await page.getByRole("button", { name: "Show what changes" }).click();
  await dialog(page).getByText("Makes").waitFor();
  assert.match(await dialog(page).locator(".diff").textContent(), /\+ {3}via route '\/cheapest\?keyword=\{keyword\}'/);
  await page.getByRole("button", { name: "Write the file" }).click();
  await dialog(page).getByText("It is served from now on").waitFor();
  lap("the route is served");
  await page.getByRole("button", { name: "Try the route" }).click();
  await page.getByLabel("keyword", { exact: true }).fill("tent");
  await page.getByRole("button", { name: "Send" }).click();
  await page.waitForSelector(".answer .good");
  lap("the route is tried");
  // And changed: as it lies in the file now.
  await page.getByRole("button", { name: "Open its file" }).click();
  const changed = (await scriptText(page)).replace("order by price", "order by price desc");
  await setScript(page, changed);
  await page.keyboard.press("Control+s");
  await page.getByRole("button", { name: "Show what changes" }).click();
  await dialog(page).getByText("Changes").waitFor();
  await page.getByRole("button", { name: "Write the file" }).click();
  await dialog(page).getByText("It is served from now on").waitFor();
  const file = join(shop.app, "routes/cheapest.ql");
  assert.equal(await readFile(file, "utf8"), changed);
  const answer = await (await fetch(`${shop.address}/cheapest?keyword=tent`)).json();
  const prices = answer.map(({ price }) => price);
  assert.deepEqual(prices, [...prices].sort((a, b) => b - a));
  lap("the change is served");
  // And back.
  await page.getByRole("button", { name: "Undo" }).click();
  await dialog(page).getByText("Changes").waitFor();
  await eventually(async () => assert.doesNotMatch(await readFile(file, "utf8"), /desc/));
  console.log(`as a new user: ${times.join(", ")}`);
  assert.deepEqual(notes.errors, []);
  assert.deepEqual(notes.violations, []);
  await context.close();
});

test("a route with errors, or one that is taken, is not written", async () => {
  const app = await startApp({ "routes/one.ql": ROUTE });
  const { page, context } = await openPage(browser, app.page);
  await setScript(page, "return select * form nothing.there");
  await page.keyboard.press("Control+s");
  await dialog(page).getByLabel("Path").fill("/new");
  await page.getByRole("button", { name: "Show what changes" }).click();
  await dialog(page).locator(".warnings").getByText(/^error Q1001, line 1, column 17: /).waitFor();
  await page.waitForSelector('dialog .primary[aria-disabled="true"]');
  await page.keyboard.press("Escape");
  await setScript(page, "return 2");
  await page.keyboard.press("Control+s");
  await dialog(page).getByLabel("Path").fill("/one");
  await dialog(page).getByLabel("File below").fill("two.ql");
  await page.getByRole("button", { name: "Show what changes" }).click();
  await dialog(page).locator(".diff").waitFor();
  const { status, said } = await ask(app.address, { file: "two.ql", text: ROUTE.replace("'one'", "2"), version: null, write: true });
  assert.equal(status, 422, JSON.stringify(said));
  assert.match(said.message, /nothing was written/);
  assert.ok(said.problems.length > 0);
  await context.close();
});

test("what another has written meanwhile is shown, not overwritten", async () => {
  const app = await startApp({ "routes/one.ql": ROUTE });
  const file = join(app.folder, "routes/one.ql");
  const { page, context } = await openPage(browser, app.page);
  await page.getByRole("tab", { name: "Routes" }).click();
  await page.getByRole("button", { name: /\/one/ }).click();
  await page.getByRole("button", { name: "Open its file" }).click();
  await eventually(async () => assert.equal(await scriptText(page), ROUTE));
  await setScript(page, ROUTE.replace("'one'", "'mine'"));
  await page.keyboard.press("Control+s");
  await page.getByRole("button", { name: "Show what changes" }).click();
  await dialog(page).locator(".diff").waitFor();
  await writeFile(file, ROUTE.replace("'one'", "'theirs'"));
  await page.getByRole("button", { name: "Write the file" }).click();
  await dialog(page).getByText("holds something else by now").waitFor();
  assert.match(await readFile(file, "utf8"), /theirs/);
  await dialog(page).locator(".diff-removed").getByText("theirs").waitFor();
  await page.getByRole("button", { name: "Write the file" }).click();
  await dialog(page).getByText("It is served from now on").waitFor();
  assert.match(await readFile(file, "utf8"), /mine/);
  await context.close();
});

test("route files are for this page alone, below their folder, and only in development mode", async () => {
  const app = await startApp({ "routes/one.ql": ROUTE });
  const { host } = new URL(app.address);
  const wish = { file: "evil.ql", text: "return 1 via route '/evil' using method get", version: null, write: true };
  for (const headers of [
    { origin: "https://evil.example" },
    { origin: "null" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
  ]) {
    assert.equal((await ask(app.address, wish, headers)).status, 403, JSON.stringify(headers));
  }
  // A name that is pointed to this machine.
  const rebound = await new Promise((resolve, reject) => {
    const headers = { host: "evil.example", "content-type": "application/json" };
    const asked = request(`${app.address}/console/routes`, { method: "POST", headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    asked.on("error", reject);
    asked.end(JSON.stringify(wish));
  });
  assert.equal(rebound, 403);
  assert.equal((await ask(app.address, wish, { "content-type": "text/plain" })).status, 415);
  for (const file of ["../evil.ql", "/etc/evil.ql", "a/../../evil.ql", "evil.js", ".evil.ql", "a\\evil.ql", ""]) {
    assert.equal((await ask(app.address, { ...wish, file })).status, 400, file);
  }
  assert.equal((await ask(app.address, { ...wish, text: "-".repeat((1 << 20) + 1) })).status, 413);
  assert.equal((await fetch(`${app.address}/evil`)).status, 404);
  const own = await ask(app.address, wish, { origin: `http://${host}`, "sec-fetch-site": "same-origin" });
  assert.equal(own.status, 200, JSON.stringify(own.said));
  assert.equal(await (await fetch(`${app.address}/evil`)).text(), "1");
  const gone = await ask(app.address, { file: "evil.ql", text: null, version: own.said.version, write: true });
  assert.equal(gone.status, 200, JSON.stringify(gone.said));
  assert.equal((await fetch(`${app.address}/evil`)).status, 404);
  const locked = await startShop({ options: [], settings: { console: true, adhoc: { enabled: true } } });
  assert.equal((await ask(locked.address, { file: "one.ql" })).status, 404);
  const { page, context } = await openPage(browser, locked.page);
  await setScript(page, "return 1");
  await readyToRun(page);
  assert.equal(await page.getByRole("button", { name: "Save", exact: true }).count(), 0);
  await context.close();
});

/** The rows that the playground of formats shows. */
function readRows(page) {
  return page.evaluate(() => {
    const content = document.querySelector(".formats .text-view .cm-content");
    return JSON.parse((content.cmTile?.view ?? content.cmView?.view).state.doc.toString());
  });
}

test("the playground of formats reads bytes as the executable does", async () => {
  const shop = await startShop();
  const { page, context, notes } = await openPage(browser, shop.page);
  await page.getByRole("tab", { name: "Formats" }).click();
  const rows = () => readRows(page);
  const bytes = page.getByLabel("Bytes of an answer");
  await bytes.fill('{"items":[{"id":1,"big":9007199254740993123,"html":"<img src=x onerror=alert(1)>"},{"id":2}]}');
  await page.getByLabel("resultset").fill("items");
  await eventually(async () => assert.equal((await rows()).length, 2));
  await page.getByLabel("Columns, separated by commas").fill("id");
  await eventually(async () => assert.deepEqual(await rows(), [1, 2]));
  await page.locator(".left-out").getByText("html").waitFor();
  await page.locator(".left-out").getByRole("button", { name: "big" }).click();
  await eventually(async () => assert.equal((await rows()).length, 2));
  await page.getByLabel("Type").selectOption("application/xml");
  await bytes.fill("<list><item><id>7</id></item><item><id>8</id></item></list>");
  await page.getByLabel("resultset").fill("list.item");
  await page.getByLabel("Columns, separated by commas").fill("id");
  await eventually(async () => assert.deepEqual((await rows()).map(String), ["7", "8"]));
  await bytes.fill("<list><item>");
  await page.locator(".formats .problem").waitFor();
  // An answer to a table of the app, with what that declares.
  await setScript(page, 'return select title from shop.search where keyword = "tent"');
  await runAndWait(page);
  await page.getByRole("button", { name: "Take the last answer" }).click();
  await page.getByLabel("Read as").selectOption("shop.search");
  await page.getByLabel("Columns, separated by commas").fill("title");
  const script = "return select title from shop.search where keyword = 'any'\n";
  const direct = JSON.parse(await resultText(page));
  await eventually(async () => assert.deepEqual(await rows(), direct));
  await page.getByRole("button", { name: "Open as a script" }).click();
  await eventually(async () => assert.equal(await scriptText(page), script));
  assert.equal(notes.dialogs, 0);
  assert.deepEqual(notes.errors, []);
  await context.close();
});

test("the playground reads answers with the hook of their table, and what is no list of rows", async () => {
  const app = await startApp({
    "tables/hooked.ql": "create table hooked on select get from 'http://answer.invalid/' using patch 'hooked.js' resultset 'items'\n",
    "tables/hooked.js": "exports['parse response'] = function (args) { return { value: { items: args.bytes.toString().split(';').map(function (id) { return { id: id }; }) } }; };\n",
  });
  const { page, context, notes } = await openPage(browser, app.page);
  await page.getByRole("tab", { name: "Formats" }).click();
  const rows = () => readRows(page);
  const bytes = page.getByLabel("Bytes of an answer");
  await bytes.fill("7;8");
  await page.getByLabel("Type").selectOption("text/plain");
  await page.getByLabel("Read as").selectOption("hooked");
  await page.getByLabel("Columns, separated by commas").fill("id");
  await eventually(async () => assert.deepEqual(await rows(), ["7", "8"]));
  await page.getByLabel("Read as").selectOption("");
  await page.getByLabel("Type").selectOption("application/json");
  for (const text of ["null", "1", '"<b>"', "[]", "[null]", '{"id":null}']) {
    await bytes.fill('[{"id":"before"}]');
    await eventually(async () => assert.deepEqual(await rows(), ["before"]));
    await bytes.fill(text);
    await eventually(async () => assert.ok(!JSON.stringify(await rows().catch(() => "none")).includes("before"), text));
  }
  assert.deepEqual(notes.errors, []);
  await context.close();
});

test("an answer that is given calls nobody, and only once", async () => {
  const shop = await startShop();
  const decode = (script, body, headers = {}) =>
    fetch(`${shop.address}/console/decode?s=${encodeURIComponent(script)}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    });
  const one = "create table t on select get from 'http://answer.invalid/'\nreturn select a from t\n";
  assert.deepEqual(await (await decode(one, '[{"a":1}]')).json(), [1]);
  const two = "create table t on select get from 'http://answer.invalid/{^id}'\nx = select a from t where id = 1\ny = select a from t where id = 2\nreturn [\"{x}\", \"{y}\"]\n";
  const refused = await decode(two, '[{"a":1}]');
  assert.match(JSON.stringify(await refused.json()), /one answer was given/);
  assert.equal((await decode(one, "[1", {})).status, 502);
  assert.equal((await decode("return select", "[]")).status, 400);
  assert.equal((await decode("", "[]")).status, 400);
  assert.equal((await decode(one, "[]", { origin: "https://evil.example" })).status, 403);
  const deep = await decode(one, "[".repeat(200_000));
  assert.ok(deep.status >= 400 && deep.status < 600);
  const locked = await startShop({ options: [], settings: { console: true } });
  assert.equal((await fetch(`${locked.address}/console/decode?s=return%201`, { method: "POST", body: "1" })).status, 404);
});
