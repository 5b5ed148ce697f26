// CodeMirror writes its rules into a <style> element, which the page's security policy does not allow.
// Here they become style sheets that the document adopts, which need no permission.

import { StyleModule } from "style-mod";

const sheets = new Map<StyleModule, CSSStyleSheet>();
let order: StyleModule[] = [];

function sheetOf(module: StyleModule): CSSStyleSheet {
  let sheet = sheets.get(module);
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(module.getRules());
    sheets.set(module, sheet);
  }
  return sheet;
}

/** Has all editors of the page adopt their rules. To be called before the first editor is made. */
export function adoptStyles(): void {
  StyleModule.mount = (_root, modules) => {
    const wanted = Array.isArray(modules) ? modules : [modules];
    if (wanted.every((module) => sheets.has(module))) return;
    // Later modules win over earlier ones; those known from other editors stay before what they were before.
    order = [...order.filter((module) => !wanted.includes(module)), ...wanted];
    document.adoptedStyleSheets = order.map(sheetOf);
  };
}
