// Draws the charts of a report to the width there is, and lets its code be copied. Labels are data of the charts.
"use strict";

const charts = JSON.parse(document.getElementById("data").textContent);

// A chart as the page looks: what is black on white in print is light on dark in the dark.
const INK = { "#000000": "ink", black: "ink", "#444": "faint", "#777777": "faint" };
const LIGHTER = { "#0072b2": "#4aa3df", "#8c510a": "#c98b4f", "#009e73": "#2fc39a", "#d55e00": "#f07f2a" };
const dark = matchMedia("(prefers-color-scheme: dark)");
const look = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function coloured(value) {
  if (Array.isArray(value)) return value.map(coloured);
  if (value && typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, key === "values" ? each : coloured(each)]));
  return INK[value] ? look(INK[value]) : (dark.matches && LIGHTER[value]) || value;
}

function asThePage(given) {
  const spec = coloured(given), ink = look("ink"), faint = look("faint"), line = look("line");
  const of = (part, added) => ({ ...spec.config?.[part], ...added });
  spec.config = {
    ...spec.config, background: "transparent",
    axis: of("axis", { labelColor: faint, titleColor: faint, gridColor: line, domainColor: line, tickColor: line }),
    legend: of("legend", { labelColor: ink, titleColor: faint }),
    header: of("header", { labelColor: ink, titleColor: faint }),
    title: of("title", { color: ink, subtitleColor: faint }),
    view: of("view", { stroke: line }),
  };
  return spec;
}

// Panels as wide and as many as fit; legends below, so that they take no width.
function fitted(given, width) {
  const spec = structuredClone(given), narrow = width < 600;
  const legend = { ...spec.config?.legend, orient: "bottom", columns: narrow ? 1 : 3, labelLimit: narrow ? width - 90 : 320 };
  spec.config = { ...spec.config, legend };
  if (spec.concat) {
    if (narrow) delete spec.title; // it would be cut off; the heading above says nearly the same
    const labels = spec.concat.some((panel) => (panel.layer ?? [panel]).some((layer) => layer.encoding?.y?.type === "nominal")) ? 190 : 75;
    const most = Math.min(spec.concat.length, spec.columns ?? 3);
    spec.columns = Math.max(1, Math.min(most, Math.floor(width / (labels + 260))));
    const room = Math.floor(width / spec.columns) - labels - 10;
    for (const panel of spec.concat) panel.width = Math.max(140, Math.min(spec.concat.length === 1 ? 820 : 560, room));
  } else if (!spec.hconcat && !spec.vconcat && typeof spec.width === "number" && width - 90 < spec.width && !has(spec, "text")) {
    spec.width = Math.max(180, width - 90);
  }
  return spec;
}

// A chart with numbers written in its cells stays as large as they need; it scrolls instead.
const has = (spec, mark) => (spec.layer ?? []).some((layer) => (layer.mark?.type ?? layer.mark) === mark);

async function draw(place, axes) {
  const element = document.querySelector(`[data-chart="${place}"]`);
  const spec = asThePage(fitted(charts[place][axes], element.parentElement.clientWidth));
  await vegaEmbed(element, spec, { actions: false, ast: true, mode: "vega-lite", renderer: "svg" });
}

function drawAll() {
  charts.forEach((specs, place) => {
    const chosen = document.querySelector(`[data-of="${place}"] [aria-pressed="true"]`);
    draw(place, chosen ? chosen.textContent : Object.keys(specs)[0]);
  });
}

charts.forEach((specs, place) => {
  const names = Object.keys(specs), bar = document.querySelector(`[data-of="${place}"]`);
  if (names.length < 2) return;
  for (const name of names) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.setAttribute("aria-pressed", name === names[0]);
    button.addEventListener("click", () => {
      for (const other of bar.children) other.setAttribute("aria-pressed", other === button);
      draw(place, name);
    });
    bar.append(button);
  }
});

for (const button of document.querySelectorAll(".copy"))
  button.addEventListener("click", async () => {
    const text = button.parentElement.querySelector("pre");
    getSelection().selectAllChildren(text); // where the clipboard is closed to files, the text is at least selected
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Selected";
    }
  });

dark.addEventListener("change", drawAll);
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== width) drawAll();
  width = innerWidth;
});
drawAll();
