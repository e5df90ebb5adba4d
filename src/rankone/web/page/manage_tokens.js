// Tokens from the page: who has one, a new one (shown once), and the end of one.

import { element } from "./dom.js";
import { act, field, input, select, sure } from "./manage.js";

const SCOPES = ["ask", "tell", "read", "admin", "sign"];

function state(token) {
  if (token.revoked !== null) return token.revoked_by ? `revoked by ${token.revoked_by}` : "revoked";
  if (!token.valid) return "expired";
  return token.expires === null ? "valid" : `until ${new Date(1000 * token.expires).toLocaleDateString()}`;
}

export function tokenParts(api, who, names) {
  const table = element("table", { class: "lines plain tokens" });
  const said = element("p", { class: "said", "aria-live": "polite" });

  async function show() {
    const { tokens } = await api.get("v1/tokens");
    const head = element("tr", {}, ...["id", "note", "may", "experiment", "made by", "state", ""].map((text) => element("th", {}, text)));
    table.replaceChildren(element("thead", {}, head), element("tbody", {}, ...tokens.map(line)));
  }

  function line(token) {
    const cells = [token.note, token.scopes.join(" "), token.experiment, token.made_by ?? "–", state(token)].map((text) => element("td", {}, text));
    const last = element("td", {});
    if (token.valid) {
      const button = element("button", { type: "button" }, "Revoke…");
      button.addEventListener("click", () => revoke(token));
      last.append(button);
    }
    return element("tr", {}, element("th", {}, token.id), ...cells, last);
  }

  async function revoke({ id, note }) {
    const own = id === who.id ? " This page uses it." : "";
    if (!await sure(`End the token ${id}${note ? ` (${note})` : ""} at once? Anyone who uses it is refused.${own}`, "Yes, revoke it")) return;
    try {
      await api.send(`v1/tokens/${encodeURIComponent(id)}/revoke`);
      await show();
    } catch (error) {
      said.textContent = error.message;
    }
  }

  const boxes = SCOPES.filter((scope) => who.scopes.includes(scope)).map((scope) => field(scope, input("scope", { type: "checkbox", value: scope })));
  const where = who.experiment === "*" ? ["*", ...names] : [who.experiment];
  const make = act("New token", "It cannot do more than the token of this page.", [
    ...boxes, field("Experiment", select("experiment", where)), field("Note", input("note", { maxlength: "256" })),
    field("Days (empty: no end)", input("days", { type: "number", min: "1", max: "36500", value: "365" })),
  ], "Make…", (data) => {
    const scopes = data.getAll("scope");
    if (!scopes.length) throw new Error("Choose what it may do.");
    const where = data.get("experiment") === "*" ? "all experiments" : `'${data.get("experiment")}'`;
    const first = who.id === null ? " From then on everybody needs a token, this page too." : "";
    return {
      sentence: `Make a token that may ${scopes.join(", ")} on ${where}?${first}`, yes: "Yes, make it",
      carryOut: async () => {
        const days = data.get("days") ? Number(data.get("days")) : null;
        const wishes = { scopes, experiment: data.get("experiment"), note: data.get("note").trim() || null, days };
        const { token } = await api.send("v1/tokens", wishes);
        if (who.id === null) setTimeout(() => api.sign(token), 0); // or this page would be shut out
        else show();
        return element("span", {}, "Copy it now, it is not shown again: ", element("code", { class: "secret" }, token));
      },
    };
  });
  show().catch((error) => { said.textContent = error.message; });
  const list = element("div", { class: "act-form wide-form" }, element("h3", {}, "Tokens"), element("div", { class: "scroll" }, table), said);
  return [make, list];
}
