import { headerProblem, methodProblem } from "../base/http-syntax.ts";
import { EgressError } from "./egress-error.ts";

/**
 * Parses the URL of a request.
 *
 * @throws {EgressError} if it is invalid or has credentials.
 */
export function readUrl(text: string | URL): URL {
  const url = typeof text === "string" ? URL.parse(text) : text;
  if (url === null) throw new EgressError("request_invalid", "the URL cannot be parsed");
  if (url.username !== "" || url.password !== "") {
    throw new EgressError("request_invalid", "the URL has credentials: send them in a header");
  }
  return url;
}

/** @throws {EgressError} if the method is not allowed. */
export function checkMethod(method: string): void {
  const problem = methodProblem(method);
  if (problem !== undefined) throw new EgressError("request_invalid", problem);
}

/** The sizes of checked headers that are frozen: most tools send the same object with each call. */
const checkedSizes = new WeakMap<object, number>();

/**
 * Checks headers, and returns their size in bytes as HTTP/1.1 writes them.
 *
 * @throws {EgressError} if a header cannot be sent.
 */
export function headersSize(headers: Readonly<Record<string, string>>): number {
  let bytes = checkedSizes.get(headers);
  if (bytes !== undefined) return bytes;
  bytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    const problem = headerProblem(name, value);
    if (problem !== undefined) throw new EgressError("request_invalid", problem);
    bytes += name.length + value.length + 4;
  }
  if (Object.isFrozen(headers)) checkedSizes.set(headers, bytes);
  return bytes;
}
