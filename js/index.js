// The client for pages and servers. index.d.ts says what everything means.
import { connect, random } from "./core.js";

const KEPT = "rankone"; // where browsers keep the visitor: the snippet keeps it there too

/** What the service refuses, or why it did not answer. `code` is the service's, or "timeout" or "unreachable". */
export class RankoneError extends Error {
  constructor(code, message, cause) {
    super(message, { cause });
    Object.assign(this, { name: "RankoneError", code });
  }
}

const inLine = (context) =>
  context && Object.entries(context).map(([attribute, level]) => {
    if (/[,=]/.test(attribute) || String(level).includes(",")) {
      throw new RankoneError("invalid", `The attribute "${attribute}" must be written without commas.`);
    }
    return `${attribute}=${level}`;
  }).join(",");

const answerOf = async (response) => {
  const body = await response.json().catch(() => ({}));
  if (response.ok && body.decisions?.[0]?.levels) return body;
  throw new RankoneError(body.code ?? "unreachable", body.detail ?? `The service answered with status ${response.status}.`);
};

export const createClient = ({ url, token, visitor, signature, consent = true, wait }) => {
  if (!url) throw new RankoneError("invalid", "The address of the service is missing: pass { url }.");
  const service = connect(url.endsWith("/") ? url : `${url}/`, token);
  const inBrowser = typeof document !== "undefined";
  const patience = wait ?? (inBrowser ? 300 : 2000);
  const given = visitor !== undefined || !inBrowser;
  let mayKeep = consent;

  const keep = () => {
    try {
      visitor = localStorage[KEPT] ||= visitor ?? random();
    } catch {
      visitor ??= random();
    }
  };
  if (!given) mayKeep ? keep() : (visitor = random());

  const decision = (experiment, { id, levels }) => {
    let told = false;
    const once = (what) => () => {
      if (told || id === null) return;
      told = true;
      service.beacon(experiment, { id, ...what });
    };
    return { id, levels, click: once({}), cancel: once({ void: true }) };
  };

  const asked = async (experiment, { visitor: who = visitor, signature: by = signature, context, wait = patience }) => {
    const sent = { visitor: who, signature: by, context: inLine(context) };
    const stop = new AbortController();
    let timer;
    const late = new Promise((_, fail) => {
      timer = setTimeout(() => fail(new RankoneError("timeout", `No answer within ${wait} ms.`)), wait);
    });
    const answer = service.visit(experiment, sent, { signal: stop.signal })
      .then(answerOf, (cause) => { throw new RankoneError("unreachable", "The service cannot be reached.", cause); });
    try {
      const { decisions: [found] } = await Promise.race([answer, late]);
      return decision(experiment, found);
    } catch (error) {
      // What comes too late is not shown, so it is cancelled, unless an earlier view may have shown it.
      answer.then(({ repeated, decisions: [found] }) => repeated || decision(experiment, found).cancel(), () => {});
      if (error.code === "timeout") setTimeout(() => stop.abort(), 30_000).unref?.();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  };

  return {
    get visitor() {
      return visitor;
    },
    async ask(experiment, { fallback, ...more } = {}) {
      try {
        return await asked(experiment, more);
      } catch (error) {
        if (!fallback) throw error;
        return { ...decision(experiment, { id: null, levels: fallback }), error };
      }
    },
    resume: (experiment, found) => decision(experiment, found),
    track(goal, value, { key = random(), visitor: who = visitor, signature: by = signature } = {}) {
      if (who === undefined) throw new RankoneError("invalid", "Whose outcome is it? Pass { visitor }.");
      service.track({ visitor: who, signature: by, goal, value, key });
    },
    consent(isGiven = true) {
      mayKeep = isGiven;
      if (given) return;
      if (mayKeep) keep();
      else {
        try {
          delete localStorage[KEPT];
        } catch {}
        visitor = random();
      }
    },
  };
};
