// Where the site that is tested lies: what `make site` has built, or the folder QLIO_SITE.

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { root } from "../pages.mjs";

export const built = process.env.QLIO_SITE ?? join(resolve(root, process.env.CARGO_TARGET_DIR ?? "target"), "site");
if (!existsSync(join(built, "index.html"))) throw new Error(`there is no site in ${built}: run make site`);
