// The pictures of the console in README.md and docs/console.md, taken anew: npm run pictures
//
// Of the executable that QLIO_EXECUTABLE names; a release build, on a machine with nothing else to do, has the
// times that people see.

import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { crc32, deflateSync } from "node:zlib";
import { openPage, runAndWait, setScript, startBrowser, startShop, stopAll } from "./harness.mjs";

const SCRIPT = `-- Products, and what buyers think of them.
ids = select id from shop.search
  where keyword = 'lantern'
details = select id as id, title as title
  from shop.details
  where id in ("{ids}")
reviews = select product as id,
    reviewCount as count, rating as rating
  from shop.reviews
  where product in ("{ids}")

return select d.id as id, d.title as title,
    r.count as reviews, r.rating as rating
  from details as d, reviews as r
  where d.id = r.id
`;

/** Runs before the one that is shown: its connections are open, as they are where somebody works. */
const WARM_UP = 3;

/**
 * The picture with a palette of its 256 most frequent colours; others, at the edges of letters, become the nearest
 * of them. It takes less than half of the bytes, which everybody who clones the repository fetches.
 */
async function withFewColours(browser, picture) {
  const page = await browser.newPage();
  const { width, height, palette, places } = await page.evaluate(async (source) => {
    const image = await createImageBitmap(await (await fetch(source)).blob());
    const { width, height } = image;
    const canvas = new OffscreenCanvas(width, height).getContext("2d");
    canvas.drawImage(image, 0, 0);
    const { data } = canvas.getImageData(0, 0, width, height);
    const colours = Array.from({ length: width * height }, (_, at) => (data[4 * at] << 16) | (data[4 * at + 1] << 8) | data[4 * at + 2]);
    const counts = new Map();
    for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1);
    const palette = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 256).map(([colour]) => colour);
    const distance = (a, b) => [16, 8, 0].reduce((sum, shift) => sum + (((a >> shift) & 255) - ((b >> shift) & 255)) ** 2, 0);
    const placeOf = new Map();
    for (const colour of counts.keys()) {
      const distances = palette.map((other) => distance(colour, other));
      placeOf.set(colour, distances.indexOf(Math.min(...distances)));
    }
    return { width, height, palette, places: colours.map((colour) => placeOf.get(colour)) };
  }, `data:image/png;base64,${picture.toString("base64")}`);
  await page.close();
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const whole = Buffer.alloc(body.length + 8);
    whole.writeUInt32BE(data.length);
    body.copy(whole, 4);
    whole.writeUInt32BE(crc32(body), body.length + 4);
    return whole;
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  // Eight bits for each pixel, which are a place in the palette.
  head.set([8, 3], 8);
  // A line begins with a byte that says that it is not filtered.
  const lines = Buffer.alloc((width + 1) * height);
  for (let line = 0; line < height; line += 1) lines.set(places.slice(line * width, (line + 1) * width), line * (width + 1) + 1);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", head),
    chunk("PLTE", Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]))),
    chunk("IDAT", deflateSync(lines, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

async function take(browser, url, { colorScheme, height, upper, tab, name }) {
  const { page, context } = await openPage(browser, url, {
    profile: { viewport: { width: 1440, height }, colorScheme, reducedMotion: "reduce" },
    before: (fresh) =>
      fresh.addInitScript((share) => {
        localStorage["qlio.split.upper-height"] = share;
        localStorage["qlio.split.script-width"] = 51;
      }, upper),
  });
  await page.waitForSelector(".editor[data-language=on]");
  await setScript(page, SCRIPT.trimEnd());
  await page.getByRole("button", { name: "shop.search" }).click();
  await page.locator(".editor .hint").nth(2).waitFor();
  for (let run = 0; run < WARM_UP; run += 1) await runAndWait(page);
  await page.getByRole("tab", { name: "Table", exact: true }).click();
  await page.getByRole("tab", { name: tab }).click();
  await page.getByRole("grid").waitFor();
  await page.evaluate(() => document.activeElement.blur());
  await page.mouse.move(1439, 1);
  const picture = await page.screenshot({ animations: "disabled", caret: "hide" });
  await writeFile(fileURLToPath(new URL(`../../../docs/${name}`, import.meta.url)), await withFewColours(browser, picture));
  await context.close();
}

try {
  const [browser, shop] = await Promise.all([startBrowser(), startShop({ apisPort: 7070 })]);
  await take(browser, shop.page, { colorScheme: "light", height: 940, upper: 45, tab: /^Calls/, name: "console-calls.png" });
  await take(browser, shop.page, { colorScheme: "dark", height: 660, upper: 65, tab: "Plan", name: "console-plan.png" });
} finally {
  await stopAll();
}
