// What pages without the console do when the files of the app change while they are open.

import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { eventually, openPage, startApp, startBrowser, stopAll } from "./harness.mjs";

let browser;

before(async () => {
  browser = await startBrowser();
});
after(stopAll);

const table = (name) => `create table ${name} on select get from 'http://127.0.0.1:1/${name}?a={^a}'`;
const route = (name) => `return 1 via route '/${name}?b={b}' using method get`;

/** A page of an app, once it hears of changes. */
async function follow(app, path, options = {}) {
  const opened = await openPage(browser, `${app.address}${path}`, { isBare: true, ...options });
  await hears(opened.notes);
  return opened;
}

/** Waits until the page is told of reloads by so many connections. */
const hears = (notes, times = 1) => eventually(() => assert.equal(count(notes, "events"), times));
const count = (notes, type) => notes.received.filter((text) => JSON.parse(text).type === type).length;

test("each page shows what has changed, says what is not served, and asks nobody else", async () => {
  const app = await startApp({ "tables/one.ql": table("one"), "routes/one.ql": route("one") }, { options: ["--dev", "--disableConsole"] });
  const write = (name, text) => writeFile(join(app.folder, name), text);
  const pages = {
    tables: await follow(app, "/tables"),
    table: await follow(app, "/table?name=one"),
    routes: await follow(app, "/api"),
    route: await follow(app, `/route?path=${encodeURIComponent("/one?b={b}")}&method=get`),
    root: await follow(app, "/"),
  };
  const { tables, table: one, routes, route: form, root } = pages;
  await one.page.getByLabel("a (required)").fill("what I typed");

  await write("tables/two.ql", table("two"));
  await tables.page.getByRole("link", { name: "two", exact: true }).waitFor();
  await write("routes/two.ql", route("two"));
  await routes.page.getByRole("link", { name: "/two?b={b}" }).waitFor();
  await write("routes/one.ql", `-- Now it says something\n${route("one")}`);
  await form.page.getByText("Now it says something").waitFor();
  await write("tables/one.ql", `-- Words\n${table("one")}`);
  await one.page.getByText("Words").waitFor();

  // Where nothing has changed, what was typed stays.
  await form.page.getByLabel("b").fill("stays");
  const told = count(form.notes, "app-reloaded");
  const asked = form.page.waitForResponse((response) => response.url() === form.page.url());
  await write("tables/three.ql", table("three"));
  await asked;
  await tables.page.getByRole("link", { name: "three" }).waitFor();
  assert.ok(count(form.notes, "app-reloaded") > told);
  assert.equal(await form.page.getByLabel("b").inputValue(), "stays");

  // A mistake is told, and no more once it is mended.
  await write("routes/two.ql", "return via");
  for (const { page } of Object.values(pages)) {
    await page.getByRole("status").filter({ hasText: "not reloaded (changed files)" }).waitFor();
  }
  await write("routes/two.ql", route("other"));
  await routes.page.getByRole("link", { name: "/other?b={b}" }).waitFor();
  await root.page.getByRole("status").waitFor({ state: "detached" });

  // What is gone is told, and shown again when it is back.
  await rm(join(app.folder, "tables/one.ql"));
  await one.page.getByRole("status").filter({ hasText: "This page is gone: No such table one" }).waitFor();
  await write("tables/one.ql", `-- Other words\n${table("one")}`);
  await one.page.getByText("Other words").waitFor();

  for (const [name, { notes }] of Object.entries(pages)) {
    assert.deepEqual([notes.errors, notes.violations], [[], []], name);
    assert.deepEqual([...notes.hosts], [new URL(app.address).host], name);
  }
});

test("a page that is open is shown anew when the server is back, and does not ask while nobody looks", async () => {
  const app = await startApp({ "tables/one.ql": table("one") });
  const looked = await follow(app, "/tables");
  const hidden = await follow(app, "/tables", {
    before: (page) =>
      page.addInitScript(() => {
        let isHidden = false;
        Object.defineProperty(document, "hidden", { get: () => isHidden });
        window.hide = (is) => {
          isHidden = is;
          document.dispatchEvent(new Event("visibilitychange"));
        };
      }),
  });
  let sockets = 0;
  hidden.page.on("websocket", () => (sockets += 1));
  await hidden.page.evaluate(() => window.hide(true));
  await app.stop();
  await writeFile(join(app.folder, "tables/two.ql"), table("two"));
  await app.startAgain();
  await looked.page.getByRole("link", { name: "two" }).waitFor();
  assert.equal(sockets, 0);
  await hidden.page.evaluate(() => window.hide(false));
  await hidden.page.getByRole("link", { name: "two" }).waitFor();
  // The page that was shown anew hears as well.
  await writeFile(join(app.folder, "tables/three.ql"), table("three"));
  for (const { page } of [looked, hidden]) await page.getByRole("link", { name: "three" }).waitFor();
});

test("pages of other servers have no script and ask for nothing", async () => {
  const app = await startApp({ "tables/one.ql": table("one"), "qlio.json": '{"metadata": "all"}' }, { options: [] });
  const { page, notes } = await openPage(browser, `${app.address}/tables`, { isBare: true });
  await page.getByRole("link", { name: "one" }).waitFor();
  assert.equal(await page.locator("script").count(), 0);
  const script = await page.request.get(`${app.address}/pages/refresh.js`);
  assert.equal(script.status(), 404);
  assert.deepEqual([notes.sent, notes.received], [[], []]);
});
