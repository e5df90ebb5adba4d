// The charts of the page, in Vega-Lite. Labels reach it as data only, never as part of an expression, and expressions
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
    for (const [name, values] of Object.entries(data)) view.data(name, values);
    await view.runAsync();
    return;
  }
  known?.view.then((view) => view.finalize());
  const spec = {
    config: config(), datasets: data,
    width: element.clientWidth, autosize: { type: "fit", contains: "padding" }, ...build(),
  };
  const view = vegaEmbed(element, spec, { actions: false, ast: true, mode: "vega-lite", renderer: "svg" }).then((result) => result.view);
  drawn.set(element, { key: whole, view });
  await view;
}

// Times as people read them: to the second for minutes, to the day for weeks.
function timeAxis(points) {
  const hours = points.length ? (points.at(-1).at - points[0].at) / 3.6e6 : 0;
  const format = hours < 0.5 ? "%H:%M:%S" : hours < 36 ? "%H:%M" : "%d %b";
  return { title: null, labelOverlap: true, tickCount: 5, grid: false, format };
}

export function rateChart(element, points, uniform) {
  const rules = uniform === null ? [] : [{ rate: uniform }];
  const axis = timeAxis(points);
  return draw(element, ["rate", axis], () => ({
    height: 200,
    layer: [
      {
        data: { name: "rules" }, mark: { type: "rule", strokeDash: [6, 4], color: colour("faint"), size: 1.5 },
        encoding: { y: { field: "rate", type: "quantitative" } },
      },
      {
        data: { name: "points" }, mark: { type: "line", color: colour("accent"), point: { size: 18, color: colour("accent") } },
        encoding: {
          x: { field: "at", type: "temporal", axis },
          y: { field: "rate", type: "quantitative", axis: { title: null, format: ".1~%", tickCount: 4 }, scale: { zero: true } },
          tooltip: [
            { field: "at", type: "temporal", title: "from", format: "%x %X" },
            { field: "rate", type: "quantitative", title: "click rate", format: ".2%" },
            { field: "outcomes", type: "quantitative", title: "outcomes" },
          ],
        },
      },
    ],
  }), { points, rules });
}

export function trafficChart(element, points) {
  const axis = timeAxis(points);
  return draw(element, ["traffic", axis], () => ({
    height: 200, data: { name: "points" },
    mark: { type: "area", line: { color: colour("accent") }, color: colour("accent"), opacity: 0.25, interpolate: "step" },
    encoding: {
      x: { field: "at", type: "temporal", axis },
      y: { field: "rate", type: "quantitative", axis: { title: null, tickCount: 4 } },
      tooltip: [
        { field: "at", type: "temporal", title: "from", format: "%x %X" },
        { field: "rate", type: "quantitative", title: "decisions a second", format: ".3~r" },
      ],
    },
  }), { points });
}

// cells: {row, col, value (null: nothing known), text, leads, decisions, outcomes, clicks}
export function heatMap(element, cells, rows, cols) {
  const room = element.clientWidth - Math.min(120, 10 + 7 * Math.max(...rows.map((name) => name.length)));
  const wide = room / cols.length >= 27;
  const limits = { labelLimit: 110, labelFontSize: 11, title: null, labelPadding: 6, domain: false, ticks: false };
  const level = wide && Math.max(...cols.map((name) => name.length)) * 6 < room / cols.length;
  const x = { field: "col", type: "nominal", sort: null, axis: { ...limits, orient: "top", labelAngle: level ? 0 : -45 } };
  const y = { field: "row", type: "nominal", sort: null, axis: limits };
  const tooltip = ["row", "col", "decisions", "outcomes", "clicks"].map((field) => ({ field, type: "nominal" }));
  return draw(element, ["heat", rows, cols], () => ({
    height: Math.max(90, 60 + rows.length * (rows.length > 12 ? 22 : 30)), data: { name: "cells" }, encoding: { x, y },
    padding: { left: 5, top: 5, bottom: 5, right: level ? 5 : 30 }, // slanted labels lean out
    layer: [
      {
        mark: { type: "rect", stroke: colour("line"), strokeWidth: 1 },
        encoding: {
          color: {
            condition: { test: "datum.value === null", value: colour("paper") },
            field: "value", type: "quantitative", legend: null, scale: { range: [colour("card"), colour("accent")], interpolate: "rgb", domainMin: 0 },
          },
          tooltip,
        },
      },
      {
        transform: [{ filter: "datum.leads" }],
        mark: { type: "rect", filled: false, stroke: colour("ink"), strokeWidth: 2.5, tooltip: false },
      },
      ...(wide ? [{
        mark: { type: "text", fontSize: 11, tooltip: false },
        encoding: {
          text: { field: "text", type: "nominal" },
          color: { condition: { test: "datum.dark", value: colour("card") }, value: colour("ink") },
        },
      }] : []),
    ],
  }), { cells });
}
