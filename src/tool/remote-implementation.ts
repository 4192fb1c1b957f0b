import { parseHttpUrl } from "../http-template/http-url.ts";
import { isJsonObject } from "../json/value.ts";
import { type ExecutorImplementation, parseExecutors } from "./executor-address.ts";
import { type HttpImplementation, httpProblem } from "./remote-problems.ts";

/** A tool that runs in another process: behind an endpoint of your own, behind any HTTP endpoint, or on executors. */
export type RemoteImplementation =
  | EndpointImplementation
  | { readonly http: HttpImplementation }
  | ExecutorImplementation;

/**
 * A tool behind an endpoint of your own. Each call is a `POST` of the JSON `{ id, name, session, arguments }`. The body
 * of a response with a status from 200 to 299 is the output as JSON. Redirects are not followed. The call needs no `net`
 * grant, since the URL is part of your program.
 */
export interface EndpointImplementation {
  /** An `http:` or `https:` URL without credentials. */
  readonly url: string | URL;
}

/** What is wrong with a remote implementation, whatever it is, or `undefined`. */
export function remoteProblem(given: unknown): string | undefined {
  if (!isJsonObject(given)) return "remote must be an object";
  const { url, http, executor } = given;
  if ([url, http, executor].filter((one) => one !== undefined).length > 1) {
    return "remote takes one of url, http and executor";
  }
  if (http !== undefined) return httpProblem(http);
  if (executor !== undefined) {
    const addresses = parseExecutors(executor);
    return typeof addresses === "string" ? `remote.${addresses}` : undefined;
  }
  const endpoint = parseHttpUrl(url);
  return typeof endpoint === "string" ? `remote.${endpoint}` : undefined;
}
