// A new experiment from the page: any number of factors, each with its levels, and whatever settings the service declares.

import { element } from "./dom.js";
import { act, field, input, select } from "./manage.js";

const MOST = 20; // factors, as the service has it
const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);
const FIRST_SHOWN = new Set(["stopping.auto", "stopping.margin", "control.levels"]); // beside those of no group
const FIRST = { window: 600 }; // what a page wants that does not report missing clicks

// A goal in each line, with what is said of it: order: kind=amount, cap=500
const value = (given) => given === "true" ? true : given === "" || Number.isNaN(Number(given)) ? given : Number(given);
const said = (rest) => Object.fromEntries((rest ?? "").split(",").map((part) => part.split("=").map((each) => each.trim())).filter(([key]) => key).map(([key, given]) => [key, value(given ?? "")]));
const goals = (given) => Object.fromEntries(lines(given).map((line) => line.split(/:(.*)/s)).map(([name, rest]) => [name.trim(), said(rest)]));

// A name in each line, and what belongs to it behind an equals sign, if anything does.
const byName = (text, value) => Object.fromEntries(lines(text).map((line) => line.split(/=(.*)/s)).map(([name, rest]) => [name.trim(), value(rest)]));

const KIND = /^(bool|float|[-.\d]+\.\.[-.\d]+)$/; // of an attribute that has no levels

// For each kind of setting: the field of a form, and what its text says. Settings whose field is empty are left out.
const text = (each) => element("textarea", { name: each.path, rows: "2" });
const digits = (each) => input(each.path, { type: "number", min: each.low, max: each.high, step: each.kind === "whole" ? "1" : "any" });
const KINDS = {
  number: [digits, Number],
  whole: [digits, Number],
  choice: [(each) => select(each.path, each.default === null ? ["", ...each.choices] : each.choices), String],
  flag: [(each) => input(each.path, { type: "checkbox" }), () => true],
  policy: [(each) => input(each.path, { maxlength: "256" }), String],
  combination: [text, (given) => byName(given, (level) => (level ?? "").trim())],
  goals: [text, goals],
  attributes: [text, (given) => byName(given, (levels) => levels === undefined ? null : KIND.test(levels.trim()) ? levels.trim() : levels.split(",").map((level) => level.trim()))],
};
const EXAMPLES = { combination: "headline = A", attributes: "device = phone, desktop\nage = 18..90", goals: "click\norder: kind=amount, cap=500" };

function settingField(setting) {
  const made = KINDS[setting.kind][0](setting);
  made.setAttribute("placeholder", EXAMPLES[setting.kind] ?? setting.default ?? "");
  if (setting.name in FIRST) made.setAttribute("value", FIRST[setting.name]);
  made.querySelector?.(`option[value="${setting.default}"]`)?.setAttribute("selected", "");
  return field(setting.label, made, { title: setting.help, ...(made.tagName === "TEXTAREA" && { class: "whole" }) });
}

// What the fields of a form say, as the service takes it: settings of a group together.
function chosenSettings(settings, data) {
  const found = {};
  for (const { name, group, path, kind } of settings) {
    const text = (data.get(path) ?? "").trim();
    if (text) (group ? found[group] ??= {} : found)[name] = KINDS[kind][1](text);
  }
  return found;
}

// The factors of a form: two at first, as for rows and columns; a button adds one, another takes it away.
function factorFields() {
  const all = element("div", { class: "factors whole" });
  const more = element("button", { type: "button" }, "Add a factor");
  const places = () => [...all.querySelectorAll("fieldset")];

  function number() {
    places().forEach((place, index) => {
      place.querySelector("legend").textContent = `Factor ${index + 1}`;
      place.querySelector("button").hidden = places().length === 1;
    });
    more.hidden = places().length === MOST;
  }

  function add(name = "") {
    const remove = element("button", { type: "button" }, "Remove");
    const place = element("fieldset", {}, element("legend", {}),
      field("Name of the factor", input("factor", { maxlength: "256", value: name, required: "" })),
      field("Levels of the factor", element("textarea", { name: "levels", rows: "4", required: "", placeholder: "one in each line" })), remove);
    remove.addEventListener("click", () => { place.remove(); number(); });
    more.before(place);
    number();
    return place;
  }

  more.addEventListener("click", () => add().querySelector("input").focus());
  const begin = () => { all.replaceChildren(more); add("row"); add("col"); };
  begin();
  return { all, begin };
}

export async function createForm(api) {
  const { settings } = await api.get("v1/settings");
  const { all, begin } = factorFields();
  const first = (each) => !each.group || FIRST_SHOWN.has(each.path);
  const [alone, grouped] = [settings.filter(first), settings.filter((each) => !first(each))];
  const more = element("details", { class: "whole" }, element("summary", {}, "More settings"), element("div", { class: "fields" }, ...grouped.map(settingField)));
  const form = act("New experiment", "Each visitor sees one level of each factor.", [
    field("Name", input("name", { maxlength: "256", required: "" }), { class: "whole" }), all, ...alone.map(settingField), more,
  ], "Create…", (data) => {
    const name = data.get("name").trim();
    const levels = data.getAll("levels").map(lines);
    const names = data.getAll("factor").map((each) => each.trim());
    const twice = names.find((each, place) => names.indexOf(each) !== place);
    if (twice !== undefined) throw new Error(`Give each factor a name of its own: two are called '${twice}'.`);
    const sizes = levels.map((each) => each.length);
    const product = sizes.length > 1 ? ` (${sizes.join(" times ")})` : "";
    const factors = Object.fromEntries(names.map((each, place) => [each, levels[place]]));
    return {
      sentence: `Create '${name}' with ${sizes.reduce((one, other) => one * other, 1)} combinations${product}? Its name and settings cannot be changed later.`, yes: "Yes, create it",
      carryOut: () => api.send("v1/experiments", { name, factors, ...chosenSettings(settings, data) }).then(() => "created"),
    };
  });
  form.classList.add("wide-form");
  form.addEventListener("reset", begin);
  return form;
}
