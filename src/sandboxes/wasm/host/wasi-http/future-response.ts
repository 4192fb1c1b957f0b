import type { TaggedValue } from "../../abi/value.ts";
import { Pollable } from "../wasi/poll.ts";

/**
 * The resource `future-incoming-response` of `wasi:http/types`. The request is sent when the component first asks for
 * the response, because its body has been written by then.
 */
export class FutureIncomingResponse {
  #request: Disposable | undefined;
  #send: (() => TaggedValue) | undefined;
  #result: TaggedValue | undefined;
  #isTaken = false;

  /**
   * @param request Is disposed of when the request has been sent.
   * @param send Sends the request. Returns `result<incoming-response, error-code>`.
   */
  constructor(request: Disposable, send: () => TaggedValue) {
    this.#request = request;
    this.#send = send;
  }

  [Symbol.dispose](): void {
    this.#send = undefined;
    this.#request?.[Symbol.dispose]();
    this.#request = undefined;
  }

  subscribe(): Pollable {
    return Pollable.after(() => this.#settle());
  }
  get(): TaggedValue {
    this.#settle();
    if (this.#isTaken) return { tag: "err" };
    this.#isTaken = true;
    const result = this.#result;
    this.#result = undefined;
    return { tag: "ok", val: result };
  }

  #settle(): void {
    const send = this.#send;
    if (send === undefined) return;
    this.#result = send();
    this[Symbol.dispose]();
  }
}
