import type { TaskObserver } from "../contract/task.ts";
import type { ServiceReply, ServiceRequest } from "./service-request.ts";

/** The maximum number of denials of one call that are logged, and the maximum length of a name in one. */
const MAX_LOGGED = 10;
const MAX_NAME_LENGTH = 200;

/**
 * Logs what a call's guest asked for and its grant does not give, with the capability that would: a guest may not tell, or
 * may tell it in words of its own. The operator reads this; the model does not.
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
    const { error } = reply;
    const code = typeof error === "string" ? error : error.code;
    if (code !== "origin_denied" && code !== "permission_denied") return;
    const line = lineOf(request, typeof error === "string" ? "" : error.message);
    if (this.#logged.has(line)) return;
    this.#logged.add(line);
    this.#observer.log("warn", line);
  }
}

function lineOf(request: ServiceRequest, reason: string): string {
  switch (request.kind) {
    case "http":
      return `denied: the capability 'net' does not give the origin ${nameOf(originOf(request.url))}`;
    case "call-tool":
      return `denied: a call of the tool ${nameOf(request.name)}: ${reason}`;
    default:
      return `denied: the capability 'keyValue' does not give the store ${nameOf(request.store)}`;
  }
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url;
}

function nameOf(text: string): string {
  return `'${text.slice(0, MAX_NAME_LENGTH)}'`;
}
