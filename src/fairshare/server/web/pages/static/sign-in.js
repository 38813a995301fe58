// The question who the reader is, where the server wants to know: a token, or the password of an
// account of its machine; and the one-time address of `fairshare open`, whose code is in the
// fragment, which is sent nowhere and is taken from the address at once. What the server gives for
// it is a token, which stays in this tab of the browser and is sent with every call.

import { h } from "./document.js";
import { token } from "./session.js";
import { store } from "./store.js";

const CODE = "#sign-in=";
const SESSION_MS = 12 * 3_600_000; // at most: the server may allow less
let ways = null; // GET /api/v1/sign-in
let problem = "";

// Call once, before the first question to the server.
export async function redeemAddress() {
  if (!location.hash.startsWith(CODE)) return;
  const code = location.hash.slice(CODE.length);
  history.replaceState(null, "", location.pathname + location.search);
  await signIn({ code });
}

export function drawSignIn(redraw) {
  if (ways === null) {
    ways = { tokens: true, passwords: false, addresses: false };
    store.read("/sign-in").then((answer) => { ways = answer; redraw(); }, () => {});
  }
  return h("div", { class: "notice info sign-in", key: "sign-in" },
    h("b", {}, "Who are you?"),
    ways.passwords && h("form", { key: "password", on: { submit: (event) => submitted(event, redraw) } },
      h("label", {}, "Account ", h("input", { name: "user", autocomplete: "username", required: true })),
      h("label", {}, "Password ", h("input", { name: "password", type: "password", autocomplete: "current-password", required: true })),
      h("button", { class: "btn main small", type: "submit" }, "Sign in")),
    h("form", { key: "token", on: { submit: (event) => submitted(event, redraw) } },
      h("label", {}, "Token ", h("input", { name: "token", type: "password", autocomplete: "off", required: true })),
      h("button", { class: "btn small", type: "submit" }, "Sign in")),
    problem && h("span", { role: "alert" }, problem),
    h("span", { class: "faint" }, ...hints()));
}

function hints() {
  const code = (text) => h("code", { class: "mono" }, text);
  if (ways.addresses) return ["On the server's machine, ", code("fairshare open"), " prints an address that signs you in, and ", code("fairshare login"), " a token."];
  if (ways.tokens) return ["An administrator makes a token: ", code("fairshare admin token create USER")];
  return ["This server takes no tokens: an administrator sets ", code("tokens = true"), " below [authentication] in fairshare.toml."];
}

async function submitted(event, redraw) {
  event.preventDefault();
  const given = Object.fromEntries(new FormData(event.target));
  await signIn(given);
  redraw();
}

// An address that comes from another user must not sign a reader in as that one unnoticed.
function stays(user) {
  return token.value !== "" && !window.confirm(`This address signs you in as ${user}. You are signed in already: change to ${user}?`);
}

async function signIn(given) {
  try {
    if (given.token === undefined) {
      const own = await store.send("/sign-in", { ...given, lifetime_ms: SESSION_MS });
      if (given.code !== undefined && stays(own.user)) return;
      token.value = own.token;
    } else {
      token.value = given.token.trim();
    }
    await store.read("/session");
    problem = "";
    store.reconnect();
    store.refresh();
  } catch (fault) {
    token.value = "";
    problem = fault.message;
  }
}
