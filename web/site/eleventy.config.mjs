// What Eleventy makes of the texts: pages.mjs says which, markdown/ how they are read, layouts/ what is
// around them. None of the texts has a header for it.

import { sourcePage, teach } from "./markdown/library.mjs";
import { navigation } from "./navigation.mjs";
import { findPages, outputOfCopy, root } from "./pages.mjs";

const { pages, copied } = findPages();
const sections = navigation(pages);
const source = process.env.QLIO_SOURCE_URL?.replace(/\/$/, "");

/** @param {import("@11ty/eleventy").UserConfig} site */
export default function configure(site) {
  site.setQuietMode(true);
  site.amendLibrary("md", (library) => {
    library.set({ html: true });
    teach(library, { pages, copied, source });
    // The page is known to its text by what Eleventy hands on.
    const render = library.render.bind(library);
    library.render = (text, data) => render(text, { path: data.path, contents: data.contents });
  });
  site.addGlobalData("sections", () => sections);
  const add = (name, content, data) =>
    site.addTemplate(name, content, { layout: "page.11ty.mjs", permalink: data.output, contents: [], ...data });
  for (const page of pages.values()) {
    const { path, title, output, text, kind } = page;
    if (kind) add(`${path}.html`, sourcePage(page), { path, title, output, isSearched: false });
    else add(path, text, { path, title, output });
  }
  for (const path of copied) site.addPassthroughCopy({ [`${root}${path}`]: outputOfCopy(path) });
  return {
    dir: { input: "src/pages", includes: "../../layouts", output: process.env.QLIO_SITE },
    templateFormats: ["md", "html"],
    markdownTemplateEngine: false,
    htmlTemplateEngine: false,
  };
}
