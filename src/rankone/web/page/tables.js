// The tables of the page: heat maps, in which every cell has its figure and so needs no colour, and the levels in the race.

import { element, label, percent, plural, shortPercent } from "./dom.js";
import { effect } from "./verdict.js";

const FEW = 12; // lines shown until all are asked for
const open = new Set(); // tables that show all

function heatCell(counts, value, most, leads) {
  const what = `${plural(counts.clicks, "click")} of ${plural(counts.outcomes, "outcome")}, ${plural(counts.decisions, "decision")}`;
  const cell = element("td", { title: counts.decisions ? what : "never shown" }, value === null ? "–" : shortPercent(value));
  const strength = value === null || most === 0 ? 0 : value / most;
  cell.style.setProperty("--strength", `${Math.round(100 * strength)}%`);
  if (strength > 0.66) cell.classList.add("strong");
  if (leads) cell.classList.add("leads");
  return cell;
}

// Two factors: the levels of the first below each other. `valueOf` gives what counts are worth; null: nothing known.
export function heatMap(table, title, view, valueOf) {
  const { heat, report } = view;
  const [down, across] = heat.levels;
  const [first, second] = report.factors;
  const counts = down.map((_, i) => across.map((_, j) => (
    { decisions: heat.decisions[i][j], outcomes: heat.outcomes[i][j], clicks: heat.clicks[i][j] })));
  const most = Math.max(...counts.flat().map((cell) => valueOf(cell) ?? 0));
  const head = element("tr", {}, element("td"), ...across.map((name) => element("th", { scope: "col" }, label(name))));
  const rows = down.map((name, i) => element("tr", {}, element("th", { scope: "row" }, label(name)), ...across.map((beside, j) => {
    const leads = report.ranking ? report.ranking.present[j] === name : report.leads && name === first.best && beside === second.best;
    return heatCell(counts[i][j], valueOf(counts[i][j]), most, leads);
  })));
  table.style.setProperty("--columns", across.length);
  table.replaceChildren(element("caption", {}, title), element("thead", {}, head), element("tbody", {}, ...rows));
}

function standing(level, left) {
  if (!level.live) return "retired";
  if (left && !left.includes(level.name)) return "eliminated";
  return level.in_race ? "yes" : "no";
}

// An interval as a bar and the estimate as a tick in it, on a scale that all lines of the table share; `mark` is a line across.
function whisker(low, value, high, most, mark) {
  const drawn = element("span", { class: "whisker" }, element("span", { class: "range" }), element("span", { class: "tick" }));
  const place = (found) => `${100 * Math.min(1, found / most)}%`;
  drawn.firstChild.style.left = place(low);
  drawn.firstChild.style.right = `calc(100% - ${place(high)})`;
  drawn.lastChild.style.left = place(value);
  if (mark) {
    drawn.append(element("span", { class: "leader" }));
    drawn.lastChild.style.left = place(mark);
  }
  return drawn;
}

// Against the leader: "-18% (-26% to -9%)" and the same as a bar.
function compared(level, most) {
  const [what, between] = effect(level.against);
  if (level.ratio === null || what === "\u2013") return [element("small", {}, between || what)];
  return [what, element("small", {}, between), whisker(level.ratio_low, level.ratio, level.ratio_high ?? most, most, 1)];
}

function clickRate(level, most) {
  if (level.rate === null) return [element("small", {}, "not enough data")];
  return [percent(level.rate), element("small", {}, `${percent(level.low)} to ${percent(level.high)}`), whisker(level.low, level.rate, level.high, most)];
}

function levelRow(level, left, best, most, anyTime) {
  const bar = element("span", { class: "bar" });
  bar.style.width = level.share ? `max(1px, ${100 * level.share}%)` : 0;
  const state = standing(level, left);
  const leads = level.name === best;
  return element("tr", { class: leads ? "leads" : state === "yes" ? "" : "out" },
    element("th", { scope: "row" }, label(leads ? `★ ${level.name}` : level.name)),
    element("td", {}, level.decisions ? percent(level.share, 2) : element("small", {}, "never shown"), bar),
    element("td", {}, ...(anyTime ? compared(level, most) : clickRate(level, most))),
    element("td", {}, leads && state === "yes" ? "leads" : state));
}

// The end of the scale: the leader's ratio, 1, is always on it, and what is more than twice that is cut off.
function scale(levels, anyTime) {
  if (anyTime) return Math.min(2, Math.max(1.1, ...levels.map((level) => level.ratio_high ?? (level.ratio === null ? 1 : 2))));
  return Math.max(1e-9, ...levels.filter((level) => level.rate !== null).map((level) => level.high));
}

// A factor of the report; `left`: the levels that the policy has not eliminated, if it eliminates any.
export function levelTable(table, factor, left, report) {
  const best = report.leads ? factor.best : null;
  const anyTime = report.basis === "any";
  const sorted = [...factor.levels].sort((one, other) => (other.name === best) - (one.name === best) || other.decisions - one.decisions);
  const shown = open.has(table.id) ? sorted : sorted.slice(0, FEW);
  const most = scale(shown, anyTime);
  table.classList.toggle("compared", anyTime);
  const what = anyTime ? "clicks against the leader" : "click rate with the leader";
  const head = [factor.name, "traffic", what, "in the race"].map((text) => element("th", { scope: "col" }, text));
  const rows = shown.map((level) => levelRow(level, left, best, most, anyTime));
  if (sorted.length > FEW) {
    const button = element("button", { type: "button" }, open.has(table.id) ? `show ${FEW} only` : `show all ${sorted.length}`);
    button.addEventListener("click", () => {
      if (!open.delete(table.id)) open.add(table.id);
      levelTable(table, factor, left, report);
    });
    rows.push(element("tr", {}, element("td", { colspan: 4 }, button)));
  }
  const focused = table.contains(document.activeElement); // on the button, the only thing in it that can be
  table.replaceChildren(element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
  if (focused) table.querySelector("button")?.focus();
}
