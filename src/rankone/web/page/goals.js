// Goals other than a click: what each level brought, against the baseline, and what is known of guardrails.

import { $, element, label, number, percent } from "./dom.js";

const rounded = (value) => value.toLocaleString("en", { maximumSignificantDigits: 4 });

function tableOf(goal) {
  const adds = goal.kind !== "yes-no";
  const titles = ["level", "visitors", goal.name, ...(adds ? ["per visitor", "visitors with one", "average"] : ["rate"]), "against the baseline"];
  const rows = goal.levels.map((level) => {
    const rate = level.visitors ? percent(level.outcomes / level.visitors) : "\u2013";
    const average = level.outcomes ? rounded(level.total / level.outcomes) : "\u2013";
    const each = level.visitors ? rounded(level.total / level.visitors) : "\u2013";
    const cells = [number(level.visitors), adds ? rounded(level.total) : number(level.outcomes), ...(adds ? [each, rate, average] : [rate]), level.against];
    return element("tr", {}, element("th", { scope: "row" }, label(`${level.factor}: ${level.name}`)), ...cells.map((cell) => element("td", {}, cell)));
  });
  return element("table", { class: "lines goal" },
    element("thead", {}, element("tr", {}, ...titles.map((title) => element("th", { scope: "col" }, title)))),
    element("tbody", {}, ...rows));
}

export function showGoals({ goals = [] }) {
  $("goals-section").hidden = !goals.length;
  $("goals").replaceChildren(...goals.flatMap((goal) => {
    const capped = goal.kind === "yes-no" ? "" : `, capped at ${rounded(goal.cap)}`;
    const guardrail = goal.guardrail ? ` Guardrail: ${goal.guardrail}.` : "";
    const steers = goal.steers ? " It steers." : "";
    return [element("h3", {}, goal.name), element("p", { class: "note" }, `${goal.better} is better${capped}.${steers}${guardrail}`), element("div", { class: "scroll" }, tableOf(goal))];
  }));
}
