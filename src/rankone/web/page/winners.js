// Winners of all experiments together, asked for when the list is opened.

import { $, element, percent } from "./dom.js";

function line({ name, best, rate, winner }) {
  const levels = Object.values(best).map((level) => `'${level}'`).join(" with ");
  const clicked = rate === null ? "" : ` (${percent(rate)} clicked)`;
  return element("li", {}, `${name}: ${levels}${clicked} ${winner ? "wins" : "is ahead, not sure enough"}`);
}

export function offerWinners(get) {
  $("winners").addEventListener("toggle", async () => {
    if (!$("winners").open) return;
    try {
      const { headline, assumes, candidates } = await get("v1/winners");
      $("winners-headline").textContent = headline;
      $("winners-assumes").textContent = assumes;
      $("winners-list").replaceChildren(...candidates.map(line));
    } catch (error) {
      $("winners-headline").textContent = `No answer: ${error.message}`;
    }
  });
}
