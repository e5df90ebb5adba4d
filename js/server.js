// For servers that write the HTML: the page arrives decided. server.d.ts says what everything means.
import { random } from "./core.js";

const NAME = "rankone";
const YEAR = 365 * 24 * 3600;

const cookieOf = (request) => {
  const { headers } = request;
  const line = typeof headers.get === "function" ? headers.get("cookie") : headers.cookie;
  return line?.split(/;\s*/).find((part) => part.startsWith(`${NAME}=`))?.slice(NAME.length + 1);
};

export const visitorOf = (request, { consent = true, secure = true } = {}) => {
  const known = consent ? cookieOf(request) : undefined;
  const visitor = known && /^[\w-]{1,100}$/.test(known) ? known : random();
  const kept = consent && visitor !== known;
  const cookie = `${NAME}=${visitor}; Path=/; Max-Age=${YEAR}; SameSite=Lax${secure ? "; Secure" : ""}`;
  return { visitor, setCookie: kept ? cookie : undefined };
};

// In a script element of the type application/json nothing runs, and only "<" could end it.
export const inPage = (id, value) =>
  `<script type="application/json" id="${id}">${JSON.stringify(value).replaceAll("<", "\\u003c")}</script>`;

export const fromPage = (id) => JSON.parse(document.getElementById(id)?.textContent ?? "null") ?? undefined;
