// Alarms: clicks of levels changed against each other, or levels interact; what was done, and what there was before.

import { $, element, number, percent, plural, signedPercent } from "./dom.js";

const DID = { restart: "learning restarted", "test-all": "a policy that tests all combinations took over", warn: "no action taken" };
const named = (levels) => Object.values(levels).join(" with ");
const change = (ratio) => signedPercent(ratio - 1);

function what(alarm) {
  const beside = alarm.beside === null ? "" : ` with ${named(alarm.beside)}`;
  const levels = `${alarm.factor} ${alarm.first} against ${alarm.second}${beside}`;
  if (alarm.before === null || alarm.after === null) return `Clicks of ${levels} changed: ${alarm.first} was proven better, later ${alarm.second}.`;
  if (alarm.what === "change") return `Clicks of ${levels} changed: ${change(alarm.before)} before, ${change(alarm.after)} since.`;
  return `Levels interact: ${levels} had ${change(alarm.before)} clicks there, ${change(alarm.after)} with other levels.`;
}

function cost({ rival }) {
  if (!rival) return [];
  return [` ${named(rival.levels)} had ${percent(rival.rate)} clicked by then, the leader ${percent(rival.led)}, if click rates did not change.`];
}

function entry(alarm) {
  const when = new Date(1000 * alarm.at);
  const time = element("time", { datetime: when.toISOString() }, when.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }));
  const until = ` Until then ${named(alarm.led)} ${alarm.won ? "had won" : "led"}, after ${plural(alarm.outcomes, "outcome")}.`;
  return element("li", {}, element("strong", {}, time, ` \u2013 ${DID[alarm.did]}. `), what(alarm), ...cost(alarm), until);
}

function beforeRow(factor, level) {
  const rate = level.earlier_outcomes ? percent(level.earlier_clicks / level.earlier_outcomes) : "\u2013";
  return element("tr", {}, element("th", { scope: "row" }, level.name), ...[factor, number(level.earlier_outcomes), number(level.earlier_clicks), rate]
    .map((text) => element("td", {}, text)));
}

// The newest alarm first; below them what was counted before the last restart, which no statement rests on any more.
export function showAlarms(report) {
  $("alarms-section").hidden = report.alarms.length === 0;
  $("alarms").replaceChildren(...[...report.alarms].reverse().map(entry));
  const rows = report.factors.flatMap(({ name, levels }) => levels.filter((level) => level.earlier_outcomes).map((level) => beforeRow(name, level)));
  $("earlier").hidden = rows.length === 0;
  const head = ["level", "of", "outcomes", "clicks", "click rate"].map((text) => element("th", { scope: "col" }, text));
  $("earlier-table").replaceChildren(element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
}
