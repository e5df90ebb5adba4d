// For the pages of a site: asks once per view, shows what was chosen, tells the click. docs/snippet.md says how to use it.
// The service delivers it with core.js inside.
// Whatever the service does, the page stays as it was written: nothing is hidden before everything to show is known.
(() => {
  const script = document.currentScript;
  let { experiment, token, visitor, signature, context, within, consent, wait = 300 } = script.dataset;
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

  const show = (levels) => {
    const detail = { experiment, levels };
    if (!document.dispatchEvent(new CustomEvent("rankone", { detail, cancelable: true }))) return true;
    const root = within ? document.querySelector(within) : document;
    const parts = [...(root?.querySelectorAll("[data-rankone][data-level]") ?? [])];
    const fits = ({ dataset }) => levels[dataset.rankone] === dataset.level;
    const all = Object.keys(levels);
    const found = (factor) => parts.some((part) => part.dataset.rankone === factor && fits(part));
    if (!all.length || !all.every(found)) return false;
    for (const part of parts) if (all.includes(part.dataset.rankone)) part.hidden = !fits(part);
    return true;
  };

  const answered = async (answer) => {
    const { repeated, decisions: [{ id, levels }] } = await answer.json();
    const late = performance.now() - began > wait;
    if (document.readyState === "loading") await new Promise((go) => addEventListener("DOMContentLoaded", go));
    // What an earlier view may have shown, here or elsewhere, is not voided: only what was not clicked would go missing.
    if (late || !show(levels)) return repeated || beacon({ id, void: true });
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
