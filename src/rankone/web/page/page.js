// The page: which experiment to show, asking the service for it again and again, and the token that may be needed.

import { $, element } from "./dom.js";
import { offerManage, showManage } from "./manage.js";
import { show } from "./panels.js";
import { offerPlan } from "./plan.js";
import { offerWinners } from "./winners.js";

const EVERY = 1500; // milliseconds between looks at the experiment
const LIST_EVERY = 6; // looks between looks at the list of experiments
const FEW = 8; // experiments that get a button each
let token = sessionStorage.getItem("rankone-token");
let shown = wanted();
let names = [];
let who = null; // what our token may do

// The experiment that the address names.
function wanted() {
  try {
    return decodeURIComponent(location.hash.slice(1)) || null;
  } catch {
    return null; // not an address of ours
  }
}

class Refused extends Error {
  constructor() {
    super("a token with the scope read is needed");
  }
}

async function get(path, more = {}) {
  const headers = { ...more.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  const response = await fetch(path, { ...more, headers, cache: "no-store" });
  if (response.status === 401) throw new Refused();
  const body = await response.json();
  if (!response.ok) throw new Error(body.detail ?? `status ${response.status}`);
  return body;
}

function status(text, bad = false) {
  $("status").textContent = text;
  $("status").classList.toggle("bad", bad);
  $("status").setAttribute("role", bad ? "alert" : "note"); // only trouble is read aloud
}

function choose(name) {
  shown = name;
  history.replaceState(null, "", `#${encodeURIComponent(shown)}`);
  markShown();
  look();
}

function markShown() {
  const [chooser] = $("experiments").children;
  if (chooser instanceof HTMLSelectElement) chooser.value = shown;
  else for (const button of $("experiments").children) button.setAttribute("aria-current", button.title === shown);
}

function chooser() {
  const select = element("select", { "aria-label": "Experiment" }, ...names.map((name) => element("option", { value: name }, name)));
  select.addEventListener("change", () => choose(select.value));
  return select;
}

function chooserButton(name) {
  const button = element("button", { type: "button", title: name }, name);
  button.addEventListener("click", () => choose(name));
  return button;
}

const CREATE_COMMAND = `rankone create rankone.db homepage --window 600 \\
    --factor "headline=A,B" --factor "image=1,2"`;

function createRequest() {
  const settings = { name: "homepage", factors: { headline: ["A", "B"], image: ["1", "2"] }, outcomes: { window: 600 } };
  const bearer = token ? "    -H 'Authorization: Bearer rk_...' \\\n" : ""; // the one shown here may only read
  return `curl -X POST ${new URL("v1/experiments", document.baseURI)} \\\n${bearer}`
    + `    -H 'Content-Type: application/json' -d '${JSON.stringify(settings)}'`;
}

function showList({ experiments, damaged }) {
  const found = experiments.map((experiment) => experiment.name);
  const changed = JSON.stringify(found) !== JSON.stringify(names);
  names = found;
  if (!names.includes(shown)) shown = names[0] ?? null;
  $("empty").hidden = names.length + damaged.length > 0;
  $("damaged").hidden = damaged.length === 0;
  $("damaged").replaceChildren(...damaged.map(({ name, detail }) => element("p", {}, `${name} cannot be read: ${detail}`)));
  $("experiments").hidden = names.length === 0;
  $("winners").hidden = names.length < 2;
  $("create-command").textContent = CREATE_COMMAND;
  $("create-request").textContent = createRequest();
  $("example").textContent = `rankone simulate-traffic ${location.origin} demo --problem needle:8x8`;
  if (!names.length) $("experiment").hidden = true;
  if (changed) $("experiments").replaceChildren(...(names.length > FEW ? [chooser()] : names.map(chooserButton)));
  markShown();
}

let looking = null; // one look at a time; a click in between is looked at next
let again = false;
let looks = 0;

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
    if (looks++ % LIST_EVERY === 0 || shown === null) {
      showList(await get("v1/experiments"));
      who = await get("v1/whoami");
    }
    $("sign-in").hidden = true;
    $("plan").hidden = false;
    const view = shown === null ? null : await get(`v1/experiments/${encodeURIComponent(shown)}/view`);
    if (view) await show(view);
    await showManage(view, who, names);
    status(`live, ${new Date().toLocaleTimeString()}`);
  } catch (error) {
    looks = 0; // begin with the list again
    if (error instanceof Refused) {
      $("sign-in").hidden = false;
      for (const id of ["experiment", "experiments", "empty", "damaged", "plan", "manage", "winners"]) $(id).hidden = true;
      status(token ? "This token is not valid here." : "A token is needed.", token !== null);
    } else {
      status(`No answer, trying again: ${error.message}`, true);
    }
  }
}

function sign(given) {
  token = given;
  sessionStorage.setItem("rankone-token", token);
  looks = 0;
  look();
}

$("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  sign($("token").value.trim());
  $("token").value = "";
});

function send(path, body) {
  if (body === undefined) return get(path, { method: "POST" });
  return get(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

offerPlan(send);
offerWinners(get);
offerManage({ get, send, sign, look: () => { looks = 0; return look(); } });
addEventListener("resize", () => look());
addEventListener("hashchange", () => names.includes(wanted()) && choose(wanted()));
document.addEventListener("visibilitychange", () => document.hidden || look());

async function run() {
  if (!document.hidden && !($("sign-in").hidden === false && token === null)) await look();
  setTimeout(run, EVERY);
}
run();
