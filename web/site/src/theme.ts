// The theme that was chosen, before anything is drawn.

try {
  const kept = localStorage.getItem("qlio-theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset["theme"] = kept;
} catch {
  // Where a page may keep nothing, the theme is that of the system.
}
