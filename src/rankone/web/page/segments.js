// Segments: whether the best level depends on them, and what looks best in each.

import { $, element, label, narrowable, number, percent, signedPercent } from "./dom.js";

// How a level compares with the one that leads overall, in this segment.
function against(segment, factor, name) {
  const { ratio } = segment.levels.find((level) => level.factor === factor && level.name === name);
  return ratio === null || Math.abs(ratio - 1) < 0.0005 ? "" : ` (${signedPercent(ratio - 1)})`;
}

export function showSegments(report) {
  const found = report.segments;
  $("segments-section").hidden = !found;
  if (!found) return;
  const explained = !found.segments.length ? "" : " Best levels are estimates, with clicks against the overall leader; \u2605: proven in this segment.";
  $("segments-note").textContent = found.sentence + explained;
  $("segments").hidden = !found.segments.length;
  const factors = report.factors.map((factor) => factor.name);
  // Where the policy looks at features, a segment is one level of one attribute.
  const byLevel = found.segments.some(({ attributes }) => Object.keys(attributes).length < found.attributes.length);
  const names = (segment) => byLevel ? [segment.name] : found.attributes.map((attribute) => segment.attributes[attribute]);
  // What the best of a segment is clicked there for each click of what leads overall.
  const lift = (segment) => factors.reduce((product, factor) => product * (segment.levels.find((level) => level.factor === factor && level.name === segment.best[factor])?.ratio ?? 1), 1) - 1;
  const most = Math.max(0.01, ...found.segments.map(lift));
  const titles = [...(byLevel ? ["visitors with"] : found.attributes), "visitors", "clicks", "click rate", ...factors.map((factor) => `best ${factor}`), "gain"];
  const ordered = byLevel ? [...found.segments].sort((one, other) => one.name.localeCompare(other.name)) : found.segments;
  const rows = ordered.map((segment) => element("tr", {},
    ...names(segment).map((name, place) => element(place ? "td" : "th", place ? {} : { scope: "row" }, label(name))),
    element("td", {}, number(segment.decisions)),
    element("td", {}, number(segment.clicks)),
    element("td", {}, segment.outcomes ? percent(segment.clicks / segment.outcomes) : "\u2013"),
    ...factors.map((factor) => {
      const name = segment.best[factor];
      if (name === undefined) return element("td", {}, "\u2013");
      const proven = segment.proven[factor] === name;
      return element("td", { class: proven ? "leads" : "" }, `${proven ? "\u2605 " : ""}${name}${against(segment, factor, name)}`);
    }),
    element("td", {}, element("meter", { min: 0, max: most, value: lift(segment), title: "estimated gain of showing this segment its own best" }), ` ${signedPercent(lift(segment))}`)));
  $("segments").replaceChildren(
    element("thead", {}, element("tr", {}, ...titles.map((title) => element("th", { scope: "col" }, title)))),
    element("tbody", {}, ...rows));
  narrowable($("segments"));
}
