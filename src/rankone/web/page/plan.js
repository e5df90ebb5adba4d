// The plan: how long an experiment will take, before it begins. Nothing is asked for until somebody wants to know.

import { $, element, number } from "./dom.js";

const FIELDS = [
  ["rows", "Rows", "4", "1"], ["cols", "Columns", "5", "1"], ["more", "More factors: levels of each, such as 3, 2", "", "text"], ["rate", "Click rate, %", "3", "any"],
  ["lift", "Lift of the best pair, %", "10", "any"], ["visitors_a_day", "Visitors a day", "5000", "any"],
  ["margin", "Margin, % (0: none)", "0", "any"],
];
const PERCENT = new Set(["rate", "lift", "margin"]);

function figures(value) {
  return number(Number(value.toPrecision(value < 10 ? 2 : 3)));
}

// What a way takes, for a cell: "longer" where most rehearsals had no verdict before they gave up.
function cell(value, span, perDay) {
  if (value === null) return span.beyond === null ? "never" : "longer";
  return perDay ? `${figures(value)} (${figures(value / perDay)} days)` : figures(value);
}

function table(plan) {
  const head = ["goal", "visitors, half decided", "visitors, nine of ten", "clicks lost"];
  const rows = plan.spans.map((span) => [
    span.way, cell(span.median, span, plan.visitors_a_day), cell(span.late, span, plan.visitors_a_day),
    span.lost === null ? "\u2013" : figures(span.lost),
  ]);
  const line = (tag, cells) => element("tr", {}, ...cells.map((text) => element(tag, {}, text)));
  return element("table", { class: "lines" }, element("thead", {}, line("th", head)), element("tbody", {}, ...rows.map(([goal, ...cells]) => element("tr", {}, element("th", { scope: "row" }, goal), ...cells.map((text) => element("td", {}, text))))));
}

// `post` sends the wishes to the service and returns its plan.
export function offerPlan(post) {
  const inputs = FIELDS.map(([name, title, value, step]) =>
    element("label", {}, title, element("input", step === "text" ? { name, type: "text", value } : { name, type: "number", value, step, min: "0", required: "" })));
  $("plan-fields").replaceChildren(...inputs);
  $("plan-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = new FormData($("plan-form"));
    const { more, rows, cols, ...wishes } = Object.fromEntries(FIELDS.map(([name]) =>
      [name, name === "more" ? given.get(name) : Number(given.get(name)) / (PERCENT.has(name) ? 100 : 1)]));
    const sizes = [rows, cols, ...more.split(/[^0-9]+/).filter(Boolean).map(Number)];
    Object.assign(wishes, sizes.length > 2 ? { factors: Object.fromEntries(sizes.map((size, place) => [`factor ${place + 1}`, size])) } : { rows, cols });
    $("plan-answer").replaceChildren(element("p", {}, "Rehearsing: some seconds."));
    try {
      const plan = await post("v1/plan", wishes);
      $("plan-answer").replaceChildren(
        ...plan.sentence.split("\n").map((text) => element("p", {}, text)), element("div", { class: "scroll" }, table(plan)));
    } catch (error) {
      $("plan-answer").replaceChildren(element("p", { role: "alert" }, error.message));
    }
  });
}
