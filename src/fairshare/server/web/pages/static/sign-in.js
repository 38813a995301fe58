// The question for a token, where the server wants one. The token stays in this
// tab of the browser and is sent with every call.

import { h } from "./document.js";
import { token } from "./session.js";
import { store } from "./store.js";

export function drawSignIn() {
  return h("form", { class: "notice info sign-in", key: "sign-in", on: { submit: signIn } },
    h("label", {}, "This server wants to know who you are. Your token: ",
      h("input", { name: "token", type: "password", autocomplete: "off", required: true })),
    h("button", { class: "btn main small", type: "submit" }, "Sign in"),
    h("span", { class: "faint" }, "An administrator makes one: ", h("code", { class: "mono" }, "fairshare admin token create USER")));
}

function signIn(event) {
  event.preventDefault();
  token.value = new FormData(this).get("token").trim();
  store.reconnect();
  store.refresh();
}
