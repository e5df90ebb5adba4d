// A table a factor, the combinations of other than two factors as a table that can be sorted and searched, and
// which levels of two factors seem to interact.

import { $, counted, element, label, living, number, percent, plural, shortPercent } from "./dom.js";
import { levelTable } from "./tables.js";

const MANY = 50; // combinations from which on they can be searched
const FEW = 25; // combinations shown until all are asked for
let order = { column: null, down: true };
let all = false;
let last = null;

export function showFactors(holder, view) {
  const { factors } = view.report;
  const tables = factors.map((factor, place) => {
    const table = holder.querySelector(`#factor-${place}`) ?? element("table", { class: "lines", id: `factor-${place}` });
    levelTable(table, factor, view.left?.[factor.name], view.report);
    return table.parentElement ?? element("div", { class: "scroll" }, table);
  });
  if (holder.children.length !== tables.length || tables.some((table, place) => holder.children[place] !== table)) holder.replaceChildren(...tables);
}

function lines(view) {
  const { combinations, report: { factors } } = view;
  return combinations.rows.map((row) => {
    const names = factors.map((factor, place) => factor.levels[row[place]].name);
    const [decisions, outcomes, clicks] = row.slice(factors.length);
    return { names, values: [...names, decisions, clicks, outcomes ? clicks / outcomes : -1], outcomes };
  });
}

function head(title, column) {
  const mark = order.column === column ? (order.down ? " ▾" : " ▴") : "";
  const button = element("button", { type: "button" }, title + mark);
  button.addEventListener("click", () => {
    order = { column, down: order.column === column ? !order.down : typeof column === "number" && column >= last.report.factors.length };
    showCombinations(last);
    $("combinations").querySelectorAll("thead button")[column]?.focus();
  });
  const sorted = order.column === column ? (order.down ? "descending" : "ascending") : "none";
  return element("th", { scope: "col", "aria-sort": sorted, class: column < last.report.factors.length ? "name" : "" }, button);
}

// Why a combination is shown to nobody any more, beside each of its levels; empty texts: it may be.
function whyGone(line, report) {
  const levels = report.factors.map((factor, place) => factor.levels.find((level) => level.name === line.names[place]));
  if (levels.some((level) => level && !level.live)) return levels.map((level) => (level && !level.live ? "retired" : ""));
  const fits = (rule) => report.factors.every((factor, place) => !Object.hasOwn(rule, factor.name) || rule[factor.name] === line.names[place]);
  const rule = report.forbidden.find(fits);
  return report.factors.map((factor) => (rule && Object.hasOwn(rule, factor.name) ? "forbidden" : ""));
}

const compare = (one, other) => (typeof one === "number" ? one - other : one.localeCompare(other, undefined, { numeric: true }));

export function showCombinations(view) {
  last = view;
  const { combinations, report } = view;
  const { factors } = report;
  const wanted = $("combinations-search").value.trim().toLowerCase();
  $("combinations-search").hidden = combinations.n_shown <= MANY;
  let found = lines(last);
  if (wanted) found = found.filter((line) => wanted.split(/\s+/).every((word) => line.names.some((name) => name.toLowerCase().includes(word))));
  if (order.column !== null) {
    found.sort((one, other) => compare(one.values[order.column], other.values[order.column]) * (order.down ? -1 : 1));
  }
  const cut = combinations.rows.length < combinations.n_shown ? ` The busiest ${number(combinations.rows.length)} are listed.` : "";
  const sizes = factors.map((factor) => living(factor).length).join(" x ");
  const past = combinations.n_retired ? `, and ${number(combinations.n_retired)} with levels that were retired` : "";
  $("combinations-note").textContent = `${factors.length > 1 ? `${sizes} = ` : ""}${plural(combinations.total, "combination")}, ${number(combinations.n_shown - combinations.n_retired)} of them shown so far${past}.${cut}`
    + (wanted ? ` ${number(found.length)} of those listed fit.` : "");
  const counts = counted(report);
  const best = report.factors.map((factor) => factor.best).join("\u0000");
  const rows = (all ? found : found.slice(0, FEW)).map((line) => {
    const leads = report.leads && line.names.join("\u0000") === best;
    const [decisions, clicks, rate] = line.values.slice(factors.length);
    const gone = whyGone(line, report);
    const name = (text, place) => [label(leads && !place ? `★ ${text}` : text), ...(gone[place] ? [" ", element("small", {}, gone[place])] : [])];
    return element("tr", { class: leads ? "leads" : gone.some(Boolean) ? "out" : "" },
      ...line.names.map((text, place) => element(place ? "td" : "th", place ? { class: "name" } : { scope: "row" }, ...name(text, place))),
      element("td", {}, counts ? percent(decisions / counts) : "–"),
      element("td", {}, number(clicks)),
      element("td", {}, rate < 0 ? "–" : percent(rate)));
  });
  if (found.length > FEW) {
    const more = element("button", { type: "button" }, all ? `show ${FEW} only` : `show all ${number(found.length)}`);
    more.addEventListener("click", () => { all = !all; showCombinations(last); });
    rows.push(element("tr", {}, element("td", { colspan: factors.length + 3 }, more)));
  }
  const titles = [...factors.map((factor) => factor.name), "traffic", "clicks", "click rate"];
  $("combinations").replaceChildren(element("thead", {}, element("tr", {}, ...titles.map(head))), element("tbody", {}, ...rows));
}

$("combinations-search").addEventListener("input", () => last && showCombinations(last));
