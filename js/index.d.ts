/** The level of each factor, by the factor's name. */
export type Levels = Record<string, string>;

/** What is known of a visitor: attributes that the experiment declares. Others are ignored. */
export type Context = Record<string, string | number | boolean>;

export interface ClientOptions {
  /** The address of the service, such as "https://rankone.example". */
  url: string;
  /** A token with the scopes "ask" and "tell"; anyone who reads your page can read it. */
  token?: string;
  /** Who the visitor is. Left out: browsers keep a random number; a server says it with each `ask`. */
  visitor?: string;
  /** Your server's signature of the visitor. */
  signature?: string;
  /** Whether something may be kept in the browser. False: every page is a new visitor until `consent()`. Default: true. */
  consent?: boolean;
  /** Milliseconds to wait for an answer: 300 in browsers, 2,000 elsewhere. */
  wait?: number;
}

export interface AskOptions {
  /** What to show if the service does not answer in time. Without it `ask` throws then. */
  fallback?: Levels;
  visitor?: string;
  signature?: string;
  context?: Context;
  wait?: number;
}

export interface Decision {
  /** Null: this is the fallback, and nothing is counted. */
  readonly id: string | null;
  readonly levels: Levels;
  /** Why the fallback is shown. */
  readonly error?: RankoneError;
  /** Say that it was clicked. Once; arrives even if the page is being left. */
  click(): void;
  /** Say that it was never shown, so that it is not counted. */
  cancel(): void;
}

export interface TrackOptions {
  /** An outcome counts once for its key, such as the number of an order. */
  key?: string;
  visitor?: string;
  signature?: string;
}

export interface Client {
  readonly visitor: string | undefined;
  /** Ask what to show. The same visitor gets the same decision. */
  ask(experiment: string, options?: AskOptions): Promise<Decision>;
  /** Go on with a decision that your server asked for. */
  resume(experiment: string, found: { id: string | null; levels: Levels }): Decision;
  /** Tell an outcome of the visitor, such as track("order", 49.9, { key: "order 17" }). */
  track(goal: string, value?: number, options?: TrackOptions): void;
  /** From now on the visitor may be kept in the browser; with false: forget who it was. */
  consent(isGiven?: boolean): void;
}

/** What the service refuses, or why it did not answer. */
export class RankoneError extends Error {
  readonly code: string;
}

export function createClient(options: ClientOptions): Client;
