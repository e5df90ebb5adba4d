// Segments: whether the best level depends on them, and what looks best in each.

import { $, element, label, number, percent, signedPercent } from "./dom.js";

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
  const titles = [...found.attributes, "visitors", "clicks", "click rate", ...factors.map((factor) => `best ${factor}`)];
  const rows = found.segments.map((segment) => element("tr", {},
    ...found.attributes.map((attribute, place) => element(place ? "td" : "th", place ? {} : { scope: "row" }, label(segment.attributes[attribute]))),
    element("td", {}, number(segment.decisions)),
    element("td", {}, number(segment.clicks)),
    element("td", {}, segment.outcomes ? percent(segment.clicks / segment.outcomes) : "\u2013"),
    ...factors.map((factor) => {
      const name = segment.best[factor];
      if (name === undefined) return element("td", {}, "\u2013");
      const proven = segment.proven[factor] === name;
      return element("td", { class: proven ? "leads" : "" }, `${proven ? "\u2605 " : ""}${name}${against(segment, factor, name)}`);
    })));
  $("segments").replaceChildren(
    element("thead", {}, element("tr", {}, ...titles.map((title) => element("th", { scope: "col" }, title)))),
    element("tbody", {}, ...rows));
}
