// Elements and figures. Everything that comes from outside is set as text.

export const $ = (id) => document.getElementById(id);
const formatted = new Intl.NumberFormat("en"); // as the service writes numbers in sentences

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children); // strings become text, never markup
  return made;
}

export const number = (value) => formatted.format(value);

export const plural = (count, what) => `${number(count)} ${what}${count === 1 ? "" : "s"}`;

// A share in percent, as rankone.wording.numbers.percent writes it: rates with three figures, other shares with two.
export function percent(share, figures = 3) {
  if (share === null || share === undefined) return "–";
  if (Math.abs(share) < 1e-7) return "0%";
  const decimals = Math.max(0, figures - 1 - Math.floor(Math.log10(Math.abs(100 * share)) + 1e-9));
  return `${new Intl.NumberFormat("en", { maximumFractionDigits: decimals }).format(100 * share)}%`;
}

const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

// A length of time in the largest unit that it fills.
export function duration(seconds) {
  const [unit, size] = UNITS.find((found) => seconds >= found[1]) ?? UNITS.at(-1);
  return plural(Math.round(10 * seconds / size) / 10, unit);
}

// Decisions that the tables count: those since the last restart, if there was one.
export function counted(report) {
  return report.factors[0].levels.reduce((sum, level) => sum + level.decisions, 0);
}

// The names of a factor's levels that are not retired.
export const living = (factor) => factor.levels.filter((level) => level.live).map((level) => level.name);

// For narrow cells.
export const shortPercent = (share) => percent(share, 2);

// An effect: +17%, -50%, 0%.
export const signedPercent = (change) => `${change >= 1e-7 ? "+" : ""}${shortPercent(change)}`;

// A table whose rows stand below each other on a phone, each cell beside the title of its column.
export function narrowable(table) {
  const titles = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, place) => { cell.dataset.title = titles[place]; });
  table.classList.add("narrowable");
  return table;
}

// A label of any length, at most some lines of it to be seen; all of it where the pointer rests.
export function label(text) {
  return element("span", { class: "label", title: text }, text);
}
