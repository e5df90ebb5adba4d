// The verdict: who leads or has won, what that rests on, how long it takes yet, and what is wrong with the traffic.

import { $, duration, element, number, shortPercent, signedPercent } from "./dom.js";

const range = (low, high) => (low === high ? low : `${low} to ${high}`);

// Whether something rang since all was last begun anew, so that the present statement may be wrong.
const doubted = ({ alarms }) => alarms.slice(alarms.findLastIndex((alarm) => alarm.did === "restart") + 1).length > 0;

function standing(report) {
  const error = `error at most ${number(100 * report.error_rate)}%`;
  if (report.shortfalls.length) return [report.decided ? "in doubt" : "open", "outcomes do not come back alike"];
  if (report.decided && doubted(report)) return ["in doubt", "an alarm rang"];
  if (report.good_enough) return ["good enough", `within ${shortPercent(report.margin)}, ${error}`];
  if (report.decided) return ["decided", error];
  if (!report.leads) return ["open", report.fault ? "a fault in the program" : "not enough data"];
  if (report.basis === "steady") return ["open", "no winner is named: levels cannot be compared"];
  const sure = report.confidence < 0.5 ? "too early to be sure" : `wrong with at most ${shortPercent(1 - report.confidence)}`;
  return ["open", sure];
}

function visitorsLeft(report) {
  const [few, many] = report.visitors_left;
  const seconds = report.seconds_left;
  const time = seconds === null ? "if these differences are real" : `if these differences are real: ${range(duration(seconds[0]), duration(seconds[1]))} at the traffic so far`;
  return ["Visitors still needed", range(number(few), number(many)), time];
}

function uplift(report) {
  if (report.uplift === null || report.uplift_high === null) return ["Over the control", "\u2013", "not enough data"];
  return ["Over the control", signedPercent(report.uplift), `${signedPercent(report.uplift_low)} to ${signedPercent(report.uplift_high)}`];
}

// [name, value, more] of each figure.
export function verdictFigures(report) {
  const figures = [["Verdict", ...standing(report)]];
  if (report.visitors_left !== null && !report.decided && !report.stopped) figures.push(visitorsLeft(report));
  if (report.control && report.basis === "any") figures.push(uplift(report));
  if (report.goal && !report.stopped) {
    const until = !report.explore ? "the policy chooses alone"
      : report.decided ? "of decisions, so that alarms can ring" : "of decisions, until there is a verdict";
    figures.push(["Exploring", shortPercent(report.explore), until]);
  }
  return figures;
}

// The beginning is large: who leads or has won. What follows is what has to be said with it.
export function showVerdict(report) {
  const { headline, sentence } = report;
  $("sentence").replaceChildren(element("strong", {}, headline), sentence.slice(headline.length));
  $("traffic-warning").hidden = report.shortfalls.length === 0;
  $("traffic-warning").textContent = report.shortfalls.length === 0 ? "" : "Traffic does not match what was chosen: "
    + report.shortfalls.map((short) => `${short.factor} ${short.name} (${shortPercent(short.told)} of its `
      + `${short.late ? "clicks came in time" : "decisions have an outcome"}, ${shortPercent(short.other_told)} of ${short.other})`).join(", ");
}

export function raceNote(report) {
  const error = number(100 * report.error_rate);
  if (report.basis === "any") {
    const returned = report.window ? " (with a window, only voided decisions and late clicks can test that)" : " and equally soon";
    return `Clicks compared with those of the leading level: the tick is the estimate, the bar its interval, the line the leader. All intervals `
      + `together are wrong with probability at most ${error}%, and so are all calls that a level is out of the race, which cut intervals at the `
      + `leader. Both hold however often you look and however the click rate of the whole site moves, if each level changes clicks by the same `
      + `factor whatever it is shown with at all times and outcomes of all levels come back alike${returned}.`;
  }
  return `Nobody is called out of the race: too few decisions were drawn at random to compare levels. Each interval is wrong with probability at most `
    + `${error}% while click rates stay as they are.`;
}
