/** What the service publishes: keep it until `valid_until`, and after that while no newer one comes. */
export interface Weights {
  version: number;
  /** The first version whose decisions still hold. */
  oldest: number;
  salt: string;
  parts: { factors: string[]; levels: string[][]; weights: number[] }[];
  control: { share: number; levels: Record<string, string> } | null;
  [more: string]: unknown;
}

/** What a visitor sees: a row of your log of exposures. */
export interface Exposure {
  visitor: string;
  version: number;
  levels: Record<string, string>;
  /** Seconds since 1970. */
  time: number;
}

/** Decide without asking. `kept` is what was returned at the visitor's first visit, if you know it. */
export function decide(weights: Weights, visitor: string, kept?: Exposure | null): Exposure;
