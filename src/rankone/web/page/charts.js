// The charts of the page, in Vega-Lite. It gets figures only, never a label that somebody else chose, and its expressions
// are interpreted (ast), so that the page's policy can forbid eval.

const drawn = new Map(); // element -> {key, view}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function config() {
  const text = { labelColor: colour("faint"), titleColor: colour("faint"), labelFontSize: 12 };
  return {
    background: null, font: "system-ui, sans-serif", view: { stroke: null },
    axis: { ...text, domainColor: colour("line"), gridColor: colour("line"), tickColor: colour("line") },
    legend: text,
  };
}

// Draw a chart, or only give new data to the one that is there. `key` tells charts of different build apart.
async function draw(element, key, build, data) {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const whole = JSON.stringify([key, dark, element.clientWidth]);
  const known = drawn.get(element);
  if (known?.key === whole) {
    const view = await known.view;
    for (const [name, values] of Object.entries(data)) if (values.length) view.data(name, values); // the others have no layer
    await view.runAsync();
    return;
  }
  known?.view.then((view) => view.finalize());
  const spec = {
    config: config(), datasets: data,
    width: element.clientWidth, autosize: { type: "fit", contains: "padding", resize: true }, ...build(),
  };
  const view = vegaEmbed(element, spec, { actions: false, ast: true, mode: "vega-lite", renderer: "svg" }).then((result) => result.view);
  drawn.set(element, { key: whole, view });
  await view;
}

// Times as people read them: to the second for minutes, to the day for weeks.
function timeAxis(element, points) {
  const hours = points.length ? (points.at(-1).at - points[0].at) / 3.6e6 : 0;
  const format = hours < 0.5 ? "%H:%M:%S" : hours < 36 ? "%H:%M" : "%d %b";
  return { title: null, labelOverlap: true, labelSeparation: 12, tickCount: Math.floor(element.clientWidth / 95), grid: false, format };
}

// Alarms as dashed lines from top to bottom; alarms: {at (milliseconds)}. A layer without data would make Vega warn.
const alarmLines = (alarms) => (alarms.length === 0 ? [] : [{
  data: { name: "alarms" }, mark: { type: "rule", strokeDash: [2, 3], color: colour("warn"), size: 2 },
  encoding: { x: { field: "at", type: "temporal" }, tooltip: [{ field: "at", type: "temporal", title: "alarm", format: "%x %X" }] },
}]);

const FROM = { field: "at", type: "temporal", title: "from", format: "%x %X" };

export function rateChart(element, points, uniform, alarms) {
  const rules = uniform === null ? [] : [{ rate: uniform }];
  const axis = timeAxis(element, points);
  return draw(element, ["rate", axis, rules.length, alarms.length > 0], () => ({
    height: 210,
    layer: [
      ...rules.map(() => ({
        data: { name: "rules" }, mark: { type: "rule", strokeDash: [6, 4], color: colour("faint"), size: 1.5 },
        encoding: { y: { field: "rate", type: "quantitative" } },
      })),
      {
        data: { name: "points" },
        mark: { type: "line", color: colour("accent"), strokeWidth: 2, point: { size: 26, color: colour("accent") } },
        encoding: {
          x: { field: "at", type: "temporal", axis },
          y: { field: "rate", type: "quantitative", axis: { title: null, format: ".1~%", tickCount: 4 }, scale: { zero: true } },
          tooltip: [
            FROM,
            { field: "rate", type: "quantitative", title: "click rate", format: ".2%" },
            { field: "outcomes", type: "quantitative", title: "outcomes" },
          ],
        },
      },
      ...alarmLines(alarms),
    ],
  }), { points, rules, alarms });
}

// bars: {at, until (milliseconds), rate, decisions}; `called` is the span of time that rates are for.
export function trafficChart(element, bars, called, alarms) {
  const axis = timeAxis(element, bars);
  return draw(element, ["traffic", axis, called, alarms.length > 0], () => ({
    height: 210,
    layer: [
      {
        data: { name: "bars" }, mark: { type: "bar", color: colour("accent"), opacity: 0.75, stroke: colour("card"), strokeWidth: 0.5 },
        encoding: {
          x: { field: "at", type: "temporal", axis },
          x2: { field: "until" },
          y: { field: "rate", type: "quantitative", axis: { title: null, tickCount: 4 } },
          y2: { datum: 0 },
          tooltip: [
            FROM,
            { field: "rate", type: "quantitative", title: `decisions ${called}`, format: ".3~r" },
            { field: "decisions", type: "quantitative", title: "decisions" },
          ],
        },
      },
      ...alarmLines(alarms),
    ],
  }), { bars, alarms });
}
