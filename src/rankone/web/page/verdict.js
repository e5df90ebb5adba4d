// The verdict: headline, what it assumes, warnings, and the figures that belong to it. The rest is folded away.

import { $, duration, element, number, percent, shortPercent } from "./dom.js";

const range = (low, high) => (low === high ? low : `${low} to ${high}`);

// Whether an alarm was raised since the last restart, so that the present statement may be wrong.
const doubted = ({ alarms }) => alarms.slice(alarms.findLastIndex((alarm) => alarm.did === "restart") + 1).length > 0;

function standing(report) {
  const sure = `${percent(1 - report.error_rate)} sure`;
  if (report.shortfalls.length) return [report.decided ? "in doubt" : "open", "outcomes are not reported equally"];
  if (report.decided && doubted(report)) return ["in doubt", "see the alarm"];
  if (report.good_enough) return ["good enough", `within ${shortPercent(report.margin)}, ${sure}`];
  if (report.decided) return ["decided", sure];
  if (!report.leads) return ["open", report.fault ? "a fault in the program" : "not enough data"];
  if (report.basis === "steady") return ["open", "too little random traffic"];
  return ["open", report.confidence < 0.5 ? "too early to say" : `${shortPercent(report.confidence)} sure`];
}

function visitorsLeft(report) {
  const [few, many] = report.visitors_left;
  const seconds = report.seconds_left;
  const time = seconds === null ? "" : `: ${range(duration(seconds[0]), duration(seconds[1]))}`;
  return ["Visitors still needed", range(number(few), number(many)), `if these differences are real${time}`];
}

// "+17% (+2% to +33%)" as a figure and what stands below it; what is no effect stands below alone.
export function effect(text) {
  const [what, between] = text.split(/ (?=\()/);
  return between ? [what, between] : ["\u2013", text];
}

// [name, value, more] of each figure.
export function verdictFigures(report) {
  const figures = [["Verdict", ...standing(report)]];
  if (report.visitors_left !== null && !report.decided && !report.stopped) figures.push(visitorsLeft(report));
  if (report.control && report.basis === "any") figures.push(["Over the control", ...effect(report.control_effect || "not enough data")]);
  if (report.aim && !report.stopped) {
    const until = !report.explore ? "the policy chooses alone"
      : report.decided ? "of decisions, to notice changes" : "of decisions, until there is a verdict";
    figures.push(["Exploring", shortPercent(report.explore), until]);
  }
  return figures;
}

const items = (id, texts) => {
  $(id).hidden = texts.length === 0;
  $(id).replaceChildren(...texts.map((text) => element("li", {}, text)));
};

export function showVerdict(report) {
  $("sentence").textContent = report.headline;
  $("assumes").hidden = !report.assumes;
  $("assumes").textContent = report.assumes;
  items("warnings", report.warnings);
  items("method", [...report.notes, ...report.details]);
}

export function raceNote(report) {
  const [first] = report.goals ?? [];
  if (report.basis === "any") return `${first?.steers ? `'${first.name}'` : "Clicks"} against the leading level. Tick: estimate; bar: interval; thin line: the leader.`;
  return "No level is ruled out: too few decisions were drawn at random to compare them.";
}
