// What the decided page itself does: tell the click, and an order.
import { createClient } from "rankone";
import { fromPage } from "rankone/server";

const { url, visitor, decision } = fromPage("found");
const rankone = createClient({ url, visitor });
const { click } = rankone.resume("homepage", decision);
document.querySelector("a").addEventListener("click", () => {
  click();
  rankone.track("order", 20, { key: "order 18" });
});
