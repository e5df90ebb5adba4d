// Elements and figures. Everything that comes from outside is set as text.

export const $ = (id) => document.getElementById(id);
const formatted = new Intl.NumberFormat();

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children); // strings become text, never markup
  return made;
}

export const number = (value) => formatted.format(value);

export const plural = (count, what) => `${number(count)} ${what}${count === 1 ? "" : "s"}`;

export function percent(value) {
  if (value === null || value === undefined) return "–";
  return `${(100 * value).toFixed(Math.abs(value) >= 0.1 ? 1 : 2)}%`; // as the report's sentence writes it
}

const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

// A length of time in the largest unit that it fills.
export function duration(seconds) {
  const [unit, size] = UNITS.find((found) => seconds >= found[1]) ?? UNITS.at(-1);
  return plural(Math.round(10 * seconds / size) / 10, unit);
}

// Decisions that the tables count: those since all was begun anew, if it was.
export function counted(report) {
  return report.factors[0].levels.reduce((sum, level) => sum + level.decisions, 0);
}

// The names of a factor's levels that are not retired.
export const living = (factor) => factor.levels.filter((level) => level.live).map((level) => level.name);

// For narrow cells.
export function shortPercent(value) {
  return value >= 0.0995 ? `${number(Math.round(100 * value))}%` : `${Number((100 * value).toFixed(1))}%`;
}

// An effect: +17%, -50%, 0%.
export function signedPercent(change) {
  return `${change > 0 ? "+" : change < 0 ? "-" : ""}${shortPercent(Math.abs(change))}`;
}

// A label of any length, at most some lines of it to be seen; all of it where the pointer rests.
export function label(text) {
  return element("span", { class: "label", title: text }, text);
}
