import type { TaggedValue } from "../../abi/value.ts";
import { Pollable } from "../wasi/poll.ts";

/**
 * The resource `future-incoming-response` of `wasi:http/types`. The request is sent when the component first asks for
 * the response, because its body has been written by then.
 */
export class FutureIncomingResponse {
  #send: (() => TaggedValue) | undefined;
  #result: TaggedValue | undefined;
  #isTaken = false;

  /** @param send Sends the request. Returns `result<incoming-response, error-code>`. */
  constructor(send: () => TaggedValue) {
    this.#send = send;
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
    this.#send = undefined;
    if (send !== undefined) this.#result = send();
  }
}
