// A site whose pages arrive decided: its server asks, its page tells the click. Prints its address.
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { createClient } from "rankone";
import { inPage, visitorOf } from "rankone/server";

const [url, port] = process.argv.slice(2);
const rankone = createClient({ url, wait: 60_000 });
const bundle = readFileSync("site_page.bundle.js", "utf8");

createServer(async (request, response) => {
  if (request.url !== "/") return response.writeHead(404).end();
  const { visitor, setCookie } = visitorOf(request, { secure: false });
  const { id, levels } = await rankone.ask("homepage", { visitor, fallback: { headline: "A", image: "1" } });
  response.writeHead(200, { "Content-Type": "text/html", ...(setCookie && { "Set-Cookie": setCookie }) });
  response.end(`<!doctype html><a href="#offer"><h1>${levels.headline}</h1><p>${levels.image}</p></a>
    ${inPage("found", { url, visitor, decision: { id, levels } })}<script>${bundle}</script>`);
}).listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}`));
