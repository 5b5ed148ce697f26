// What the page does when the files of the app change while it is open.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openPage, startApp, startBrowser, stopAll } from "./harness.mjs";

let browser;

before(async () => {
  browser = await startBrowser();
});
after(stopAll);

test("a page that is open shows what has changed, and the tables and routes as they are now", async () => {
  const route = (name) => `return 1 via route '/${name}' using method get`;
  const app = await startApp({ "routes/one.ql": route("one") });
  const { page, notes } = await openPage(browser, app.page);
  // Only who is connected is told.
  await page.waitForSelector(".connection-open");
  const asked = page.waitForResponse((response) => new URL(response.url()).pathname.endsWith("/console/catalog"));
  await writeFile(join(app.folder, "routes/two.ql"), route("two"));
  const catalog = await (await asked).json();
  assert.deepEqual(catalog.routes.map(({ path }) => path).sort(), ["/one", "/two"]);
  await page.getByText(/; new .*routes\/two\.ql/).waitFor();

  // A mistake is told, and what was served before stays.
  await writeFile(join(app.folder, "routes/two.ql"), "return via");
  await page.getByText("not reloaded (changed files)").waitFor();
  assert.deepEqual(notes.errors, []);
});
