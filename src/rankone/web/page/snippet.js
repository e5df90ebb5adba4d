// For the pages of a site: asks once per view, shows what was chosen, tells the click. docs/snippet.md says how to use it.
// The service delivers it with core.js inside.
// Whatever the service does, the page stays as it was written: nothing is hidden before everything to show is known.
(() => {
  const script = document.currentScript;
  let { experiment, token, visitor, signature, context, within, consent, decision, wait = 300 } = script.dataset;
  const service = connect(script.src, token);
  const began = performance.now();
  const beacon = (what) => service.beacon(experiment, what);

  // The same visitor gets the same decision; where nothing may be kept, a view is a visitor.
  const keep = () => {
    try {
      if (!script.dataset.visitor) visitor = localStorage.rankone ||= visitor;
    } catch {}
  };
  visitor ??= random();
  consent === "wait" || keep();

  // On any page of the site: rankone.track("order", 49.9, "order 17"), or a click on something with data-goal.
  const others = window.rankone;
  window.rankone = {
    track: (goal, value, key = random()) => {
      service.track({ visitor, signature, goal, value, key });
      others?.track(goal, value, key);
    },
    consent: () => {
      keep();
      others?.consent();
    },
  };
  others || addEventListener("click", ({ target }) => {
    const { goal, value } = target.closest?.("[data-goal]")?.dataset ?? {};
    if (goal) window.rankone.track(goal, value && +value);
  }, true);
  if (!experiment) return;

  const place = () => (within ? document.querySelector(within) : document);
  const itemsThere = () => [...(place()?.querySelectorAll("[data-item]") ?? [])];

  // A list: its items in their order, the others hidden. All of them have to be on the page.
  const showList = (items) => {
    const there = new Map(itemsThere().map((part) => [part.dataset.item, part]));
    if (!items.every((item) => there.has(item))) return false;
    for (const part of there.values()) part.hidden = true;
    for (const part of items.map((item) => there.get(item))) {
      part.hidden = false;
      part.parentNode.append(part);
    }
    return true;
  };

  // Tell which positions are clicked, and how far down half of an item was in view for a second.
  const watchList = (id, items) => {
    let seen = 0, told = -1;
    const at = (part) => items.indexOf(part.dataset.item) + 1;
    const waiting = new Map();
    const observer = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => {
      clearTimeout(waiting.get(target));
      if (isIntersecting) waiting.set(target, setTimeout(() => { seen = Math.max(seen, at(target)); }, 1000));
    }), { threshold: 0.5 });
    for (const part of itemsThere()) if (at(part)) observer.observe(part);
    const tell = (clicked) => {
      seen = Math.max(seen, ...clicked);
      if (clicked.length || seen > told) beacon({ id, clicked, seen });
      told = seen;
    };
    for (const kind of ["click", "auxclick"]) addEventListener(kind, ({ target }) => {
      const part = target.closest?.("[data-item]");
      if (part && place()?.contains(part) && at(part)) tell([at(part)]);
    }, true);
    addEventListener("visibilitychange", () => { if (document.visibilityState === "hidden") tell([]); });
  };
  // The site has asked for the list and shows it: only report.
  if (decision) {
    const begin = () => watchList(decision, itemsThere().filter((part) => !part.hidden).map((part) => part.dataset.item));
    if (document.readyState === "loading") addEventListener("DOMContentLoaded", begin);
    else begin();
    return;
  }

  const show = (levels, items) => {
    const detail = { experiment, levels, items };
    if (!document.dispatchEvent(new CustomEvent("rankone", { detail, cancelable: true }))) return true;
    if (items) return showList(items);
    const root = place();
    const parts = [...(root?.querySelectorAll("[data-rankone][data-level]") ?? [])];
    const fits = ({ dataset }) => levels[dataset.rankone] === dataset.level;
    const all = Object.keys(levels);
    const found = (factor) => parts.some((part) => part.dataset.rankone === factor && fits(part));
    if (!all.length || !all.every(found)) return false;
    for (const part of parts) if (all.includes(part.dataset.rankone)) part.hidden = !fits(part);
    return true;
  };

  const answered = async (answer) => {
    const { repeated, decisions: [{ id, levels, items }] } = await answer.json();
    const late = performance.now() - began > wait;
    if (document.readyState === "loading") await new Promise((go) => addEventListener("DOMContentLoaded", go));
    // What an earlier view may have shown, here or elsewhere, is not voided: only what was not clicked would go missing.
    if (late || !show(levels, items)) return repeated || beacon({ id, void: true });
    if (items) return watchList(id, items);
    const clicked = ({ target }) => {
      const part = target.closest?.("[data-rankone-click]");
      if (!part || (within && !part.closest(within))) return;
      beacon({ id });
      for (const kind of ["click", "auxclick"]) removeEventListener(kind, clicked, true);
    };
    for (const kind of ["click", "auxclick"]) addEventListener(kind, clicked, true);
  };

  service.visit(experiment, { visitor, signature, context }).then(answered).catch(() => {});
})();
