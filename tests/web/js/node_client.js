// The package as a server uses it: prints what it was given, as JSON.
import { createClient, RankoneError } from "rankone";
import { inPage, visitorOf } from "rankone/server";

const [url, nowhere, token] = process.argv.slice(2);
const rankone = createClient({ url, token, wait: 60_000 });
const codeOf = async (asking) => {
  try {
    await asking();
  } catch (error) {
    return error instanceof RankoneError ? error.code : `${error}`;
  }
};
const fallback = { headline: "default" };
const visitor = "ann";
const first = await rankone.ask("homepage", { visitor, context: { device: "phone", returning: true } });
const again = await rankone.ask("homepage", { visitor });
for (let time = 0; time < 2; time++) {
  first.click();
  rankone.track("order", 49.9, { visitor, key: "order 17" });
}
const other = await rankone.ask("homepage", { visitor: "bob" });
other.cancel();
const away = await createClient({ url: nowhere }).ask("homepage", { visitor, fallback });
away.click();
const late = await rankone.ask("homepage", { visitor: "eve", fallback, wait: 0 });
const cookie = visitorOf({ headers: { cookie: "a=b; rankone=1-2-3-4" } });
const fresh = visitorOf(new Request(url));
console.log(JSON.stringify({
  first, again, away: { levels: away.levels, code: away.error.code }, late: late.error.code,
  codes: [
    await codeOf(() => rankone.ask("nowhere", { visitor })),
    await codeOf(() => createClient({ url: nowhere }).ask("homepage")),
    await codeOf(() => rankone.ask("homepage", { visitor, context: { device: "a,b" } })),
    await codeOf(() => rankone.track("order", 1)),
    await codeOf(() => createClient({})),
  ],
  cookie, fresh,
  quiet: visitorOf({ headers: { cookie: "rankone=1-2-3-4" } }, { consent: false }),
  forged: visitorOf({ headers: { cookie: "rankone=<script>" } }).visitor,
  page: inPage("found", { text: "</script><b>" }),
}));
