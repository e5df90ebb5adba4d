// A ranking: the present list with each item's standing, the others below, and how far the verdict is.

import { $, counted, element, label, number, percent, plural } from "./dom.js";

const FEW = 20; // items shown until all are asked for
const STANDING = { in: "surely in", out: "surely out", open: "open" };
let all = false;

// Where all items fit into the list there is nothing to compare, unless the order is asked for.
const compares = ({ present, standing, decide }) => decide === "order" || Object.keys(standing).length > present.length;

const share = (progress) => `${Math.floor(100 * progress + 1e-9)}%`; // 100% where all are proven

// [name, value, more] of the verdict's figure.
export function rankingFigure({ ranking, decided, good_enough: enough, error_rate: error, fault }) {
  const sure = `${percent(1 - error, 2)} sure`;
  const proven = `${share(ranking.progress)} of its comparisons are proven`;
  if (fault) return ["Verdict", "open", "a fault in the program"];
  if (enough) return ["Verdict", "good enough", sure];
  if (!compares(ranking)) return ["Verdict", "open", "all items fit into the list"];
  return ["Verdict", decided ? "decided" : "open", decided ? sure : proven];
}

function row(report, item, place) {
  const { present, standing } = report.ranking;
  const state = standing[item.name] ?? "retired";
  const own = place < present.length;
  const bar = element("span", { class: "bar" });
  bar.style.width = item.share ? `max(1px, ${100 * item.share}%)` : 0;
  return element("tr", { class: own ? "leads" : state === "open" ? "" : "out" },
    element("th", { scope: "row" }, label(own ? `${place + 1}. ${item.name}` : item.name)),
    element("td", {}, item.decisions ? percent(item.share, 2) : element("small", {}, "never shown"), bar),
    element("td", {}, number(item.clicks)),
    element("td", {}, element("span", { class: `standing ${state}` }, STANDING[state] ?? state)));
}

function progress(ranking) {
  const shown = element("progress", { max: 1, value: ranking.progress, "aria-label": "comparisons proven" });
  const which = ranking.decide === "order" ? "which items belong, and in which order" : "which items belong in the list";
  const about = Object.keys(ranking.standing).length > ranking.present.length ? which : "the order";
  return element("p", { class: "note" }, `Verdict on ${about}: ${share(ranking.progress)} of the comparisons are proven. `, shown);
}

export function showRanking(holder, view) {
  const { report } = view;
  const { present } = report.ranking;
  const items = new Map(report.factors[0].levels.map((level) => [level.name, level]));
  const others = [...items.values()].filter((item) => !present.includes(item.name)).sort((one, other) => other.decisions - one.decisions);
  const sorted = [...present.map((name) => items.get(name)), ...others];
  const shown = all ? sorted : sorted.slice(0, Math.max(FEW, present.length));
  const head = ["present list", "traffic", "clicks", "among the best"].map((text) => element("th", { scope: "col" }, text));
  const rows = shown.map((item, place) => row(report, item, place));
  if (sorted.length > shown.length || all) {
    const button = element("button", { type: "button" }, all ? "show fewer" : `show all ${number(sorted.length)}`);
    button.addEventListener("click", () => { all = !all; showRanking(holder, view); });
    rows.push(element("tr", {}, element("td", { colspan: 4 }, button)));
  }
  const table = element("table", { class: "lines", id: "ranking" }, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
  holder.replaceChildren(element("div", { class: "scroll" }, ...(compares(report.ranking) ? [progress(report.ranking)] : []), table));
}

export function rankingNotes(view) {
  const { heat, report } = view;
  const [items, positions] = heat.levels;
  $("maps-note").textContent = `${plural(items.length, "item")} at ${plural(positions.length, "position")}, the present list first. `
    + "Framed: where the present list has them. Rates of different positions are not comparable. –: no data.";
  $("race-note").textContent = "The best list by present estimates. Surely in or out: proven for all items together.";
  return counted(report);
}
