// Light and dark. It is no module: it runs before the first picture is drawn, so that
// a dark page does not flash white. What the reader chose is kept in the browser; without a choice
// the page follows the system, also when that changes.
(() => {
  const KEY = "fairshare.theme";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const kept = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
  const apply = () => {
    document.documentElement.dataset.theme = kept() ?? (dark.matches ? "dark" : "light");
  };
  dark.addEventListener("change", apply);
  apply();
  window.fairshareTheme = {
    toggle() {
      const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
      try { localStorage.setItem(KEY, next); } catch { /* private windows may forbid it */ }
      document.documentElement.dataset.theme = next;
    },
  };
})();
