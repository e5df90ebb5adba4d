// The page: asks the service for what it shows and puts it in place. Everything that comes from outside is set as text.

import { heatMap, rateChart, trafficChart } from "./charts.js";

const EVERY = 1500; // milliseconds between looks at the experiment
const $ = (id) => document.getElementById(id);
const numbers = new Intl.NumberFormat();
let token = sessionStorage.getItem("rankone-token");
let shown = decodeURIComponent(location.hash.slice(1)) || null;
let names = [];

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children); // strings become text, never markup
  return made;
}

function percent(value) {
  if (value === null || value === undefined) return "–";
  return `${(100 * value).toFixed(Math.abs(value) >= 0.1 ? 1 : 2)} %`;
}

function short(value) {
  return value >= 0.0995 ? `${Math.round(100 * value)}%` : `${(100 * value).toFixed(1)}%`;
}

class Refused extends Error {}

async function get(path) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const response = await fetch(path, { headers, cache: "no-store" });
  if (response.status === 401) throw new Refused();
  const body = await response.json();
  if (!response.ok) throw new Error(body.detail ?? `status ${response.status}`);
  return body;
}

function status(text, bad = false) {
  $("status").textContent = text;
  $("status").classList.toggle("bad", bad);
}

function showList(experiments) {
  names = experiments.map((experiment) => experiment.name);
  if (!names.includes(shown)) shown = names[0] ?? null;
  $("empty").hidden = names.length > 0;
  $("experiments").hidden = names.length === 0;
  $("example").textContent = `rankone simulate-traffic ${location.origin} demo --problem needle:8x8`;
  if (!names.length) $("experiment").hidden = true;
  $("experiments").replaceChildren(...experiments.map((experiment) => {
    const button = element("button", { type: "button", title: experiment.name, "aria-current": experiment.name === shown }, experiment.name);
    button.addEventListener("click", () => {
      shown = experiment.name;
      history.replaceState(null, "", `#${encodeURIComponent(shown)}`);
      for (const other of $("experiments").children) other.setAttribute("aria-current", other === button);
      look();
    });
    return button;
  }));
}

function showLabels(view) {
  const report = view.report;
  const labels = [element("span", {}, `policy ${report.policy}`)];
  if (view.simulated > 0) {
    const all = view.simulated === report.decisions;
    const what = all ? "all traffic is simulated" : `${numbers.format(view.simulated)} of ${numbers.format(report.decisions)} decisions are simulated`;
    labels.push(element("span", { class: "mark warn" }, what));
  }
  if (view.window) labels.push(element("span", {}, `silence means no click after ${numbers.format(view.window)} s`));
  if (report.stopped) labels.push(element("span", { class: "mark" }, `stopped: ${report.stopped}`));
  for (const era of report.eras.slice(1).slice(-3)) labels.push(element("span", {}, era));
  $("labels").replaceChildren(...labels);
}

function figure(name, value, more) {
  return element("div", {}, element("dt", {}, name), element("dd", {}, value, ...(more ? [element("small", {}, more)] : [])));
}

function perSecond(view) {
  const { seconds, points } = view.timeline;
  const last = points.slice(-Math.max(2, Math.ceil(60 / seconds)));
  if (!last.length) return 0;
  const span = Math.max(seconds, last.at(-1).at + seconds - last[0].at);
  const quiet = Date.now() / 1000 - last.at(-1).at > Math.max(60, 2 * seconds);
  return quiet ? 0 : last.reduce((sum, point) => sum + point.decisions, 0) / span;
}

function now(view) {
  const rate = perSecond(view);
  if (rate === 0) return "none at the moment";
  return rate >= 1 ? `${numbers.format(Math.round(rate))} a second now` : `${numbers.format(Math.ceil(60 * rate))} a minute now`;
}

function showFigures(view) {
  const { report } = view;
  const counts = report.outcomes;
  const known = counts.clicked + counts.not_clicked + counts.expired;
  const lift = view.uniform_rate ? view.click_rate / view.uniform_rate : null;
  $("figures").replaceChildren(
    figure("Decisions", numbers.format(report.decisions), now(view)),
    figure("Clicks", numbers.format(counts.clicked), `of ${numbers.format(known)} outcomes`),
    figure("Click rate", percent(view.click_rate), known ? "over all outcomes" : "no outcomes yet"),
    figure("A uniform split", percent(view.uniform_rate), lift ? `estimated; this is ${lift.toFixed(1)} times that` : "nothing to compare yet"),
    figure("Open decisions", numbers.format(counts.open), counts.held ? `${numbers.format(counts.held)} outcomes held` : "wait for an outcome"),
    figure("Not learned", numbers.format(counts.late + counts.void), `${numbers.format(counts.late)} late, ${numbers.format(counts.void)} void`),
  );
}

// Join neighbouring points until each has enough outcomes to be worth a dot.
function rates(timeline) {
  const total = timeline.points.reduce((sum, point) => sum + point.outcomes, 0);
  const enough = Math.max(20, total / 40);
  const joined = [];
  let open = null;
  for (const point of timeline.points) {
    open ??= { at: point.at * 1000, outcomes: 0, clicks: 0 };
    open.outcomes += point.outcomes;
    open.clicks += point.clicks;
    if (open.outcomes >= enough) {
      joined.push({ ...open, rate: open.clicks / open.outcomes });
      open = null;
    }
  }
  return joined;
}

function traffic(timeline) {
  const points = [];
  let next = null;
  for (const point of timeline.points) {
    if (next !== null && point.at > next) points.push({ at: next * 1000, rate: 0 });
    points.push({ at: point.at * 1000, rate: point.decisions / timeline.seconds });
    next = point.at + timeline.seconds;
  }
  if (points.length) points.push({ at: next * 1000, rate: points.at(-1).rate }); // the last step has a width, too
  return points;
}

async function showCharts(view) {
  const found = rates(view.timeline);
  $("rate-note").textContent = found.length
    ? `Each dot: ${numbers.format(found[0].outcomes)} outcomes or more. Dashed: what showing all pairs equally often would give, estimated (${percent(view.uniform_rate)}).`
    : "Too few outcomes yet: the first dot needs 20.";
  const steps = view.timeline.seconds;
  $("traffic-note").textContent = view.timeline.points.length ? `Decisions a second, in steps of ${numbers.format(steps)} s.` : "No decisions yet.";
  $("rate-chart").hidden = !found.length;
  $("traffic-chart").hidden = !view.timeline.points.length;
  if (found.length) await rateChart($("rate-chart"), found, view.uniform_rate);
  if (view.timeline.points.length) await trafficChart($("traffic-chart"), traffic(view.timeline));
}

// The chart library keeps labels as keys of objects, where "__proto__" and its like do harm: an invisible character
// before each makes them harmless.
const asKey = (label) => `\u200b${label}`;

function cells(view, valueOf) {
  const { heat, report } = view;
  const made = heat.rows.flatMap((row, i) => heat.cols.map((col, j) => {
    const counts = { decisions: heat.decisions[i][j], outcomes: heat.outcomes[i][j], clicks: heat.clicks[i][j] };
    const value = valueOf(counts);
    const leads = counts.outcomes > 0 && row === report.best_row && col === report.best_col;
    return { row: asKey(row), col: asKey(col), value, text: value === null ? "–" : short(value), leads, ...counts };
  }));
  const most = Math.max(...made.map((cell) => cell.value ?? 0));
  for (const cell of made) cell.dark = cell.value !== null && cell.value > 0.55 * most;
  return made;
}

async function showPairs(view) {
  const { heat, report } = view;
  const part = heat.rows.length < heat.n_rows || heat.cols.length < heat.n_cols;
  const all = `${numbers.format(heat.n_rows)} rows x ${numbers.format(heat.n_cols)} columns`;
  $("pairs-note").textContent = (part ? `The busiest ${heat.rows.length} x ${heat.cols.length} of ${all}. ` : `${all}. `)
    + "Framed: the leading pair. – means no outcome yet.";
  await heatMap($("rates-chart"), cells(view, (counts) => counts.outcomes ? counts.clicks / counts.outcomes : null), heat.rows, heat.cols);
  await heatMap($("shares-chart"), cells(view, (counts) => counts.decisions / Math.max(1, report.decisions)), heat.rows, heat.cols);
}

function race(line, left) {
  if (!line.live) return "retired";
  if (left && !left.includes(line.name)) return "eliminated";
  return line.in_race ? "yes" : "no";
}

function fillTable(table, side, lines, left, best) {
  const shownLines = [...lines].sort((one, other) => (other.name === best) - (one.name === best) || other.decisions - one.decisions).slice(0, 50);
  const head = element("tr", {}, ...[side, "traffic", "click rate with the leader", "in the race"].map((text) => element("th", { scope: "col" }, text)));
  const rows = shownLines.map((line) => {
    const bar = element("span", { class: "bar" });
    bar.style.width = `${Math.max(1, 100 * line.share)}%`;
    const standing = race(line, left);
    const leads = line.name === best && line.outcomes > 0;
    const rate = element("td", {}, percent(line.rate), element("small", {}, line.rate === null ? "no outcome yet" : `${percent(line.low)} to ${percent(line.high)}`));
    return element("tr", { class: leads ? "leads" : standing === "yes" ? "" : "out" },
      element("td", {}, leads ? `★ ${line.name}` : line.name), element("td", {}, percent(line.share), bar), rate,
      element("td", {}, leads ? `${standing}, leads` : standing));
  });
  if (lines.length > shownLines.length) rows.push(element("tr", { class: "out" }, element("td", { colspan: 4 }, `and ${lines.length - shownLines.length} more`)));
  table.replaceChildren(element("thead", {}, head), element("tbody", {}, ...rows));
}

function showRace(view) {
  const { report, rows_left: rows, cols_left: cols } = view;
  const living = (lines) => lines.filter((line) => line.live).length;
  const stage = view.stage === null ? "" : `The policy is in stage ${view.stage + 1}: `
    + `${rows.length} of ${living(report.rows)} rows and ${cols.length} of ${living(report.cols)} columns survive. `;
  $("race-note").textContent = `${stage}In the race: could still be the best, with an error of at most ${numbers.format(100 * report.error_rate)} % however often you look.`;
  fillTable($("rows"), "row", report.rows, rows, report.best_row);
  fillTable($("cols"), "column", report.cols, cols, report.best_col);
}

async function show(view) {
  $("experiment").hidden = false;
  $("sentence").textContent = view.report.sentence;
  document.title = `${view.report.name} · rankone`;
  showLabels(view);
  showFigures(view);
  showRace(view);
  await showCharts(view);
  await showPairs(view);
}

let looking = null; // one look at a time; a click in between is looked at next
let again = false;

async function look() {
  if (looking) {
    again = true;
    return looking;
  }
  looking = lookOnce().finally(() => { looking = null; });
  await looking;
  if (again) {
    again = false;
    await look();
  }
}

async function lookOnce() {
  try {
    const { experiments } = await get("v1/experiments");
    if (JSON.stringify(experiments.map((one) => one.name)) !== JSON.stringify(names) || !names.length) showList(experiments);
    $("sign-in").hidden = true;
    if (shown !== null) await show(await get(`v1/experiments/${encodeURIComponent(shown)}/view`));
    status(`live, ${new Date().toLocaleTimeString()}`);
  } catch (error) {
    if (error instanceof Refused) {
      $("sign-in").hidden = false;
      $("experiment").hidden = $("experiments").hidden = $("empty").hidden = true;
      status(token ? "this token is not valid here" : "a token is needed", token !== null);
    } else {
      status(`no answer, trying again: ${error.message}`, true);
    }
  }
}

$("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  token = $("token").value.trim();
  sessionStorage.setItem("rankone-token", token);
  $("token").value = "";
  look();
});
addEventListener("resize", () => look());

async function run() {
  if (!document.hidden && !($("sign-in").hidden === false && token === null)) await look();
  setTimeout(run, EVERY);
}
run();
