// What the language service of the server gives the editor, and documentation that others have written.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { QLIO, PRODUCTS, eventually, openPage, runAndWait, scriptText, setScript, startApp, startBrowser, startShop, stopAll } from "./harness.mjs";

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
  await eventually(async () => assert.equal(await page.locator(".cm-lintRange-error").first().textContent(), "form"));
  await page.waitForFunction(() => document.querySelector(".why-not").textContent.startsWith("Line 1, column"));
  await page.waitForSelector('.toolbar .primary[aria-disabled="true"]');
  await page.keyboard.press("Control+Shift+M");
  const listed = page.locator(".cm-panel-lint li");
  await eventually(async () => assert.match(await listed.first().textContent(), /^Q1001 [\w-]+: [^]*\nhint: did you mean `from`/));
  await page.keyboard.press("Escape");
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
  await eventually(async () => assert.match(await list.locator("li").first().textContent(), /keyword.*required/));
  await page.keyboard.press("Escape");
  await setScript(page, 'return select title from shop.search where keyword = "a"');
  // Once the names are painted, nothing is drawn anew below the pointer.
  await page.locator(".editor .name-table").waitFor();
  await page.getByText("shop.search", { exact: true }).last().hover();
  const hover = page.locator(".cm-lsp-hover-tooltip");
  await hover.getByText("Finds products by a").waitFor();
  await eventually(async () => assert.match(await hover.textContent(), /\/search\/products\?keyword=\{\^keyword\}[^]*\/prices/));
  await context.close();
});

test("format and rename are those of the compiler, and one step to undo", async () => {
  const { page, context } = await openConnected(shop.page);
  const text = 'ids   =  select id from shop.search where keyword="tent"\nreturn select id from shop.details where id in ("{ids}")\n';
  await setScript(page, text);
  await page.keyboard.press("Shift+Alt+F");
  await page.waitForFunction(() => document.querySelector(".editor .cm-content").textContent.includes("keyword = 'tent'"));
  const formatting = promisify(execFile)(QLIO, ["fmt", "-"]);
  formatting.child.stdin.end(text);
  assert.equal(await scriptText(page), (await formatting).stdout);
  await page.keyboard.press("Control+z");
  await eventually(async () => assert.equal(await scriptText(page), text));
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("F2");
  await page.locator(".cm-lsp-rename-panel input, .cm-panel input").first().fill("found");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".editor .cm-content").textContent.includes("{found}"));
  await eventually(async () => assert.match(await scriptText(page), /^found /));
  await runAndWait(page);
  await context.close();
});

test("a use leads to its definition, and a definition to its uses", async () => {
  const { page, context } = await openConnected(shop.page);
  await setScript(page, 'ids = select id from shop.search where keyword = "tent"\nreturn select id from shop.details where id in ("{ids}")');
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("F12");
  await eventually(async () => assert.match(await page.locator(".editor .cm-activeLine").textContent(), /^ids = /));
  await page.keyboard.press("Shift+F12");
  const uses = page.getByRole("listbox", { name: "Reference list" }).getByRole("option");
  await eventually(async () => assert.equal(await uses.count(), 2));
  // Scripts are called as their tabs are.
  const heads = page.locator(".cm-lsp-reference-file");
  await eventually(async () => assert.deepEqual(await heads.allTextContents(), ["ids = select id from shop.s…"]));
  await page.getByRole("button", { name: "ids = select id from shop.s…", exact: true }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await eventually(async () => assert.match(await page.locator(".editor .cm-activeLine").textContent(), /^return /));
  // A change of the name is one of the list that comes next.
  await page.keyboard.press("Control+Home");
  await page.keyboard.insertText("-- Tents\n");
  await page.keyboard.press("Shift+F12");
  await eventually(async () => assert.deepEqual(await heads.allTextContents(), ["Tents"]));
  await context.close();
});

test("documentation of tables and routes is text, never a script", async () => {
  const app = await startApp({ "tables/evil.ql": HOSTILE_TABLE });
  const { page, context, notes } = await openConnected(app.page);
  await page.getByRole("button", { name: "evil.things" }).click();
  await page.locator(".documentation strong").getByText("bold").waitFor();
  assert.equal(await page.locator(".documentation :is(img, script, svg, a[href^=javascript])").count(), 0);
  await setScript(page, "return select * from evil.things where id = 1");
  await page.locator(".editor .name-table").waitFor();
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
  await eventually(async () => assert.equal(await scriptText(page), "select * from shop.search where keyword = ''\n"));
  await page.getByLabel("Filter tables").fill("rev");
  const names = page.getByRole("list", { name: "Tables" }).locator(".entry");
  await eventually(async () => assert.deepEqual(await names.allTextContents(), ["shop.reviews"]));
  await context.close();
});

test("hints, lenses and names come from the service, and lead on", async () => {
  const { page, context, notes } = await openConnected(shop.page);
  await setScript(page, PRODUCTS);
  const hints = page.locator(".editor .hint");
  await eventually(async () =>
    assert.deepEqual((await hints.allTextContents()).slice(0, 3), ["round 1, from 1 call", "round 2, from 1 call", "round 2, from 1 call"]),
  );
  const lenses = page.locator(".editor .lenses");
  await lenses.locator("button", { hasText: "Plan" }).click();
  await page.waitForFunction(() => document.activeElement?.closest(".pane-plan") !== null);
  await lenses.locator("button", { hasText: "Run" }).click();
  await page.waitForSelector(".run-done");
  // A name is painted as what it is, wherever it stands: a variable is no table.
  const tables = page.locator(".editor .name-table");
  await eventually(async () =>
    assert.deepEqual(await tables.allTextContents(), ["shop.search", "shop.details", "shop.reviews"]),
  );
  await tables.first().click({ modifiers: ["Control"] });
  await page.locator(".entry[aria-expanded=true]").filter({ hasText: "shop.search" }).waitFor();
  // Switched off they stay away; the text is what it was all along.
  await page.keyboard.press("Control+k");
  await page.locator("dialog input").fill("hints");
  await page.keyboard.press("Enter");
  await eventually(async () => assert.equal(await hints.count(), 0));
  assert.equal(await scriptText(page), PRODUCTS);
  await page.reload();
  await page.waitForSelector(".editor[data-language=on]");
  await tables.first().waitFor();
  assert.equal(await hints.count(), 0);
  assert.deepEqual(notes.errors, []);
  assert.deepEqual(notes.violations, []);
  await context.close();
});

test("hints stay away from a text with errors, and names of long scripts are painted where one looks", async () => {
  const { page, context } = await openConnected(shop.page);
  await setScript(page, PRODUCTS);
  await page.locator(".editor .hint").first().waitFor();
  await setScript(page, PRODUCTS.replace("select id", "select id form"));
  await eventually(async () => assert.equal(await page.locator(".editor .hint").count(), 0));
  const lines = Array.from({ length: 1_100 }, (_, at) => `t${at} = select id from shop.search where keyword = "k${at}"`);
  await setScript(page, `${lines.join("\n")}\nreturn "{t1099}"\n`);
  await page.keyboard.press("Control+Home");
  await page.waitForFunction(() => document.querySelector(".editor .cm-line .name-table") !== null);
  await page.keyboard.press("Control+End");
  await page.waitForFunction(() => [...document.querySelectorAll(".editor .cm-line")].some((line) => line.textContent.startsWith("t1098") && line.querySelector(".name-table")));
  await context.close();
});

test("the caret blinks without keeping the page drawing, and stands still while one writes or wants no motion", async () => {
  const { page, context } = await openPage(browser, shop.page);
  await setScript(page, "return 1");
  await page.locator(".editor .cm-content").click();
  const hidden = page.locator(".editor .cm-editor[data-caret-hidden]");
  await hidden.waitFor();
  await page.keyboard.press("Home");
  assert.equal(await hidden.count(), 0);
  assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
  await hidden.waitFor();
  // Where the focus is elsewhere, there is no caret to blink.
  await page.locator(".editor .cm-content").blur();
  await eventually(async () => assert.equal(await hidden.count(), 0));
  await context.close();
});
