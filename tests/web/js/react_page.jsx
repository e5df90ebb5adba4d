// A page of React: shows what was decided, tells the click. Twice as React's own checks have it.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createClient } from "rankone";
import { useDecision } from "rankone/react";

const fallback = { headline: "default", image: "default" };

function Offer({ client }) {
  const { levels, pending, error, click } = useDecision(client, "homepage", { fallback });
  return <h1 data-state={error ? error.code : pending ? "pending" : "shown"} onClick={click}>{levels.headline}</h1>;
}

window.start = (options) => {
  document.body.innerHTML = "<main></main>";
  const client = createClient({ wait: 60_000, ...options });
  createRoot(document.querySelector("main")).render(<StrictMode><Offer client={client} /></StrictMode>);
  window.client = client;
};
