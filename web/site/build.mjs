// Builds the site into target/site (or the folder --out): pages, search, playground.
//
//   node build.mjs [--out DIR] [--wasm FILE]     FILE: the language service, if it is built already
//
// QLIO_SOURCE_URL is the address below which the sources are shown, such as
// https://code.example/qlio/blob/main; without it, links to sources are names only.

import { execFileSync } from "node:child_process";
import { cp, mkdir, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { Eleventy } from "@11ty/eleventy";
import { build } from "esbuild";
import { close, createIndex } from "pagefind";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const { values } = parseArgs({ options: { wasm: { type: "string" }, out: { type: "string" } } });
const target = resolve(here("../.."), process.env.CARGO_TARGET_DIR ?? "target");
const out = values.out ? resolve(values.out) : join(target, "site");

process.chdir(here("."));
process.env.QLIO_SITE = out;
await rm(out, { recursive: true, force: true });
await mkdir(join(out, "assets"), { recursive: true });
await bundle();
await cp(values.wasm ? resolve(values.wasm) : await languageService(), join(out, "assets/language.wasm"));
await cp("src/icon.svg", join(out, "icon.svg"));
await writeFile(join(out, "assets/shop.json"), JSON.stringify(await shop()));
await writePages();
await index();
console.log(`${out}: ${await sizes()}`);

/** The editor and its packages are those of the console: one lock file, one look. */
async function bundle() {
  const ofConsole = {
    name: "packages-of-the-console",
    setup({ onResolve, resolve: find }) {
      onResolve({ filter: /^[^./]/ }, ({ path, kind, pluginData }) =>
        pluginData === "console" || kind === "entry-point" ? undefined : find(path, { kind, resolveDir: here("../console"), pluginData: "console" }),
      );
    },
  };
  const shared = { bundle: true, minify: true, target: "es2023", charset: "utf8", legalComments: "none", logLevel: "warning" };
  const assets = join(out, "assets");
  const { metafile } = await build({
    ...shared,
    metafile: true,
    entryPoints: ["src/site.ts", "src/playground.tsx", "src/worker.mjs", "src/styles/site.css"],
    format: "esm",
    jsx: "automatic",
    jsxImportSource: "preact",
    plugins: [ofConsole],
    external: ["*/pagefind/pagefind.js"],
    outdir: assets,
    entryNames: "[name]",
  });
  await build({ ...shared, entryPoints: ["src/theme.ts"], format: "iife", outdir: assets });
  await writeFile(join(assets, "NOTICE.txt"), await notice(Object.keys(metafile.inputs)));
}

/** The licences of what is passed on, which its authors want to go with it. */
async function notice(inputs) {
  const bundled = inputs.map((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean);
  const parts = ["The site of qlio contains these packages.\n"];
  for (const folder of [...new Set(bundled), "node_modules/pagefind"].sort()) {
    const { name, version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) throw new Error(`${name} has no licence file`);
    // Pagefind has a folder of them, its own under the same name.
    const path = (await stat(join(folder, file))).isDirectory() ? join(folder, file, file) : join(folder, file);
    parts.push(`${"=".repeat(72)}\n${name} ${version} (${license})\n\n${(await readFile(path, "utf8")).trim()}\n`);
  }
  return parts.join("\n");
}

/** The module that the extension for VS Code has as well. */
async function languageService() {
  const triple = "wasm32-unknown-unknown";
  const cwd = here("../../editors/vscode/server");
  // A folder that is said in the environment is said from the repository's root.
  const built = process.env.CARGO_TARGET_DIR ? target : join(cwd, "target");
  const env = { ...process.env, CARGO_TARGET_DIR: built };
  execFileSync("cargo", ["build", "--quiet", "--release", "--locked", "--target", triple], { cwd, env, stdio: "inherit" });
  return join(built, triple, "release/qlio_language_server.wasm");
}

/** The files of the example app, which the playground begins with. */
async function shop() {
  const folder = here("../../examples/shop");
  const files = {};
  for (const name of (await readdir(folder, { recursive: true })).sort()) {
    const isWanted = name === "qlio.json" || /^(tables|routes)\//.test(name);
    if (isWanted && (await stat(join(folder, name))).isFile()) files[name] = await readFile(join(folder, name), "utf8");
  }
  return files;
}

async function writePages() {
  const site = new Eleventy("src/pages", out, { configPath: "eleventy.config.mjs", quietMode: true });
  await site.write();
}

async function index() {
  const made = await createIndex({ forceLanguage: "en" });
  if (!made.index) throw new Error(made.errors.join("\n"));
  const added = await made.index.addDirectory({ path: out });
  const written = await made.index.writeFiles({ outputPath: join(out, "pagefind") });
  const errors = [...added.errors, ...written.errors];
  if (errors.length > 0) throw new Error(errors.join("\n"));
  // Its own pages of results are not used.
  for (const name of await readdir(join(out, "pagefind"))) {
    if (/^pagefind-(ui|modular-ui|component-ui|highlight)/.test(name)) await rm(join(out, "pagefind", name));
  }
  await close();
}

async function sizes() {
  const names = await readdir(out, { recursive: true });
  const pages = names.filter((name) => name.endsWith(".html")).length;
  let bytes = 0;
  for (const name of names) bytes += (await stat(join(out, name))).size;
  return `${pages} pages, ${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
