// What the page says of one experiment: puts a view, as the service gives it, in place.

import { rateChart, trafficChart } from "./charts.js";
import { showCombinations, showFactors } from "./combinations.js";
import { $, counted, duration, element, living, number, percent, plural, shortPercent, signedPercent } from "./dom.js";
import { showAlarms } from "./alarms.js";
import { raceNote, showVerdict, verdictFigures } from "./verdict.js";
import { showGoals } from "./goals.js";
import { rankingFigure, rankingNotes, showRanking } from "./ranking.js";
import { showSegments } from "./segments.js";
import { heatMap } from "./tables.js";

const BARS = 48; // steps of the traffic chart, at most
const TITLES = { "race-title": "The list", "maps-title": "Items and positions" }; // of a ranking
const USUAL = Object.fromEntries(Object.keys(TITLES).map((id) => [id, $(id).textContent]));
const CARD = 165; // pixels of a figure

const AIMS = { earn: "aim: earn clicks", both: "aim: earn clicks and find the winner", decide: "aim: find the winner" };

function showLabels(view) {
  const report = view.report;
  const labels = [element("span", { class: "mark" }, `policy ${report.policy}`)];
  if (report.aim) labels.unshift(element("span", { class: "mark" }, AIMS[report.aim] ?? `aim: ${report.aim}`));
  if (report.margin) labels.push(element("span", { class: "mark" }, `good enough within ${shortPercent(report.margin)}`));
  if (report.control) {
    const control = `control ${Object.values(report.control).join(", ")}, ${shortPercent(report.control_share)} of decisions`;
    labels.push(element("span", { class: "mark" }, control));
  }
  if (!report.policy_known) labels.push(element("span", { class: "mark warn" }, "policy not known here"));
  if (view.simulated > 0) {
    const all = view.simulated === report.decisions;
    const what = all ? "all traffic is simulated" : `${number(view.simulated)} of ${plural(report.decisions, "decision")} are simulated`;
    labels.push(element("span", { class: "mark warn" }, what));
  }
  if (report.window) labels.push(element("span", { class: "mark" }, `not clicked after ${duration(report.window)}`));
  if (report.stopped) labels.push(element("span", { class: "mark warn" }, `stopped: ${report.stopped}`));
  for (const era of report.eras.slice(1).slice(-3)) labels.push(element("span", { class: "mark" }, era));
  $("labels").replaceChildren(...labels);
}

function figure(name, value, more) {
  return element("div", {}, element("dt", {}, name), element("dd", {}, value, element("small", {}, more)));
}

// Rates as people say them: [how many seconds, what they are called].
const SPANS = [[1, "per second"], [60, "per minute"], [3600, "per hour"], [86400, "per day"]];
const spanOf = (perSecond, least = 1) => SPANS.find(([seconds]) => perSecond * seconds >= least) ?? SPANS.at(-1);

const NOW = 10; // seconds that count as now

function now(timeline) {
  const { seconds, points } = timeline;
  const asked = points.filter((point) => point.decisions > 0);
  if (!asked.length) return "none yet";
  const time = Date.now() / 1000;
  const ago = time - asked.at(-1).at - seconds; // since the end of the last stretch with decisions
  if (ago > NOW) return `the last one ${duration(ago)} ago`;
  const recent = asked.filter((point) => point.at + seconds > time - NOW);
  const decisions = recent.reduce((sum, point) => sum + point.decisions, 0);
  const perSecond = decisions / Math.max(1, time - recent[0].at);
  const [span, called] = spanOf(perSecond);
  return `${number(Math.round(perSecond * span))} ${called} now`;
}

function survivors({ report, left }) {
  return report.factors.map((factor) => `${left[factor.name].length} of ${plural(living(factor).length, "level")} of ${factor.name}`).join(" and ");
}

function showFigures(view) {
  const { report, timeline } = view;
  const counts = report.outcomes;
  const known = counts.clicked + counts.not_clicked + counts.expired;
  const since = report.alarms.some(({ did }) => did === "restart") ? "since the restart" : "";
  const more = view.uniform_rate ? `${signedPercent(view.click_rate / view.uniform_rate - 1)} over an equal split` : "";
  const lift = [more, since].filter(Boolean).join(", ") || "of all outcomes";
  const even = view.uniform_rate !== null ? `estimated: about ${number(Math.round(report.even_clicks))} clicks ${since || "by now"}` : "not enough data";
  const steers = report.goals?.[0]?.steers; // an amount: the policy learns clicks that it is rounded to
  const ranked = report.ranking !== undefined;
  const verdict = ranked ? [rankingFigure(report), ...verdictFigures(report).filter(([name]) => name === "Exploring")] : verdictFigures(report);
  const figures = [
    ...verdict.map((found) => figure(...found)),
    figure("Decisions", number(report.decisions), now(timeline)),
    figure(steers ? "Rounded to clicks" : "Clicks", number(counts.clicked), `of ${plural(known, "outcome")}`),
    figure(steers ? "Rate of these" : ranked ? "Lists with a click" : "Click rate", percent(view.click_rate), known ? lift : "no outcomes yet"),
    ...(ranked ? [] : [figure("Equal split", percent(view.uniform_rate), even)]),
    figure("Open decisions", number(counts.open), counts.held ? `${plural(counts.held, "outcome")} held` : "waiting for an outcome"),
    figure("Ignored", number(counts.late + counts.void), `${number(counts.late)} late, ${number(counts.void)} cancelled`),
  ];
  if (view.stage !== null) figures.push(figure("Stage", number(view.stage + 1), `${survivors(view)} left`));
  $("figures").replaceChildren(...figures);
  const rows = Math.ceil(figures.length / Math.max(2, Math.floor($("figures").clientWidth / CARD))); // no card alone in the last one
  const cards = Math.ceil(figures.length / rows);
  $("figures").style.setProperty("--cards", cards);
  if (figures.length % cards === 1) figures.at(-1).style.gridColumn = "1 / -1"; // nor in two columns
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

// Equal steps from the first decision to the last; the one that is not over counts as far as it has come.
function traffic({ seconds, points }) {
  const first = points[0].at;
  const width = seconds * Math.ceil((points.at(-1).at + seconds - first) / seconds / BARS);
  const end = points.at(-1).at + Math.min(seconds, Math.max(1, Date.now() / 1000 - points.at(-1).at));
  const steps = Array.from({ length: Math.floor((points.at(-1).at - first) / width) + 1 }, (_, step) => (
    { at: first + step * width, until: Math.min(end, first + (step + 1) * width), decisions: 0 }));
  for (const point of points) steps[Math.floor((point.at - first) / width)].decisions += point.decisions;
  const [span, called] = spanOf(Math.max(...steps.map((step) => step.decisions / (step.until - step.at))), 5);
  const bars = steps.map((step) => (
    { at: step.at * 1000, until: step.until * 1000, decisions: step.decisions, rate: step.decisions * span / (step.until - step.at) }));
  return { bars, called };
}

async function showCharts(view) {
  const found = rates(view.timeline);
  const alarms = view.report.alarms.map(({ at }) => ({ at: at * 1000 }));
  const marked = alarms.length ? ` Dotted: ${alarms.length === 1 ? "an alarm" : "alarms"}.` : "";
  $("rate-chart").hidden = !found.length;
  const dashed = view.uniform_rate === null ? "" : ` Dashed: the equal split, estimated at ${percent(view.uniform_rate)}.`;
  $("rate-note").textContent = found.length
    ? `Each dot is ${number(Math.min(...found.map((dot) => dot.outcomes)))} outcomes or more.${dashed}${marked}`
    : "Too few outcomes yet: the first dot needs 20.";
  if (found.length) await rateChart($("rate-chart"), found, view.uniform_rate, alarms);
  const some = view.timeline.points.length > 0;
  $("traffic-chart").hidden = !some;
  $("traffic-note").textContent = "No decisions yet.";
  if (some) {
    const { bars, called } = traffic(view.timeline);
    $("traffic-note").textContent = `Decisions ${called}.${marked}`;
    await trafficChart($("traffic-chart"), bars, called, alarms);
  }
}

function showMaps(view) {
  const { heat, report } = view;
  if (report.ranking) return showListMaps(view);
  const sizes = heat.levels.map((levels) => levels.length).join(" x ");
  const all = report.factors.map((factor) => living(factor).length).join(" x ");
  $("maps-note").textContent = (sizes === all ? `${all} combinations of ${report.factors.map((factor) => factor.name).join(" and ")}. ` : `The busiest ${sizes} of ${all} combinations. `)
    + (report.leads ? "Framed: the leader. " : "") + "–: no data.";
  $("maps").classList.toggle("stacked", heat.levels[1].length > 10);
  heatMap($("rates-map"), "Click rate: clicks per outcome", view, (cell) => cell.outcomes ? cell.clicks / cell.outcomes : null);
  const counts = counted(report);
  const since = counts < report.decisions ? " since the restart" : "";
  heatMap($("shares-map"), `Traffic: share of all decisions${since}`, view, (cell) => cell.decisions ? cell.decisions / counts : null);
}

function showListMaps(view) {
  const shown = rankingNotes(view);
  $("maps").classList.toggle("stacked", view.heat.levels[1].length > 10);
  heatMap($("rates-map"), "Click rate at each position", view, (cell) => cell.outcomes ? cell.clicks / cell.outcomes : null);
  heatMap($("shares-map"), "Share of all items shown", view, (cell) => cell.decisions && shown ? cell.decisions / shown : null);
}

function showRace(view) {
  const { report } = view;
  for (const [id, title] of Object.entries(report.ranking ? TITLES : USUAL)) $(id).textContent = title;
  if (report.ranking) {
    $("combinations-section").hidden = true;
    $("maps-section").hidden = false;
    return showRanking($("factor-tables"), view);
  }
  const stage = view.stage === null ? "" : `The policy is in stage ${view.stage + 1}: ${survivors(view)} are left. `;
  $("race-note").textContent = stage + raceNote(report);
  $("combinations-section").hidden = view.heat !== null;
  $("maps-section").hidden = view.heat === null;
  showFactors($("factor-tables"), view);
  if (view.heat === null) showCombinations(view);
}

export async function show(view) {
  $("experiment").hidden = false;
  showVerdict(view.report);
  showAlarms(view.report);
  document.title = `${view.report.name} · rankone`;
  showLabels(view);
  showFigures(view);
  if (view.heat !== null) showMaps(view);
  showRace(view);
  showGoals(view.report);
  showSegments(view.report);
  await showCharts(view);
}
