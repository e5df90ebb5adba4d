// The tables of the page: heat maps, in which every cell has its figure and so needs no colour, and the rows and columns in the race.

import { element, label, percent, plural, shortPercent } from "./dom.js";

const FEW = 12; // lines shown until all are asked for
const open = new Set(); // tables that show all

function heatCell(counts, value, most, leads) {
  const what = `${plural(counts.clicks, "click")} of ${plural(counts.outcomes, "outcome")}, ${plural(counts.decisions, "decision")}`;
  const cell = element("td", { title: what }, value === null ? "–" : shortPercent(value));
  const strength = value === null || most === 0 ? 0 : value / most;
  cell.style.setProperty("--strength", `${Math.round(100 * strength)}%`);
  if (strength > 0.66) cell.classList.add("strong");
  if (leads) cell.classList.add("leads");
  return cell;
}

// `valueOf` gives what a pair's counts are worth; null: nothing known.
export function heatMap(table, title, view, valueOf) {
  const { heat, report } = view;
  const counts = heat.rows.map((_, i) => heat.cols.map((_, j) => (
    { decisions: heat.decisions[i][j], outcomes: heat.outcomes[i][j], clicks: heat.clicks[i][j] })));
  const most = Math.max(...counts.flat().map((pair) => valueOf(pair) ?? 0));
  const head = element("tr", {}, element("td"), ...heat.cols.map((name) => element("th", { scope: "col" }, label(name))));
  const rows = heat.rows.map((row, i) => element("tr", {}, element("th", { scope: "row" }, label(row)), ...heat.cols.map((col, j) => {
    const leads = counts[i][j].outcomes > 0 && row === report.best_row && col === report.best_col;
    return heatCell(counts[i][j], valueOf(counts[i][j]), most, leads);
  })));
  table.style.setProperty("--columns", heat.cols.length);
  table.replaceChildren(element("caption", {}, title), element("thead", {}, head), element("tbody", {}, ...rows));
}

function standing(line, left) {
  if (!line.live) return "retired";
  if (left && !left.includes(line.name)) return "eliminated";
  return line.in_race ? "yes" : "no";
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

// Against the leader: "18% fewer, between 9% and 26%" and the same as a bar.
function compared(line, most) {
  const [what, between] = line.against.split(/, (.*)/s);
  if (line.ratio === null) return [element("small", {}, what || "\u2013")];
  return [what, element("small", {}, between ?? ""), whisker(line.ratio_low, line.ratio, line.ratio_high ?? most, most, 1)];
}

function clickRate(line, most) {
  if (line.rate === null) return [element("small", {}, "no outcome yet")];
  return [percent(line.rate), element("small", {}, `${percent(line.low)} to ${percent(line.high)}`), whisker(line.low, line.rate, line.high, most)];
}

function lineRow(line, left, best, most, anyTime) {
  const bar = element("span", { class: "bar" });
  bar.style.width = line.share ? `max(1px, ${100 * line.share}%)` : 0;
  const state = standing(line, left);
  const leads = line.name === best && line.outcomes > 0;
  return element("tr", { class: leads ? "leads" : state === "yes" ? "" : "out" },
    element("th", { scope: "row" }, label(leads ? `★ ${line.name}` : line.name)),
    element("td", {}, percent(line.share), bar),
    element("td", {}, ...(anyTime ? compared(line, most) : clickRate(line, most))),
    element("td", {}, leads ? `${state}, leads` : state));
}

// The end of the scale: the leader's ratio, 1, is always on it, and what is more than twice that is cut off.
function scale(lines, anyTime) {
  if (anyTime) return Math.min(2, Math.max(1.1, ...lines.map((line) => line.ratio_high ?? (line.ratio === null ? 1 : 2))));
  return Math.max(1e-9, ...lines.filter((line) => line.rate !== null).map((line) => line.high));
}

export function lineTable(table, side, lines, left, report, best) {
  const anyTime = report.basis === "any";
  const sorted = [...lines].sort((one, other) => (other.name === best) - (one.name === best) || other.decisions - one.decisions);
  const shown = open.has(table.id) ? sorted : sorted.slice(0, FEW);
  const most = scale(shown, anyTime);
  table.classList.toggle("compared", anyTime);
  const what = anyTime ? "clicks against the leader" : "click rate with the leader";
  const head = [side, "traffic", what, "in the race"].map((text) => element("th", { scope: "col" }, text));
  const rows = shown.map((line) => lineRow(line, left, best, most, anyTime));
  if (sorted.length > FEW) {
    const button = element("button", { type: "button" }, open.has(table.id) ? `show ${FEW} only` : `show all ${sorted.length}`);
    button.addEventListener("click", () => {
      if (!open.delete(table.id)) open.add(table.id);
      lineTable(table, side, lines, left, report, best);
    });
    rows.push(element("tr", {}, element("td", { colspan: 4 }, button)));
  }
  const focused = table.contains(document.activeElement); // on the button, the only thing in it that can be
  table.replaceChildren(element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
  if (focused) table.querySelector("button")?.focus();
}
