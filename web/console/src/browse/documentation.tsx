// Documentation that the comments of tables and routes hold, as the server renders it.

import { useMemo } from "preact/hooks";
import { cleanHtml } from "../parts/clean-html.ts";

export function Documentation({ html }: { html: string | undefined }) {
  const clean = useMemo(() => cleanHtml(html ?? ""), [html]);
  if (!clean) return null;
  return <div class="documentation" dangerouslySetInnerHTML={{ __html: clean }} />;
}
