// What the language service of the server gives the editor, and documentation that others have written.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openPage, runAndWait, scriptText, setScript, startApp, startBrowser, startShop, stopAll } from "./harness.mjs";

const HOSTILE_TABLE = `/* Evil <img src=x onerror="window.hacked = 1"> <script>window.hacked = 2</script>
   [link](javascript:window.hacked=3) <svg onload="window.hacked = 4"></svg> **bold**. */
create table evil.things on select get from "http://127.0.0.1:1/{^id}"
`;

let browser;
let shop;
before(async () => {
  [browser, shop] = await Promise.all([startBrowser(), startShop()]);
});
after(stopAll);

/** Opens a page whose editor is connected to the language service. */
async function openConnected(url, options) {
  const opened = await openPage(browser, url, options);
  await opened.page.waitForSelector(".editor[data-language=on]");
  return opened;
}

test("problems are marked while typing, with a quick fix, and runs say why they are off", async () => {
  const { page, context } = await openConnected(shop.page);
  await setScript(page, 'return select title form shop.search where keyword = "tent"\n');
  await page.waitForSelector(".cm-lintRange-error");
  assert.match(await page.locator(".cm-lintRange-error").first().textContent(), /form/);
  await page.waitForFunction(() => document.querySelector(".why-not").textContent.startsWith("Line 1, column"));
  assert.equal(await page.getByRole("button", { name: "Run", exact: true }).getAttribute("aria-disabled"), "true");
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("F8");
  await page.keyboard.press("Control+.");
  await page.waitForFunction(() => document.querySelector(".editor .cm-content").textContent.includes("title from shop.search"));
  await page.waitForFunction(() => document.querySelector(".cm-lintRange-error") === null);
  await context.close();
});

test("completion knows the tables and their parameters, hover their documentation", async () => {
  const { page, context } = await openConnected(shop.page);
  await setScript(page, "return select title from sh");
  await page.keyboard.type("o");
  const list = page.locator(".cm-tooltip-autocomplete");
  await list.getByText("shop.search").waitFor();
  await page.keyboard.press("Escape");
  await setScript(page, "return select title from shop.search where ");
  await page.keyboard.press("Control+Space");
  await list.waitFor();
  assert.match(await list.locator("li").first().textContent(), /keyword/);
  await page.keyboard.press("Escape");
  await setScript(page, 'return select title from shop.search where keyword = "a"');
  await page.getByText("shop.search", { exact: true }).last().hover();
  await page.getByText("Finds products by a").first().waitFor();
  await context.close();
});

test("format and rename are those of the compiler, and one step to undo", async () => {
  const { page, context } = await openConnected(shop.page);
  const text = 'ids   =  select id from shop.search where keyword="tent"\nreturn select id from shop.details where id in ("{ids}")\n';
  await setScript(page, text);
  await page.keyboard.press("Shift+Alt+F");
  await page.waitForFunction(() => document.querySelector(".editor .cm-content").textContent.includes("keyword = 'tent'"));
  await page.keyboard.press("Control+z");
  assert.equal(await scriptText(page), text);
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("F2");
  await page.locator(".cm-lsp-rename-panel input, .cm-panel input").first().fill("found");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".editor .cm-content").textContent.includes("{found}"));
  assert.match(await scriptText(page), /^found /);
  await runAndWait(page);
  await context.close();
});

test("documentation of tables and routes is text, never a script", async () => {
  const app = await startApp({ "tables/evil.ql": HOSTILE_TABLE });
  const { page, context, notes } = await openConnected(app.page);
  await page.getByRole("button", { name: "evil.things" }).click();
  await page.locator(".documentation strong").getByText("bold").waitFor();
  assert.equal(await page.locator(".documentation :is(img, script, svg, a[href^=javascript])").count(), 0);
  await setScript(page, "return select * from evil.things where id = 1");
  await page.getByText("evil.things", { exact: true }).last().hover();
  await page.locator(".cm-tooltip").waitFor();
  assert.equal(await page.locator(".cm-tooltip :is(img, script, svg, a[href^=javascript])").count(), 0);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.deepEqual(notes.errors, []);
  await context.close();
});

test("a select of a table begins with its required parameters", async () => {
  const { page, context } = await openConnected(shop.page);
  await setScript(page, "");
  await page.getByRole("button", { name: "shop.search" }).click();
  await page.getByRole("button", { name: "Insert a select" }).click();
  assert.equal(await scriptText(page), "select * from shop.search where keyword = ''\n");
  await page.getByLabel("Filter tables").fill("rev");
  assert.deepEqual(await page.getByRole("list", { name: "Tables" }).getByRole("button").allTextContents(), ["shop.reviews"]);
  await context.close();
});
