// A new experiment from the page: any number of factors, each with its levels.

import { element } from "./dom.js";
import { act, field, input, select } from "./manage.js";

const MOST = 20; // factors, as the service has it
const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

// The factors of a form: two at first, as for rows and columns; a button adds one, another takes it away.
function factorFields() {
  const all = element("div", { class: "factors whole" });
  const more = element("button", { type: "button" }, "One factor more");
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
      field("Its name", input("factor", { maxlength: "256", value: name, required: "" })),
      field("Its levels", element("textarea", { name: "levels", rows: "4", required: "", placeholder: "one in each line" })), remove);
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

export function createForm(api) {
  const { all, begin } = factorFields();
  const form = act("New experiment", "Any number of factors: what a visitor sees is one level of each.", [
    field("Name", input("name", { maxlength: "256", required: "" }), { class: "whole" }), all,
    field("Window, seconds (empty: none)", input("window", { type: "number", min: "1", step: "any", value: "600" })),
    field("Goal", select("goal", ["both", "earn", "decide"])),
    field("When levels change against each other", select("on_change", ["tell", "restart", "ignore"])),
    field("When levels are no product", select("on_misfit", ["tell", "insure", "ignore"])),
    field("Each segment for itself", input("per_segment", { type: "checkbox" })),
  ], "Create…", (data) => {
    const name = data.get("name").trim();
    const levels = data.getAll("levels").map(lines);
    const names = data.getAll("factor").map((each) => each.trim());
    const twice = names.find((each, place) => names.indexOf(each) !== place);
    if (twice !== undefined) throw new Error(`Give each factor a name of its own: two are called '${twice}'.`);
    const sizes = levels.map((each) => each.length);
    const product = sizes.length > 1 ? ` (${sizes.join(" times ")})` : "";
    const window = data.get("window") ? Number(data.get("window")) : null;
    const factors = Object.fromEntries(names.map((each, place) => [each, levels[place]]));
    const more = { on_change: data.get("on_change"), on_misfit: data.get("on_misfit"), per_segment: data.has("per_segment") };
    return {
      sentence: `Create '${name}' with ${sizes.reduce((one, other) => one * other, 1)} combinations${product}? Its name, goal and window stay as they are.`, yes: "Yes, create it",
      carryOut: () => api.send("v1/experiments", { name, factors, window, goal: data.get("goal"), ...more }).then(() => "it is there"),
    };
  });
  form.classList.add("wide-form");
  form.addEventListener("reset", begin);
  return form;
}
