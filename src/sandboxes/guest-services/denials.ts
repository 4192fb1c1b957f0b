import type { TaskObserver } from "../contract/task.ts";
import type { ServiceFailure, ServiceReply, ServiceRequest } from "./service-request.ts";

/** The maximum number of denials of one call that are logged, and the maximum length of a name in one. */
const MAX_LOGGED = 10;
const MAX_NAME_LENGTH = 200;

/**
 * Logs the tools, stores and origins that a call's guest asked for and its grant does not give, with the capability that
 * would: a guest may not tell, or may tell it in words of its own. The operator reads this; the model does not.
 */
export class Denials {
  readonly #observer: TaskObserver;
  readonly #logged = new Set<string>();

  constructor(observer: TaskObserver) {
    this.#observer = observer;
  }

  /** Logs a reply if it is a denial, once. */
  note(request: ServiceRequest, reply: ServiceReply): void {
    if (!("error" in reply) || this.#logged.size >= MAX_LOGGED) return;
    const what = denialOf(request, reply.error);
    if (what === undefined || this.#logged.has(what)) return;
    this.#logged.add(what);
    this.#observer.log("warn", `denied: ${what}`);
  }
}

/** Returns what was denied, and the capability that would give it; `undefined` for other errors. */
function denialOf(request: ServiceRequest, error: ServiceFailure): string | undefined {
  if (request.kind === "http") {
    const redirected = request.followRedirects ? ", or one to which it redirects" : "";
    if (error === "origin_denied") {
      return `the capability 'net' does not name the origin ${originOf(request.url)}${redirected}`;
    }
    if (error !== "address_denied") return undefined;
    return `the address of ${originOf(request.url)}${redirected} is neither public nor named by the capability 'net'`;
  }
  if (typeof error === "string" || error.code !== "permission_denied") return undefined;
  return request.kind === "call-tool"
    ? `a call of the tool ${nameOf(request.name)}: ${error.message}`
    : `the capability 'keyValue' does not give the store ${nameOf(request.store)}`;
}

/** Returns the origin of a URL, whose other parts may be secret. */
function originOf(url: string): string {
  const { protocol, host } = URL.parse(url) ?? { protocol: "", host: "" };
  return nameOf(`${protocol}//${host}`);
}

function nameOf(text: string): string {
  return `'${text.slice(0, MAX_NAME_LENGTH)}'`;
}
