// Webhooks from the page: who is told of what, how that went, a new one (its secret is shown once), and the end of one.

import { element } from "./dom.js";
import { act, field, input, select, sure } from "./manage.js";

const EVENTS = ["verdict", "alarm", "traffic", "guardrail", "stop", "no-data"];

export function webhookParts(api, who, names) {
  const table = element("table", { class: "lines plain tokens" });
  const said = element("p", { class: "said", "aria-live": "polite" });

  async function show() {
    const { webhooks } = await api.get("v1/webhooks");
    const head = element("tr", {}, ...["id", "address", "format", "experiment", "told of", "arrived", "waiting", "given up", "last error", ""].map((text) => element("th", {}, text)));
    table.replaceChildren(element("thead", {}, head), element("tbody", {}, ...webhooks.map(line)));
  }

  function line(hook) {
    const events = hook.events.length === EVENTS.length ? "everything" : hook.events.join(" ");
    const cells = [hook.address, hook.format, hook.experiment, events, hook.arrived, hook.waiting, hook.failed, hook.error ?? "–"];
    const path = `v1/webhooks/${encodeURIComponent(hook.id)}`;
    const button = (text, act) => {
      const made = element("button", { type: "button" }, text);
      made.addEventListener("click", () => act().catch((error) => { said.textContent = error.message; }));
      return made;
    };
    const test = button("Test", async () => {
      said.textContent = "…";
      const { delivered, error } = await api.send(`${path}/test`);
      said.textContent = delivered ? "The test message arrived." : `The test message did not arrive: ${error}`;
    });
    const remove = button("Remove…", async () => {
      if (!await sure(`Remove the webhook ${hook.id} to ${hook.address}, and what it was still to be told?`, "Yes, remove it")) return;
      await api.send(`${path}/remove`);
      await show();
    });
    return element("tr", {}, element("th", {}, hook.id), ...cells.map((text) => element("td", {}, String(text))), element("td", {}, test, " ", remove));
  }

  const where = who.experiment === "*" ? ["*", ...names] : [who.experiment];
  const make = act("New webhook", "Told of verdicts, alarms and stops, by HTTPS, Slack or e-mail (mailto:...).", [
    field("Address", input("address", { maxlength: "2000", placeholder: "https://..." })),
    field("Format", select("format", ["as the address has it", "slack"])), field("Experiment", select("experiment", where)),
    ...EVENTS.map((event) => field(event, input("event", { type: "checkbox", value: event, checked: "" }))),
  ], "Add…", (data) => {
    const events = data.getAll("event");
    if (!events.length) throw new Error("Choose what it is told of.");
    const wishes = { address: data.get("address").trim(), experiment: data.get("experiment"), events };
    if (data.get("format") === "slack") wishes.format = "slack";
    const where = wishes.experiment === "*" ? "all experiments" : `'${wishes.experiment}'`;
    return {
      sentence: `Tell ${wishes.address} of ${events.join(", ")} of ${where}?`, yes: "Yes, add it",
      carryOut: async () => {
        const { secret } = await api.send("v1/webhooks", wishes);
        show();
        return element("span", {}, "Copy its secret now, it is not shown again: ", element("code", { class: "secret" }, secret));
      },
    };
  });
  show().catch((error) => { said.textContent = error.message; });
  const list = element("div", { class: "act-form wide-form" }, element("h3", {}, "Webhooks"), element("div", { class: "scroll" }, table), said);
  return [make, list];
}
