// Goals other than a click: what each level brought, against the baseline, and what is known of guardrails.

import { $, element, label, narrowable, number, percent } from "./dom.js";

const rounded = (value) => value.toLocaleString("en", { maximumSignificantDigits: 4 });

function tableOf(goal) {
  const adds = goal.kind !== "yes-no";
  const one = new Set(goal.levels.map(({ factor }) => factor)).size === 1;
  const titles = [one ? goal.levels[0].factor : "level", "visitors", goal.name, ...(adds ? ["per visitor", "visitors with one", "average"] : ["rate"]), "against the baseline"];
  const rows = goal.levels.map((level) => {
    const rate = level.visitors ? percent(level.outcomes / level.visitors) : "\u2013";
    const average = level.outcomes ? rounded(level.total / level.outcomes) : "\u2013";
    const each = level.visitors ? rounded(level.total / level.visitors) : "\u2013";
    const cells = [number(level.visitors), adds ? rounded(level.total) : number(level.outcomes), ...(adds ? [each, rate, average] : [rate]), level.against];
    const named = one ? level.name : `${level.factor}: ${level.name}`;
    return element("tr", {}, element("th", { scope: "row" }, label(named)), ...cells.map((cell) => element("td", {}, cell)));
  });
  return narrowable(element("table", { class: "lines goal" },
    element("thead", {}, element("tr", {}, ...titles.map((title) => element("th", { scope: "col" }, title)))),
    element("tbody", {}, ...rows)));
}

const GUARDRAILS = {
  violated: (since) => `Guardrail violated${since}: nobody is declared the winner.`, cleared: (since) => `Guardrail cleared${since}.`,
  open: () => "Guardrail: not enough data yet.",
};
let chosen = null; // the name of the goal that is shown

function panelOf(goal) {
  const capped = goal.kind === "yes-no" ? "" : `, capped at ${rounded(goal.cap)}`;
  const since = goal.since ? ` since ${new Date(1000 * goal.since).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })}` : "";
  const said = [`${goal.better === "less" ? "Less" : "More"} is better${capped}.`, goal.steers ? "It steers." : "", GUARDRAILS[goal.guardrail]?.(since) ?? ""];
  return [element("p", { class: "note" }, said.filter(Boolean).join(" ")), element("div", { class: "scroll" }, tableOf(goal))];
}

// A tab for each goal, the steering one first; arrow keys go from one to the next.
export function showGoals({ goals = [] }) {
  $("goals-section").hidden = !goals.length;
  if (!goals.length) return;
  const shown = goals.find(({ name }) => name === chosen) ?? goals[0];
  const hadFocus = $("goals-tabs").contains(document.activeElement);
  const tabs = goals.map((goal) => {
    const mark = { violated: " \u2717", cleared: " \u2713", open: " ?" }[goal.guardrail] ?? "";
    const tab = element("button", { type: "button", role: "tab", "aria-selected": goal === shown, tabindex: goal === shown ? 0 : -1, "aria-controls": "goals" }, label(goal.name + mark));
    tab.addEventListener("click", () => {
      chosen = goal.name;
      showGoals({ goals });
    });
    return tab;
  });
  $("goals-tabs").replaceChildren(...tabs);
  $("goals-tabs").onkeydown = ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (!step) return;
    chosen = goals[(goals.indexOf(shown) + step + goals.length) % goals.length].name;
    showGoals({ goals });
  };
  if (hadFocus) tabs[goals.indexOf(shown)].focus();
  $("goals").replaceChildren(...panelOf(shown));
}
