import type { TaskObserver } from "../contract/task.ts";
import type { ServiceReply, ServiceRequest } from "./service-request.ts";

/** The maximum number of denials of one call that are logged, and the maximum length of a name in one. */
const MAX_LOGGED = 10;
const MAX_NAME_LENGTH = 200;

/**
 * Logs the tools and stores that a call's guest asked for and its grant does not give, with the capability that would: a
 * guest may not tell, or may tell it in words of its own. The operator reads this; the model does not. Each sandbox names
 * the origins of denied requests itself.
 */
export class Denials {
  readonly #observer: TaskObserver;
  readonly #logged = new Set<string>();

  constructor(observer: TaskObserver) {
    this.#observer = observer;
  }

  /** Logs a reply if it is a denial, once. */
  note(request: ServiceRequest, reply: ServiceReply): void {
    if (request.kind === "http" || !("error" in reply) || this.#logged.size >= MAX_LOGGED) return;
    const { error } = reply;
    if (typeof error === "string" || error.code !== "permission_denied") return;
    const line =
      request.kind === "call-tool"
        ? `denied: a call of the tool ${nameOf(request.name)}: ${error.message}`
        : `denied: the capability 'keyValue' does not give the store ${nameOf(request.store)}`;
    if (this.#logged.has(line)) return;
    this.#logged.add(line);
    this.#observer.log("warn", line);
  }
}

function nameOf(text: string): string {
  return `'${text.slice(0, MAX_NAME_LENGTH)}'`;
}
