// Builds dist/ from src/: the same sources give the same bytes.
//
//   node build.mjs            writes dist/
//   node build.mjs --check    fails if dist/ is not what the sources give
//   node build.mjs --sizes    also prints what each package takes of the compressed page

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");
const options = new Set(process.argv.slice(2));

/** The most that all files of the page may weigh, compressed. */
const PAGE_BYTES_MAX = 260 * 1024;

const bundled = await build({
  absWorkingDir: here,
  entryPoints: { console: "src/main.tsx", "console-css": "src/styles/console.css" },
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "utf8",
  metafile: true,
  write: false,
  outdir: "dist",
  logLevel: "warning",
});

const files = new Map();
for (const file of bundled.outputFiles) {
  const name = file.path.endsWith("console-css.css") ? "console.css" : "console.js";
  files.set(name, Buffer.from(file.contents));
}
files.set("index.html", await readFile(join(here, "index.html")));
files.set("NOTICE", Buffer.from(await notice()));
files.set("SOURCES.sha256", Buffer.from(await hashSources()));

if (options.has("--check")) {
  const stale = [];
  for (const [name, bytes] of files) {
    const path = join(dist, name);
    if (!existsSync(path) || !bytes.equals(await readFile(path))) stale.push(name);
  }
  if (stale.length > 0) {
    console.error(`web/console/dist is not what the sources give (${stale.join(", ")}): run make console`);
    process.exit(1);
  }
} else {
  await mkdir(dist, { recursive: true });
  for (const [name, bytes] of files) await writeFile(join(dist, name), bytes);
}
reportSizes();

/** The packages whose code is in the page. */
function packagesOf(inputs) {
  const names = Object.keys(inputs).map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  return [...new Set(names.filter(Boolean))].sort();
}

/** The licences of what is bundled, which their authors want to be passed on. */
async function notice() {
  const parts = ["The console of qlio contains these packages.\n"];
  for (const name of packagesOf(bundled.metafile.inputs)) {
    const folder = join(here, "node_modules", name);
    const { version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) throw new Error(`${name} has no licence file`);
    const text = (await readFile(join(folder, file), "utf8")).trim();
    parts.push(`${"=".repeat(72)}\n${name} ${version} (${license})\n\n${text}\n`);
  }
  return parts.join("\n");
}

/** What `sha256sum` prints for every source, so that a test without Node can compare. */
async function hashSources() {
  const paths = (await readdir(join(here, "src"), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(here.length + 1));
  for (const name of await readdir(here)) {
    if (/\.(json|mjs|html)$/.test(name)) paths.push(name);
  }
  paths.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const lines = [];
  for (const path of paths) {
    const hash = createHash("sha256").update(await readFile(join(here, path))).digest("hex");
    lines.push(`${hash}  ${path}\n`);
  }
  return lines.join("");
}

function reportSizes() {
  const page = ["index.html", "console.js", "console.css"];
  const sizes = page.map((name) => [name, gzipSync(files.get(name), { level: 9 }).length]);
  const total = sizes.reduce((sum, [, bytes]) => sum + bytes, 0);
  if (options.has("--sizes")) {
    const output = Object.entries(bundled.metafile.outputs).find(([name]) => name.endsWith("console.js"))[1];
    const share = new Map();
    for (const [path, { bytesInOutput }] of Object.entries(output.inputs)) {
      const owner = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? "own code";
      share.set(owner, (share.get(owner) ?? 0) + bytesInOutput);
    }
    for (const [owner, bytes] of [...share].sort((a, b) => b[1] - a[1])) {
      console.log(`${(bytes / 1024).toFixed(1).padStart(8)} KiB  ${owner} (minified)`);
    }
    for (const [name, bytes] of sizes) console.log(`${(bytes / 1024).toFixed(1).padStart(8)} KiB  ${name} (gzip)`);
  }
  console.log(`${(total / 1024).toFixed(1).padStart(8)} KiB  of ${PAGE_BYTES_MAX / 1024} KiB, compressed`);
  if (total > PAGE_BYTES_MAX) {
    console.error("the page is too heavy");
    process.exit(1);
  }
}
