// Steps through the frames of one run. Names come as data and are set as text, never as markup.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const { frames, factors, strips } = data;
const { thing, visits, payoffs } = data, hasPairs = frames[0].pairs !== null, best = `the best ${visits ? "for each visitor" : thing}`;
const [rows, cols] = hasPairs ? factors.map((factor) => factor.levels) : [[], []];
const [SHOWN, CLICKED, IN] = [0, 1, 2]; // of the tables of pairs
const $ = (id) => document.getElementById(id);
const whole = new Intl.NumberFormat("en");
const [PULLS, CLICKS, LOW, HIGH, SCORE, LEFT, TRUTH] = [0, 1, 2, 3, 4, 5, 6];
const EVENTS = ["visitor", "stage ends", "eliminates", "leader", "restarts", "settled", "end"];
const eliminating = frames.some((frame) => frame.stage !== null);
document.body.classList.add("alive");
document.querySelector("main").classList.toggle("broad", cols.length > 7 || !hasPairs);
$("pairs-section").hidden = !hasPairs;
let at = 0;
let timer = null;

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function drawn(tag, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

const short = (count) => (count < 10000 ? whole.format(count) : `${(count / 1000).toFixed(count < 99500 && count % 1000 ? 1 : 0)}k`);
const counted = (number, of) => `${number} ${of}${number === 1 ? "" : "s"}`;
const rate = (clicks, pulls) => (pulls ? (clicks / pulls).toFixed(2) : "–");
const same = (one, other) => one !== null && one.every((name, factor) => name === other[factor]);
const joined = (names) => names.join(" + ");

function showFigures(frame) {
  const left = frame.left.map((own, factor) => `${factors[factor].name} ${own.filter(Boolean).length} of ${own.length}`);
  const figures = [
    ["decisions", whole.format(frame.step), `of ${whole.format(data.horizon)}`],
    eliminating
      ? ["stage", frame.stage + 1, `left: ${left.join(", ")}`]
      : visits ? ["visitor", frame.who || "–", ""] : [`leading ${thing}`, frame.leader ? joined(frame.leader) : "–", ""],
    [payoffs ? "payoff" : "clicks", whole.format(frame.clicks), frame.step && !payoffs ? `${((100 * frame.clicks) / frame.step).toFixed(1)} % of decisions` : ""],
    ["regret", frame.regret < 100 ? frame.regret.toFixed(1) : whole.format(Math.round(frame.regret)), `${payoffs ? "payoff" : "clicks"} lost against always showing ${best}`],
  ];
  $("figures").replaceChildren(...figures.map(([name, value, more]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, String(value), element("small", {}, more)))));
}

function showPairs(frame) {
  const total = Math.max(1, frame.step), [rowIn, colIn] = frame.left, swept = frame.kind === "decision" ? frame.sweeps : null;
  const head = element("tr", {}, element("th"), ...cols.map((name, j) => element("th", { class: colIn[j] ? "" : "gone", title: name }, name)));
  const body = rows.map((name, i) => element("tr", {}, element("th", { class: rowIn[i] ? "" : "gone", title: name }, name), ...cols.map((_, j) => {
    const shown = frame.pairs[SHOWN][i][j], names = [name, cols[j]];
    const cell = element("td", {}, element("b", {}, short(shown)), element("small", {}, rate(frame.pairs[CLICKED][i][j], shown)));
    const fill = element("div", { class: "fill" });
    fill.style.height = `${(100 * shown) / total}%`;
    cell.prepend(fill);
    if (!frame.pairs[IN][i][j]) cell.classList.add("out");
    const now = same(frame.decision, names) && ["decision", "leader", "stretch"].includes(frame.kind);
    if (swept !== null && frame.decision[1 - swept] === names[1 - swept]) cell.classList.add("partner");
    if (now) {
      cell.classList.add("now");
      cell.append(element("span", { class: "mark" }, frame.clicked ? "●" : "○"));
    }
    if (same(frame.leader, names)) cell.append(element("span", { class: "star", title: "leads" }, "★"));
    return cell;
  })));
  $("pairs").style.minWidth = `${6 + 3 * cols.length}rem`;
  $("pairs").replaceChildren(element("thead", {}, head), element("tbody", {}, ...body));
}

const across = (value) => (payoffs ? (value + 1) / 2 : value); // payoffs go from -1 to 1
function placed(kind, value, width) {
  const mark = element("i", { class: kind }), left = Math.min(1, Math.max(0, across(value)));
  mark.style.left = `${100 * left}%`;
  if (width !== undefined) mark.style.width = `${100 * width}%`;
  return mark;
}

function beliefs(factor, frame, title) {
  const names = factors[factor].levels, lines = frame.levels[factor];
  const low = lines.filter((line) => line[LEFT] && line[LOW] !== null).map((line) => line[LOW]);
  const bound = eliminating && low.length > 1 ? Math.max(...low) : null;
  const scored = data.scoredBy !== "";
  const parts = [
    element("span", { class: "head title" }, title), element("span"),
    element("span", { class: "scale" }, ...(payoffs ? ["-1", "0", "1"] : ["0", "0.5", "1"]).map((end) => element("span", {}, end))),
    element("span", { class: "head numbers" }, payoffs ? "score" : scored ? "rate · score · times" : "rate · times"),
  ];
  lines.forEach((line, place) => {
    const track = element("div", { class: `track${line[LEFT] ? "" : " out"}` });
    if (frame.kind === "decision" && frame.sweeps === factor && frame.decision[factor] === names[place]) track.classList.add("swept");
    if (bound !== null) track.append(placed("bound", bound));
    const start = line[LOW] ?? (line[PULLS] ? line[CLICKS] / line[PULLS] : 0);
    if (line[HIGH] !== null) {
      track.append(placed("bar", start, Math.max(0, line[HIGH] - start)), placed("end", line[HIGH]));
      if (line[LOW] !== null) track.append(placed("end", line[LOW]));
    }
    if (visits && line[SCORE] !== null) track.append(placed("end", line[SCORE]));
    if (line[PULLS]) track.append(placed("dot", line[CLICKS] / line[PULLS]));
    if (line[TRUTH] !== null) track.append(placed("truth", line[TRUTH]));
    const score = line[SCORE] === null ? "–" : Math.abs(line[SCORE]) > 1e8 ? "∞" : line[SCORE].toFixed(visits ? 2 : 1);
    const seen = [rate(line[CLICKS], line[PULLS]), ...(scored ? [score] : []), short(line[PULLS])].join(" · ");
    parts.push(
      element("span", { class: `name${line[LEFT] ? "" : " gone"}`, title: names[place] }, names[place]), track,
      element("span", { class: "numbers" }, payoffs ? score : seen),
    );
  });
  return element("div", { class: "beliefs" }, ...parts);
}

// The whole run: a strip for each of the combinations shown most, then regret; x is the log of time.
let moveCursor = () => {};
function drawRun() {
  const width = Math.max(280, $("run").clientWidth), narrow = width < 500, labels = narrow ? 84 : 190, height = narrow ? 36 : 30, bottom = 90;
  const x = (step) => labels + ((width - labels - 8) * Math.log(1 + step)) / Math.log(1 + data.horizon);
  const full = strips.length * height, svg = drawn("svg", { viewBox: `0 0 ${width} ${full + bottom + 22}`, role: "img", "aria-label": "share of decisions of each combination over time, and regret" });
  strips.forEach((names, place) => {
    const base = (place + 1) * height;
    const room = Math.floor(labels / 6.2), fitted = (name) => (name.length > room ? `${name.slice(0, room - 1)}…` : name);
    if (narrow && names.length > 1) svg.append(drawn("text", { x: 0, y: base - 15, class: "name" }, fitted(names[0])), drawn("text", { x: 0, y: base - 3, class: "name" }, fitted(`+ ${joined(names.slice(1))}`)));
    else svg.append(drawn("text", { x: 0, y: base - 5, class: "name" }, fitted(joined(names))));
    svg.append(drawn("line", { x1: labels, x2: width - 8, y1: base, y2: base, class: "base" }));
    for (let k = 1; k < frames.length; k += 1) {
      const [from, to] = [frames[k - 1], frames[k]], steps = to.step - from.step;
      if (!steps) continue;
      const share = (to.strips[place] - from.strips[place]) / steps, [x1, x2] = [x(from.step), x(to.step)];
      if (share > 0) svg.append(drawn("rect", { x: x1, width: Math.max(0.5, x2 - x1), y: base - share * (height - 5), height: share * (height - 5), class: "part" }));
      if (same(to.leader, names)) svg.append(drawn("line", { x1, x2, y1: base, y2: base, class: "led" }));
    }
  });
  const most = Math.max(1e-9, frames.at(-1).regret), y = (regret) => full + bottom - (regret / most) * (bottom - 24);
  svg.append(drawn("polyline", { points: frames.map((frame) => `${x(frame.step)},${y(frame.regret)}`).join(" "), class: "regret" }));
  svg.append(drawn("text", { x: 0, y: full + bottom - 4, class: "name" }, "regret"), drawn("text", { x: 0, y: full + 34 }, `up to ${most < 10 ? most.toFixed(1) : whole.format(Math.round(most))}`));
  svg.append(drawn("line", { x1: labels, x2: width - 8, y1: full + bottom, y2: full + bottom, class: "base" }));
  for (let step = 1, n = 0; step <= data.horizon; step *= 10, n += 1) {
    const late = x(step) > width - 30; // a label around the right end would be cut off there
    const where = { x: late ? width - 2 : x(step), y: full + bottom + 16, "text-anchor": late ? "end" : "middle" };
    if (!narrow || n % 2 === 0) svg.append(drawn("text", where, short(step)));
  }
  for (const frame of frames)
    if (["eliminates", "settled", "restarts"].includes(frame.kind)) svg.append(drawn("line", { x1: x(frame.step), x2: x(frame.step), y1: 0, y2: full + bottom, class: "happened" }));
  const cursor = drawn("line", { y1: 0, y2: full + bottom, class: "cursor" });
  svg.append(cursor);
  moveCursor = () => { for (const end of ["x1", "x2"]) cursor.setAttribute(end, x(frames[at].step)); };
  svg.addEventListener("click", (click) => {
    const box = svg.getBoundingClientRect(), where = ((click.clientX - box.left) * width) / box.width;
    const distance = (frame) => Math.abs(x(frame.step) - where);
    go(frames.reduce((best, frame, place) => (distance(frame) < distance(frames[best]) ? place : best), 0));
  });
  $("run").replaceChildren(svg);
  moveCursor();
}

function eventName(frame, place) {
  if (frame.kind === "stage ends") return `stage ${frame.stage + 1} ends`;
  if (frame.kind === "eliminates" || frame.kind === "settled") {
    const before = frames[place - 1] ?? frame;
    const out = factors.flatMap(({ levels }, factor) => levels.filter((_, level) => before.left[factor][level] && !frame.left[factor][level]));
    const gone = before.remaining - frame.remaining;
    const names = out.length > 2 ? `${out.slice(0, 2).join(", ")} …` : out.join(", ") || counted(gone, thing);
    return `${gone ? `out: ${names}` : "nobody out"}${frame.kind === "settled" ? ": settled" : ""}`;
  }
  if (frame.kind === "leader") return `new leader at ${whole.format(frame.step)}`;
  if (frame.kind === "visitor") return frame.who;
  return frame.kind === "restarts" ? `begins again at ${whole.format(frame.step)}` : "the end";
}

const events = frames.map((frame, place) => [frame, place]).filter(([frame]) => EVENTS.includes(frame.kind));
for (const [frame, place] of events) {
  const button = element("button", { type: "button" }, eventName(frame, place));
  button.addEventListener("click", () => go(place));
  $("events").append(button);
}

function go(place) {
  at = Math.max(0, Math.min(frames.length - 1, place));
  const frame = frames[at];
  $("slider").value = at;
  $("slider").setAttribute("aria-valuetext", `decision ${frame.step}`);
  $("where").textContent = `step ${at + 1} of ${frames.length} · decision ${whole.format(frame.step)}`;
  $("sentence").textContent = frame.text;
  events.forEach(([, of], n) => {
    const button = $("events").children[n];
    button.classList.toggle("past", of <= at);
    button.setAttribute("aria-current", of === at);
    if (of === at) $("events").scrollLeft = button.offsetLeft - $("events").offsetLeft - 60;
  });
  $("first").disabled = $("back").disabled = at === 0;
  $("on").disabled = $("event").disabled = at === frames.length - 1;
  showFigures(frame);
  if (hasPairs) showPairs(frame);
  const leader = frame.leader ?? factors.map(({ levels }) => levels[0]);
  const partners = (factor) => (data.aboutLevels || factors.length === 1 ? "" : ` with ${joined(leader.filter((_, other) => other !== factor))}`);
  $("levels").replaceChildren(...factors.map(({ name }, factor) => beliefs(factor, frame, `${name}${partners(factor)}`)));
  moveCursor();
  if (at === frames.length - 1) pause();
}

function pause() {
  clearInterval(timer);
  timer = null;
  $("play").textContent = "▶︎ Play";
}

function play() {
  if (timer !== null) return pause();
  if (at === frames.length - 1) go(0);
  timer = setInterval(() => go(at + 1), 700);
  $("play").textContent = "⏸︎ Pause";
}

const nextEvent = () => go(events.find(([, place]) => place > at)?.[1] ?? frames.length - 1);
const keys = { ArrowRight: () => go(at + 1), ArrowLeft: () => go(at - 1), Home: () => go(0), End: () => go(frames.length - 1), " ": play, e: nextEvent, E: nextEvent };
document.addEventListener("keydown", (press) => {
  if (press.ctrlKey || press.metaKey || press.altKey || !(press.key in keys) || press.target.type === "checkbox") return;
  if (press.key === " " && press.target.tagName === "BUTTON") return; // space presses the button that has the focus
  press.preventDefault();
  keys[press.key]();
});
for (const [id, act] of [["first", keys.Home], ["back", keys.ArrowLeft], ["play", play], ["on", keys.ArrowRight], ["event", nextEvent]])
  $(id).addEventListener("click", act);
$("slider").max = frames.length - 1;
$("slider").addEventListener("input", () => go(Number($("slider").value)));
$("truth").addEventListener("change", () => document.body.classList.toggle("no-truth", !$("truth").checked));
$("beliefs-title").textContent = data.interval || data.scoredBy ? "What the policy believes" : "What was seen";
$("beliefs-note").textContent = [
  data.interval && `Bars: ${data.interval}.`, data.scoredBy && `Score${visits ? " (|)" : ""}: ${data.scoredBy}${visits ? "" : ", the largest is shown next"}.`,
  payoffs ? "" : `Dots: clicks per outcome${visits ? " of this visitor" : ""}.`,
  data.aboutLevels && eliminating && "Times: in sweeps over its own factor.",
  eliminating && "Dashed: the best lower bound. A level whose bar ends to its left is eliminated at the end of the stage.",
].filter(Boolean).join(" ");
$("pairs-note").textContent = `Outlined: shown last (● click, ○ none). ★ leads.${eliminating ? " Hatched: eliminated." : frames[0].remaining < data.combinations ? " Hatched: never shown." : ""}`;
const all = data.combinations, some = !visits && all > strips.length ? `The ${strips.length} of ${whole.format(all)} ${thing}s that were shown most. ` : "";
$("run-note").textContent = visits ? "What was shown: the best for the visitor, or another." : `${some}${eliminating ? "Dotted lines: ends of stages. " : ""}Thick base line: the ${thing} leads.`;
addEventListener("resize", drawRun);
drawRun();
go(0);
