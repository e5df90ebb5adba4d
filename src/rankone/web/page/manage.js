// What an operator may do from the page: only with a token of scope admin, and never without a second click.

import { $, element, living } from "./dom.js";
import { createForm } from "./manage_create.js";
import { tokenParts } from "./manage_tokens.js";
import { webhookParts } from "./manage_webhooks.js";

const LEADING = "the leader", ANY = "any";
let api = null; // { get, send, look }
let who = null; // what our token may do
let now = null; // the view that is shown
let drawn = ""; // what the forms were made for: they are made again only if that changes
const answers = new Map(); // what each form answered last, by its title: that stays when forms are made again

export const field = (title, input, more = {}) => element("label", more, title, input);
export const input = (name, more = {}) => element("input", { name, autocomplete: "off", spellcheck: "false", ...more });
export const select = (name, options) => element("select", { name }, ...options.map((text) => element("option", { value: text }, text)));
const mayAdmin = (name) => who.scopes.includes("admin") && (who.experiment === "*" || who.experiment === name);

// Ask once more before something is done; everything in it is text.
export function sure(sentence, button) {
  const dialog = $("confirm");
  const yes = element("button", { type: "button", class: "act" }, button);
  const no = element("button", { type: "button" }, "Cancel");
  dialog.replaceChildren(element("p", {}, sentence), element("p", { class: "buttons" }, no, yes));
  return new Promise((resolve) => {
    yes.addEventListener("click", () => dialog.close("yes"));
    no.addEventListener("click", () => dialog.close("no"));
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
    dialog.returnValue = "no";
    dialog.showModal();
    no.focus();
  });
}

// A form: its fields, a button, what to ask before, and what to do. Its answer, or what is wrong, stands below.
export function act(title, note, fields, button, plan) {
  const said = answers.get(title) ?? element("p", { class: "said", "aria-live": "polite" });
  answers.set(title, said);
  const form = element("form", { class: "act-form" }, element("h3", {}, title), element("p", { class: "note" }, note),
    element("div", { class: "fields" }, ...fields), element("button", {}, button), said);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    said.classList.remove("bad");
    try {
      const { sentence, yes, carryOut } = plan(new FormData(form));
      if (!await sure(sentence, yes)) return;
      said.textContent = "…";
      said.replaceChildren(await carryOut() ?? "done");
      form.reset();
      await api.look();
      await showChanges();
    } catch (error) {
      said.textContent = error.message;
      said.classList.add("bad");
    }
  });
  return form;
}

const path = (what) => `v1/experiments/${encodeURIComponent(now.report.name)}/${what}`;
const given = (data, names) => Object.fromEntries(names.map((name) => [name, data.get(name).trim()]).filter(([, text]) => text));

const levelChoices = (factors, first) => factors.map((factor) => field(factor.name, select(`level ${factor.name}`, [first, ...living(factor)])));
// A level may be called as the first choice is: what was chosen is told by its place.
const chosenLevels = (factors, choices) => factors.map((factor, place) => [factor.name, choices[place].querySelector("select").selectedIndex, living(factor)])
  .filter(([, index]) => index > 0).map(([factor, index, names]) => [factor, names[index - 1]]);
const levelsText = (levels) => {  // the grammar of rankone.wording.combinations
  const unnamed = levels.map(([factor]) => factor).join() === "row,col";
  const each = levels.map(([factor, level]) => (unnamed ? `'${level}'` : `${factor} '${level}'`));
  return each.length < 3 ? each.join(" with ") : `${each.slice(0, -1).join(", ")} and ${each.at(-1)}`;
};

function stopForm() {
  const { report } = now;
  const name = report.name;
  if (report.stopped !== null) {
    return act("Resume", `It is stopped: ${report.stopped}.`, [], "Resume…", () => ({
      sentence: `Resume '${name}' with everything learned so far?`, yes: "Yes, resume",
      carryOut: () => api.send(path("resume")).then(() => "resumed"),
    }));
  }
  const choices = report.ranking ? [] : levelChoices(report.factors, LEADING); // of a ranking, the present list
  return act("Stop", `Every visitor then sees ${report.ranking ? "the present list" : "one combination"}.`, [...choices, field("Why", input("why", { maxlength: "256", value: "by hand", required: "" }))],
    "Stop…", (data) => {
      const chosen = report.ranking ? [] : chosenLevels(report.factors, choices);
      const what = chosen.length ? levelsText(chosen) : report.ranking ? "the present list" : "the leader";
      return {
        sentence: `Stop '${name}', and show every visitor ${what}?`, yes: "Yes, stop",
        carryOut: () => api.send(path("stop"), { why: data.get("why"), levels: chosen.length ? Object.fromEntries(chosen) : null }).then(() => "stopped"),
      };
    });
}

function levelForms() {
  const { report } = now;
  const add = act("Add a level", "What was learned about the others is kept.", [
    field("Factor", select("factor", report.factors.map((factor) => factor.name))), field("Name", input("name", { maxlength: "256", required: "" })),
  ], "Add…", (data) => ({
    sentence: `Show ${data.get("factor")} '${data.get("name")}' to visitors of '${report.name}' from now on?`, yes: "Yes, add it",
    carryOut: () => api.send(path("levels/add"), { factor: data.get("factor"), name: data.get("name") }).then(() => "added"),
  }));
  const all = report.factors.flatMap((factor) => living(factor).map((level) => [factor.name, level]));
  const chooser = element("select", { name: "level" }, ...all.map(([factor, level], place) => element("option", { value: place }, `${factor}: ${level}`)));
  const retire = act("Retire a level", "It is never shown again; its open decisions still take outcomes.", [field("Level", chooser)],
    "Retire…", (data) => {
      const [factor, level] = all[Number(data.get("level"))];
      return {
        sentence: `Never show ${factor} '${level}' of '${report.name}' again?`, yes: "Yes, retire it",
        carryOut: () => api.send(path("levels/retire"), { factor, name: level }).then(() => "retired"),
      };
    });
  return [add, retire];
}

// What is never shown together, and what may be again.
function togetherForms() {
  const { report } = now;
  const { factors } = report;
  if (factors.length < 2) return [];
  const choices = levelChoices(factors, ANY);
  const forbid = act("Never show together", "Choose levels of two or more factors.", choices, "Forbid…", () => {
    const chosen = chosenLevels(factors, choices);
    if (chosen.length < 2) throw new Error("Choose levels of two factors or more.");
    return {
      sentence: `Never show ${levelsText(chosen)} together in '${report.name}'?`, yes: "Yes, forbid it",
      carryOut: () => api.send(path("forbid"), { levels: Object.fromEntries(chosen) }).then(() => "forbidden"),
    };
  });
  const rules = (report.forbidden ?? []).map(Object.entries);
  if (!rules.length) return [forbid];
  const chooser = element("select", { name: "rule" }, ...rules.map((rule, place) => element("option", { value: place }, levelsText(rule))));
  return [forbid, act("Show together again", "Lift a rule.", [field("Levels", chooser)], "Allow…", (data) => {
    const rule = rules[Number(data.get("rule"))];
    return {
      sentence: `Show ${levelsText(rule)} together again in '${report.name}'?`, yes: "Yes, allow it",
      carryOut: () => api.send(path("allow"), { levels: Object.fromEntries(rule) }).then(() => "allowed"),
    };
  })];
}

function excludeForm() {
  const { report } = now;
  const times = ["since", "until"].map((name) => field(name === "since" ? "Asked since" : "Asked before", input(name, { type: "datetime-local" })));
  return act("Exclude outcomes", "Outcomes so far that match every field are ignored. Archived outcomes are not reached.", [
    field("Source", input("source", { maxlength: "256" })), field("Id of a token", input("token", { maxlength: "256" })), ...times,
    field("Why", input("why", { maxlength: "256", value: "outcomes excluded", required: "" })),
  ], "Exclude…", (data) => {
    const fits = given(data, ["source", "token", "since", "until"]);
    const named = Object.entries(fits).map(([what, value]) => `${what} ${value.replace("T", " ")}`).join(", ");
    if (!named) throw new Error("Name a source, a token or a time.");
    for (const when of ["since", "until"]) if (fits[when]) fits[when] = new Date(fits[when]).getTime() / 1000;
    return {
      sentence: `Ignore all outcomes of '${report.name}' with ${named}? This cannot be undone.`, yes: "Yes, exclude them",
      carryOut: () => api.send(path("exclude"), { ...fits, why: data.get("why") }).then((found) => `${found.excluded} excluded`),
    };
  });
}

async function showChanges() {
  $("changes").hidden = !now;
  if (!now) return;
  const { changes } = await api.get(path("changes"));
  const lines = changes.reverse().map(({ at, what, by }) => element("tr", {},
    element("th", {}, new Date(1000 * at).toLocaleString()), element("td", {}, what), element("td", {}, by ?? "–")));
  const head = element("tr", {}, ...["when", "what", "token"].map((text) => element("th", {}, text)));
  $("changes").replaceChildren(element("thead", {}, head), element("tbody", {}, ...lines));
}

// Show what may be done to the experiment that is shown, if anything may.
export async function showManage(view, identity, names) {
  [now, who] = [view, identity];
  $("manage").hidden = false;
  if (!$("manage-details").open) return;
  const { name, stopped } = view?.report ?? { name: null }; // there may be no experiment yet
  const factors = view ? view.report.factors : [];
  const wanted = JSON.stringify([name, stopped, factors.map((factor) => [factor.name, living(factor)]), view?.report.forbidden, who, names]);
  if (wanted === drawn) return;
  const same = drawn && JSON.parse(drawn)[0] === name;
  if (drawn && !same) { // nobody can show a new token again: that stays
    for (const [title, said] of answers) if (!said.querySelector(".secret")) answers.delete(title);
  }
  drawn = wanted;
  const parts = view && mayAdmin(name) ? [stopForm(), ...levelForms(), ...togetherForms(), excludeForm()] : [];
  if (who.scopes.includes("admin")) {
    const [make, list] = tokenParts(api, who, names);
    const [hook, hooks] = webhookParts(api, who, names);
    parts.push(make, hook, await createForm(api), list, hooks); // what is wide comes last
  }
  const note = "This token may look only: one with the scope admin may change experiments here.";
  const before = same ? typed() : new Map();
  $("manage-parts").replaceChildren(...(parts.length ? parts : [element("p", { class: "note" }, note)]));
  for (const [key, field] of typed()) if (before.has(key)) take(field, before.get(key));
  await showChanges();
}

// The fields of all forms, by form and name: what is half-typed stays when forms are made again.
const typed = () => new Map([...$("manage-parts").querySelectorAll(".act-form > .fields :is(input, select)")].map((field) => [
  [field.form.querySelector("h3").textContent, field.name, field.type === "checkbox" ? field.value : ""].join("\n"), field]));

function take(field, old) {
  if (field.type === "checkbox") field.checked = old.checked;
  else if (!field.options || [...field.options].some(({ value }) => value === old.value)) field.value = old.value;
}

export function offerManage(given) {
  api = given;
  $("manage-details").addEventListener("toggle", () => { drawn = ""; $("manage-parts").replaceChildren(); api.look(); });
}
