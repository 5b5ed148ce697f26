// The page of a result: its text, and nothing that runs or is fetched.

/** Characters that are shown; answers may be large. */
const SHOWN_MAX = 2_000_000;

/** The page of a text; there is no script, and nothing is fetched. */
export function page(title, text, note) {
  const cut = text.length > SHOWN_MAX;
  const shown = cut ? text.slice(0, SHOWN_MAX) : text;
  const more = cut ? `${text.length - SHOWN_MAX} more characters are not shown` : '';
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(title)}</title>
<style>body { font-family: var(--vscode-font-family); } pre { font-family: var(--vscode-editor-font-family); white-space: pre; }</style>
</head><body><h1>${escaped(title)}</h1><p role="status">${escaped([note, more].filter(Boolean).join('; '))}</p>
<pre>${escaped(shown)}</pre></body></html>`;
}

export function escaped(text) {
  const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replace(/[&<>"']/g, (sign) => entities[sign]);
}
