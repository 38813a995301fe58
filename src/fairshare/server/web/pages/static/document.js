// How the page is built: nodes from plain calls, and an existing tree brought into
// the shape of a new one. Nothing here parses markup, so whatever a tenant writes stays text.
//
//   h("a", {class: "btn", href: link("/cluster/apps"), on: {click: open}}, "Open")
//   svg("path", {d: "M0 0H10"})
//   morph(place, h("div", {}, ...))    place keeps its node, its focus, its scroll position
//
// Properties of h: class, on (events), style (object of CSS properties, custom ones too), dataset,
// key (which row is which when rows come and go), own (morph leaves the children alone: other
// code draws them), everything else is an attribute; null, undefined and false leave it out.
// Children: strings, numbers, nodes, arrays of these; null, undefined and false are left out.

const SVG = "http://www.w3.org/2000/svg";

export function h(tag, properties, ...children) {
  return build(document.createElement(tag), properties, children);
}

export function svg(tag, properties, ...children) {
  return build(document.createElementNS(SVG, tag), properties, children);
}

function build(node, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) set(node, name, value);
  append(node, children);
  return node;
}

function set(node, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name === "on") listen(node, value);
  else if (name === "style") for (const [k, v] of Object.entries(value)) node.style.setProperty(k, v);
  else if (name === "dataset") Object.assign(node.dataset, value);
  else if (name === "key") node.rowKey = String(value);
  else if (name === "own") node.ownsChildren = true;
  else if (name === "value") { node.value = value; node.givenValue = value; }
  else node.setAttribute(name, value === true ? "" : value);
}

function listen(node, handlers) {
  node.handlers = handlers;
  for (const type of Object.keys(handlers)) node.addEventListener(type, dispatch);
}

// One listener for each type looks up the handler, so that morph can hand a new one over.
function dispatch(event) { this.handlers?.[event.type]?.call(this, event); }

function append(node, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false || child === true) continue;
    if (Array.isArray(child)) append(node, child);
    else node.append(child instanceof Node ? child : String(child));
  }
}

// Bring the children of `place` into the shape of `children`.
export function fill(place, ...children) {
  const holder = document.createDocumentFragment();
  append(holder, children);
  alignChildren(place, holder);
}

// Bring `current` into the shape of `next`; both must be of one tag.
export function morph(current, next) {
  alignAttributes(current, next);
  current.rowKey = next.rowKey;
  const before = current.handlers ?? {};
  current.handlers = next.handlers;
  for (const type of Object.keys(next.handlers ?? {})) {
    if (!(type in before)) current.addEventListener(type, dispatch);
  }
  if ("givenValue" in next && next.givenValue !== current.givenValue) {
    if (document.activeElement !== current) current.value = next.givenValue;
    current.givenValue = next.givenValue;
  }
  if (!next.ownsChildren) alignChildren(current, next);
  // A list knows its choices only now.
  if ("givenValue" in next && current.tagName === "SELECT") current.value = next.givenValue;
}

function alignAttributes(current, next) {
  for (const { name } of [...current.attributes]) {
    const kept = name === "style" || (name === "open" && !next.hasAttribute("open"));
    if (!kept && !next.hasAttribute(name)) current.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (name !== "style" && current.getAttribute(name) !== value) current.setAttribute(name, value);
  }
  if (current.style && current.style.cssText !== next.style.cssText) {
    current.style.cssText = next.style.cssText;
  }
}

function alignChildren(current, next) {
  const keyed = new Map();
  for (const child of current.childNodes) if (child.rowKey !== undefined) keyed.set(child.rowKey, child);
  let at = current.firstChild;
  for (const wanted of [...next.childNodes]) {
    const known = wanted.rowKey === undefined ? at : keyed.get(wanted.rowKey);
    if (known && alike(known, wanted)) {
      if (known !== at) current.insertBefore(known, at);
      else at = at.nextSibling;
      if (known.nodeType === Node.TEXT_NODE) {
        if (known.data !== wanted.data) known.data = wanted.data;
      } else if (known !== wanted) morph(known, wanted);
    } else current.insertBefore(wanted, at);
  }
  while (at) { const after = at.nextSibling; at.remove(); at = after; }
}

function alike(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && a.rowKey === b.rowKey
    && Boolean(a.ownsChildren) === Boolean(b.ownsChildren);
}
