/** A request of a browser: Node's, Express's, or the standard one of fetch. */
export interface CookieRequest {
  headers: { get(name: string): string | null } | { cookie?: string };
}

/**
 * Who asks: a random number kept in a cookie. If `setCookie` is there, send it with your answer.
 * Without consent nothing is kept, and every page is a new visitor. `secure: false` is for sites without https.
 */
export function visitorOf(
  request: CookieRequest,
  options?: { consent?: boolean; secure?: boolean },
): { visitor: string; setCookie?: string };

/** Write a value into the page, for `fromPage`. */
export function inPage(id: string, value: unknown): string;

/** In the browser: read what `inPage` wrote. */
export function fromPage<Value = unknown>(id: string): Value | undefined;
