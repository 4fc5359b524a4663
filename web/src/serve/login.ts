// Login: the one page without data.

import { h, plain } from "../report/dom";
import type { Me } from "./answers";
import { post, Refused } from "./api";

export function login(then: (me: Me) => void): HTMLElement {
  const user = h("input", { id: "user", name: "username", autocomplete: "username", required: true, maxlength: 200, autocapitalize: "none", spellcheck: "false" });
  const password = h("input", { id: "password", name: "password", type: "password", autocomplete: "current-password", required: true, maxlength: 1000 });
  const fault = h("p", { class: "bad", role: "alert" });
  const enter = h("button", { type: "submit" }, "log in");
  const form = h("form", {
    class: "login", "aria-label": "log in",
    onsubmit: (event: Event) => {
      event.preventDefault();
      enter.disabled = true;
      fault.textContent = "";
      post<Me>("login", { user: user.value, password: password.value }).then(then, (error: unknown) => {
        enter.disabled = false;
        password.value = "";
        const status = error instanceof Refused ? error.status : 0;
        fault.textContent = status === 401 ? "No user has this name and password." : status === 429 ? "Too many wrong passwords: wait a while." : plain(error instanceof Error ? error.message : String(error), 200);
        password.focus();
      });
    },
  },
  h("b", { class: "mark" }, "talea"), h("h1", {}, "who are you?"),
  h("label", { for: "user" }, "name"), user, h("label", { for: "password" }, "password"), password, fault, enter);
  setTimeout(() => user.focus());
  return h("main", { class: "entrance" }, form);
}
