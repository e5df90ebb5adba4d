// Compiled, never run: the types of the package against those that the service's OpenAPI document describes.
import type { components } from "./api.js";
import { createClient, type Decision, type Levels } from "rankone";
import { decide, type Weights } from "rankone/edge";
import { useDecision } from "rankone/react";
import { fromPage, visitorOf } from "rankone/server";

type Served = components["schemas"]["VisitAnswer"]["decisions"][number];
type Same<One, Other> = [One, Other] extends [Other, One] ? true : never;
export const levels: Same<Served["levels"], Levels> = true;
export const ids: Same<Served["id"] | null, Decision["id"]> = true;

const client = createClient({ url: "https://rankone.example" });
type Sent = Required<Pick<components["schemas"]["VisitBody"], "visitor" | "signature" | "context">>;
export const sent: Sent = { visitor: client.visitor ?? null, signature: null, context: "device=phone" };
type Tracked = Pick<components["schemas"]["TrackBody"], "visitor" | "goal" | "value" | "key" | "signature">;
export const tracked: Tracked = { visitor: "ann", goal: "order", value: 49.9, key: "order 17", signature: null };
type Told = Pick<components["schemas"]["BeaconBody"], "id"> & { void?: boolean };
export const told: Told = { id: "0-a", void: true };

export async function page(request: Request): Promise<string> {
  const { visitor, setCookie } = visitorOf(request);
  const decision = await client.ask("homepage", { visitor, context: { returning: true, age: 31 } });
  decision.click();
  client.track("order", 49.9, { key: "order 17" });
  // @ts-expect-error: an experiment has a name
  await client.ask();
  // @ts-expect-error: levels have names
  await client.ask("homepage", { fallback: { headline: 1 } });
  // @ts-expect-error: there is no such function
  decision.tell();
  return decision.levels.headline + (setCookie ?? "") + (fromPage<string>("found") ?? "");
}

export const Offer = () => useDecision(client, "homepage").levels?.headline;

type Published = components["schemas"]["WeightsAnswer"];
export const shown = (weights: Published & Weights): Levels => decide(weights, "ann").levels;
export const published = (weights: Published): Weights => weights;
