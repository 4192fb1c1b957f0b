import { parseHttpUrl } from "../http-template/http-url.ts";
import { isJsonObject } from "../json/value.ts";
import { type ExecutorImplementation, parseExecutors } from "./executor-address.ts";
import { type HttpImplementation, httpProblem } from "./remote-problems.ts";

/** A tool that runs elsewhere: on executors, behind the embedder's own endpoint, or behind any other one. */
export type RemoteImplementation =
  | EndpointImplementation
  | { readonly http: HttpImplementation }
  | ExecutorImplementation;

/**
 * A tool behind an endpoint of the embedder's. Each call is one `POST` of the JSON
 * `{ id, name, session, arguments }`; the answer's body, with a status of 200 to 299, is the output as JSON.
 * Redirects are not followed. It needs no `net` grant: the URL is the embedder's.
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
