// The plan: how long an experiment will take, before it begins. Nothing is asked for until somebody wants to know.

import { $, element, number } from "./dom.js";

// Name, title, what it begins with, step, and the kinds of plan that have it (all, if it names none).
const FIELDS = [
  ["sizes", "Levels of each factor", "4, 5", "text"], ["rate", "Click rate, %", "3", "any"],
  ["lift", "Lift of the best, %", "10", "any", "clicks", "revenue"],
  ["visitors_a_day", "Visitors a day", "5000", "any"],
  ["margin", "Margin, % (0: none)", "0", "any", "clicks"],
  ["average", "Average order", "50", "any", "revenue"], ["cap", "Cap of a visitor", "500", "any", "revenue"],
  ["worse_by", "Worse by at most, %", "10", "any", "guardrail"],
];
const KINDS = [["clicks", "a winner on clicks"], ["revenue", "a winner on revenue"], ["guardrail", "a guardrail to be cleared"]];
const RATES = { clicks: "Click rate, %", revenue: "Visitors who order, %", guardrail: "Visitors with the outcome, %" };
const PERCENT = new Set(["rate", "lift", "margin", "worse_by"]);
const fits = (kind) => ([, , , , ...kinds]) => !kinds.length || kinds.includes(kind);

function figures(value) {
  return number(Number(value.toPrecision(2)));
}

// What a way takes, for a cell: "longer" where most rehearsals had no verdict before they gave up.
function cell(value, span, perDay) {
  if (value === null) return span.beyond === null ? "never" : "longer";
  return perDay ? `${figures(value)} (${figures(value / perDay)} days)` : figures(value);
}

function table(plan) {
  const head = ["aim", "visitors, half decided", "visitors, nine of ten", "clicks lost"];
  const spans = plan.spans ?? [{ way: "equal split", median: plan.median, late: plan.late, beyond: 1, lost: null }];
  const rows = spans.map((span) => [
    span.way, cell(span.median, span, plan.visitors_a_day), cell(span.late, span, plan.visitors_a_day),
    span.lost === null ? "\u2013" : figures(span.lost),
  ]);
  const line = (tag, cells) => element("tr", {}, ...cells.map((text) => element(tag, {}, text)));
  return element("table", { class: "lines" }, element("thead", {}, line("th", head)), element("tbody", {}, ...rows.map(([aim, ...cells]) => element("tr", {}, element("th", { scope: "row" }, aim), ...cells.map((text) => element("td", {}, text))))));
}

// `post` sends the wishes to the service and returns its plan.
export function offerPlan(post) {
  const kind = element("select", { name: "kind" }, ...KINDS.map(([value, title]) => element("option", { value }, title)));
  const draw = () => {
    const inputs = FIELDS.filter(fits(kind.value)).map(([name, title, value, step]) =>
      element("label", {}, name === "rate" ? RATES[kind.value] : title, element("input", step === "text" ? { name, type: "text", value, required: "" } : { name, type: "number", value, step, min: "0", required: "" })));
    $("plan-fields").replaceChildren(element("label", {}, "How long until", kind), ...inputs);
  };
  kind.addEventListener("change", draw);
  draw();
  $("plan-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = new FormData($("plan-form"));
    const { sizes, ...wishes } = Object.fromEntries(FIELDS.filter(fits(kind.value)).map(([name]) =>
      [name, name === "sizes" ? given.get(name).split(/[^0-9]+/).filter(Boolean).map(Number) : Number(given.get(name)) / (PERCENT.has(name) ? 100 : 1)]));
    wishes.factors = Object.fromEntries(sizes.map((size, index) => [`factor ${index + 1}`, size]));
    $("plan-answer").replaceChildren(element("p", {}, "Simulating: this takes some seconds."));
    try {
      const plan = await post(kind.value === "clicks" ? "v1/plan" : "v1/plan/goal", wishes);
      $("plan-answer").replaceChildren(
        ...plan.sentence.split("\n").map((text) => element("p", {}, text)), element("div", { class: "scroll" }, table(plan)));
    } catch (error) {
      $("plan-answer").replaceChildren(element("p", { role: "alert" }, error.message));
    }
  });
}
