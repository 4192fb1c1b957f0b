import { badRequest } from "./refusals.ts";

/** Which page of a list is asked for. */
export interface Page {
  /** The page has what comes before this number. Default: it has the end of the list. */
  readonly before: number | undefined;
  /** The most items. */
  readonly limit: number;
}

const DEFAULT_LIMIT = 100;
const NUMBER = /^[1-9]\d{0,15}$/;

/**
 * Reads `before` and `limit` of a query.
 *
 * @param most The highest `limit`.
 * @throws {RouteRefusal} 400 if one of them is not a number from 1 on, or `limit` is too high.
 */
export function pageOf(query: Readonly<Record<string, string>>, most: number): Page {
  const limit = numberOf(query, "limit") ?? Math.min(DEFAULT_LIMIT, most);
  if (limit > most) throw badRequest(`limit must be at most ${most}`);
  return { before: numberOf(query, "before"), limit };
}

function numberOf(query: Readonly<Record<string, string>>, name: "before" | "limit"): number | undefined {
  const text = query[name];
  if (text === undefined) return undefined;
  if (!NUMBER.test(text) || !Number.isSafeInteger(Number(text))) {
    throw badRequest(`${name} must be a whole number from 1 on`);
  }
  return Number(text);
}
