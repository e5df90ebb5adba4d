import type { Client, Context, Levels, RankoneError } from "./index.js";

export interface Shown {
  /** No answer yet: `levels` is the fallback. */
  pending: boolean;
  levels: Levels | undefined;
  error?: RankoneError;
  /** Say that it was clicked. */
  click(): void;
}

/** Ask once what to show, and show the fallback until then; `found` is what your server asked for. */
export function useDecision(
  client: Client,
  experiment: string,
  options?: { fallback?: Levels; context?: Context; found?: { id: string | null; levels: Levels } },
): Shown;
