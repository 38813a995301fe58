// The address of the page: which view, with which filters, of which moment.
//
//   address.path                 "/cluster/scheduler"
//   address.get("queue")         a parameter, or null
//   address.set({queue: "root"}) other parameters of the same view; null takes one away. The entry
//                                of the browser's history is replaced, or a new one made (push: true)
//   address.go("/cluster/apps", {state: "RUNNING"})   another view: a new entry of the history
//   address.onChange(callback)   called after each of these, and on Back and Forward
//   link("/cluster/apps", {queue})   the same as an href; a plain click on it does not reload
//
// `at` (the moment in milliseconds) goes along with every link, so that the past stays the past.
// Every view is an address: whatever a reader chose is in it, and nowhere else.

const followers = new Set();

export const address = {
  get path() { return location.pathname === "/" ? "/cluster/scheduler" : location.pathname; },
  get(name) { return new URLSearchParams(location.search).get(name); },
  set(changes, { push = false } = {}) {
    const parameters = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === undefined || value === "") parameters.delete(name);
      else parameters.set(name, value);
    }
    show(target(location.pathname, parameters), push);
  },
  go(path, parameters = {}) { show(link(path, parameters), true); },
  onChange(callback) { followers.add(callback); return () => followers.delete(callback); },
};

export function link(path, parameters = {}) {
  const kept = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== "") kept.set(name, value);
  }
  const at = address.get("at");
  if (at && !kept.has("at")) kept.set("at", at);
  return target(path, kept);
}

function target(path, parameters) {
  const text = parameters.toString();
  return text ? `${path}?${text}` : path;
}

function show(href, push) {
  if (href === location.pathname + location.search) return;
  if (push) history.pushState(null, "", href);
  else history.replaceState(null, "", href);
  tell();
}

function tell() { for (const callback of [...followers]) callback(); }

// Call once: plain clicks on links within the pages change the view without loading a document.
export function followLinks(isOurs) {
  addEventListener("popstate", tell);
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const anchor = event.target.closest?.("a[href]");
    if (!anchor || anchor.target || anchor.origin !== location.origin || !isOurs(anchor.pathname)) return;
    event.preventDefault();
    show(anchor.pathname + anchor.search, true);
  });
}
