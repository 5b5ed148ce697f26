// The site in a real Chromium: search, playground, narrow screens, rules of WCAG, the policy of the pages.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { openPage, setScript, startBrowser, stopAll, stopAtEnd } from "../../console/tests/harness.mjs";
import { serve } from "../serve.mjs";
import { built } from "./built.mjs";

const axe = await readFile(new URL("../../console/node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const PHONE = { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true };

let browser;
let site;
before(async () => {
  const { address, stop } = await serve(built);
  stopAtEnd(stop);
  site = address;
  browser = await startBrowser();
});
after(stopAll);

const open = (path, options = {}) => openPage(browser, `${site}/${path}`, { isBare: true, ...options });

/** Opens the playground and waits until the service has answered. */
async function openPlayground(fragment = "", options = {}) {
  const opened = await open(`playground.html${fragment}`, options);
  await opened.page.waitForSelector(".side .quiet:text('None.'), .problems li");
  return opened;
}

/** Nothing was refused by the policy, nothing failed, nobody else was asked. */
function assertQuiet({ errors, violations, hosts }) {
  assert.deepEqual(errors, []);
  assert.deepEqual(violations, []);
  assert.deepEqual([...hosts], [new URL(site).host]);
}

/** Fails with the rules that are broken in a part of the page and where, in both colour schemes. */
async function hold(page, state, part = "html") {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const broken = await page.evaluate(async (selector) => {
      const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
      const { violations } = await window.axe.run(selector, { runOnly: { type: "tag", values: tags } });
      return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
    }, part);
    assert.deepEqual(broken, [], `${state}, ${colorScheme}`);
  }
}

const withAxe = { before: (page) => page.addInitScript(axe) };

test("the search finds words, settings, codes and rules, and leads there", async () => {
  const { page, context, notes } = await open("guide/first-app.html", withAxe);
  await page.keyboard.press("/");
  const results = page.locator(".results > li > a");
  for (const [words, target] of [
    ["deadline", "errors/Q7004-deadline.html"],
    ["Q2003", "errors/Q2003-unknown-table.html"],
    ["maxNestedRequests", "errors/Q7001-max-nested-requests.html"],
    ["bodyTemplate", "language/reference/create-table.html"],
    ["paginate", "language/reference/paging.html"],
  ]) {
    await page.getByRole("searchbox").fill(words);
    await page.locator(`.results a[href$="${target}"], .results a[href*="${target}#"]`).first().waitFor();
  }
  await page.getByRole("searchbox").fill("€€€€");
  await page.getByText("Nothing has “€€€€”.").waitFor();
  await page.getByRole("searchbox").fill("grouping");
  await page.locator(".results a", { hasText: "Grouping" }).first().waitFor();
  await hold(page, "search", "dialog.search");
  await page.getByRole("searchbox").focus();
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.evaluate(() => document.activeElement.closest(".results") !== null), true);
  const wanted = await results.first().getAttribute("href");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**${wanted}`);
  assertQuiet(notes);
  await context.close();
});

test("the playground has a plan, and problems with a quick fix, as somebody types", async () => {
  const { page, context, notes } = await openPlayground();
  await page.waitForSelector(".picture img");
  await page.waitForFunction(() => document.querySelector(".picture img").naturalWidth > 100);
  assert.match(await page.locator(".side pre").textContent(), /level 2, in parallel[^]*shop\.reviews/);
  await setScript(page, 'return select title form shop.search where keyword="tent"\n');
  await page.waitForSelector(".cm-lintRange-error");
  const problem = page.locator(".problems li");
  await problem.getByText("did you mean `from`?").waitFor();
  assert.equal(await problem.getByRole("link", { name: "Q1001" }).getAttribute("href"), "errors/Q1001-unexpected-token.html");
  await page.getByText("the script has errors, so it has no plan").waitFor();
  await problem.getByRole("button").click();
  await page.keyboard.press("Control+.");
  await page.waitForFunction(() => document.querySelector(".cm-content").textContent.includes("title from shop.search"));
  await page.waitForSelector(".picture img");
  await page.getByRole("button", { name: "Format" }).click();
  await page.waitForFunction(() => document.querySelector(".cm-content").textContent.includes("keyword = 'tent'"));
  assertQuiet(notes);
  await context.close();
});

test("completion and hover know the tables, and the other files", async () => {
  const { page, context, notes } = await openPlayground();
  await setScript(page, "return select title from shop.search where ");
  await page.keyboard.press("Control+Space");
  await page.locator(".cm-tooltip-autocomplete li", { hasText: "keyword" }).waitFor();
  await page.keyboard.press("Escape");
  await setScript(page, "return select title from shop.search where keyword = 'a'");
  await page.getByText("shop.search", { exact: true }).first().hover();
  await page.getByText("Finds products by a").waitFor();
  // A name that changes in one file changes in the others.
  await page.getByLabel("File").selectOption("tables/shop/search.ql");
  await page.waitForSelector('.cm-content[aria-label="tables/shop/search.ql"]');
  await page.locator(".cm-line span", { hasText: "shop.search" }).first().click();
  await page.keyboard.press("F2");
  const name = page.locator(".cm-panel input");
  await name.fill("shop.find");
  await name.press("Enter");
  await page.waitForFunction(() => document.querySelector(".cm-content").textContent.includes("create table shop.find"));
  await page.getByLabel("File").selectOption("routes/prices.ql");
  await page.waitForFunction(() => document.querySelector(".cm-content").textContent.includes("from shop.find"));
  await page.locator(".side .quiet", { hasText: "None." }).waitFor();
  assertQuiet(notes);
  await context.close();
});

test("the address keeps and shares what was written", async () => {
  const { page, context, notes } = await openPlayground();
  await page.getByRole("button", { name: "New table" }).click();
  await page.waitForSelector('.cm-content[aria-label="tables/mine.ql"]');
  await page.getByRole("button", { name: "New script" }).click();
  await setScript(page, "return select id from mine where name = 'kept'\n");
  await page.waitForFunction(() => location.hash.startsWith("#x="));
  await page.locator(".side .quiet", { hasText: "None." }).waitFor();
  await page.waitForSelector(".side pre:has-text('mine')");
  const before = await page.evaluate(() => location.hash);
  await page.waitForFunction(async () => {
    const bytes = Uint8Array.from(atob(location.hash.slice(3).replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
    return (await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text()).includes("kept");
  });
  assert.notEqual(before, "");
  await page.reload();
  await page.waitForFunction(() => document.querySelector(".cm-content")?.textContent.includes("'kept'"));
  assert.deepEqual(
    await page.getByLabel("File").evaluate((select) => [select.value, select.querySelectorAll("option").length > 12]),
    ["script.ql", true],
  );
  assertQuiet(notes);
  await context.close();
});

test("examples of the guide open in the playground with their tables, broken addresses say so", async () => {
  const { page, context, notes } = await open("language/guide/06-joins.html");
  await page.getByRole("link", { name: "Open in playground" }).nth(2).click();
  await page.waitForSelector(".picture img");
  assert.match(await page.locator(".side pre").textContent(), /fees/);
  assert.match(await page.locator(".side").textContent(), /Not here/);
  await page.goto(`${site}/playground.html#f=routes/prices.ql`);
  await page.waitForSelector('.cm-content[aria-label="routes/prices.ql"]');
  for (const broken of ["#x=AAAA", "#x=q1YqLkksKVayUqpWKs9ILUpVslIqSi1SqgUA", "#x=!"]) {
    await page.goto("about:blank");
    await page.goto(`${site}/playground.html${broken}`);
    await page.waitForSelector('.cm-content[aria-label="routes/products.ql"]');
    if (broken !== "#x=!") await page.getByText("no example that can be read").waitFor();
  }
  assertQuiet(notes);
  await context.close();
});

test("a module that is not there, or stops, is told, and no text is lost", async () => {
  const { page, context } = await open("playground.html", {
    before: (fresh) => fresh.context().route("**/language.wasm", (route) => route.fulfill({ status: 404 })),
  });
  await page.getByRole("alert").getByText("The language service has stopped").waitFor();
  await setScript(page, "return 'still here'\n");
  await page.context().unroute("**/language.wasm");
  await page.getByRole("button", { name: "Start it again" }).click();
  await page.waitForSelector(".picture img");
  assert.match(await page.locator(".cm-content").textContent(), /still here/);
  await context.close();
});

test("pages keep the rules in light and dark", async () => {
  for (const path of ["language/guide/06-joins.html", "operating/stop.html", "playground.html"]) {
    const { page, context, notes } = await open(path, withAxe);
    if (path === "playground.html") await page.waitForSelector(".picture img");
    await hold(page, path);
    assertQuiet(notes);
    await context.close();
  }
});

test("a phone of 320 pixels shows pages without scrolling sideways, and their list", async () => {
  const { page, context } = await open("index.html", { ...withAxe, profile: PHONE });
  for (const path of ["benchmarks.html", "reference/settings.html", "language/reference/grammar.html", "playground.html", "index.html"]) {
    await page.goto(`${site}/${path}`);
    if (path === "playground.html") await page.waitForSelector(".picture img");
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 320, `${path} is ${width} pixels wide`);
    const small = await page.evaluate(() =>
      [...document.querySelectorAll("button, select")]
        .filter((button) => button.offsetParent !== null && !button.closest(".cm-editor"))
        .filter((button) => button.offsetHeight < 24 || button.offsetWidth < 24)
        .map((button) => button.outerHTML.slice(0, 120)),
    );
    assert.deepEqual(small, [], path);
  }
  await page.getByRole("button", { name: "Pages" }).click();
  await page.locator("#pages").getByRole("link", { name: "What it is" }).waitFor();
  await hold(page, "phone, list of pages", "#pages");
  await hold(page, "phone, head", ".top");
  await context.close();
});

test("the theme that is chosen stays, also without the system's", async () => {
  const { page, context, notes } = await open("index.html", { profile: { colorScheme: "light" } });
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.getByRole("button", { name: "Theme: system" }).click();
  await page.getByRole("button", { name: "Theme: light" }).click();
  assert.notEqual(await paper(), light);
  await page.goto(`${site}/errors/index.html`);
  assert.notEqual(await paper(), light);
  await page.getByRole("button", { name: "Theme: dark" }).click();
  assert.equal(await paper(), light);
  assertQuiet(notes);
  await context.close();
});

test("the site may lie below a path", async () => {
  const { address, stop } = await serve(built, 0, "/docs/qlio");
  stopAtEnd(stop);
  const { page, context, notes } = await openPage(browser, `${address}/docs/qlio/language/guide/06-joins.html`, { isBare: true });
  await page.keyboard.press("/");
  await page.getByRole("searchbox").fill("Q2003");
  await page.locator(".results a", { hasText: "Q2003" }).first().click();
  await page.waitForURL("**/docs/qlio/errors/Q2003-unknown-table.html*");
  await page.getByRole("link", { name: "Open in playground" }).first().click();
  await page.locator(".problems a", { hasText: "Q2003" }).waitFor();
  assert.deepEqual(notes.errors, []);
  await context.close();
});

test("without JavaScript pages are read and found", async () => {
  const { page, context } = await openPage(browser, `${site}/index.html`, { isBare: true, profile: { javaScriptEnabled: false, viewport: PHONE.viewport } });
  assert.equal(await page.getByRole("button", { name: "Search" }).count(), 0);
  await page.getByRole("button", { name: "Pages" }).click();
  await page.locator("#pages").getByRole("link", { name: "Your first real app" }).click();
  await page.waitForURL("**/guide/first-app.html");
  await context.close();
});
