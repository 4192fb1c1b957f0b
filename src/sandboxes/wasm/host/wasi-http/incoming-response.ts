import type { HttpReply } from "../../../guest-services/service-request.ts";
import type { LiftBudget } from "../../abi/lift-budget.ts";
import type { TaggedValue } from "../../abi/value.ts";
import { InputStream, IoError, Pollable } from "../wasi/streams.ts";
import type { BodyBudget } from "./body-budget.ts";
import { type Fields, receivedFields } from "./fields.ts";

/** The resource `incoming-response` of `wasi:http/types`. Its body has been received completely. */
export class IncomingResponse {
  readonly #status: number;
  readonly #headers: Fields;
  #body: IncomingBody | undefined;

  /** @throws {BodyBudgetError} if the body exceeds the rest of the budget. */
  constructor({ status, headers, body }: HttpReply<string>, budget: BodyBudget, memory: LiftBudget) {
    this.#status = status;
    this.#headers = receivedFields(memory, headers);
    budget.charge(Buffer.byteLength(body, "base64"));
    const held: UnreadBody = { left: Buffer.from(body, "base64") };
    budget.hold(() => {
      held.left = undefined;
    });
    this.#body = new IncomingBody(held);
  }

  status(): number {
    return this.#status;
  }
  headers(): Fields {
    return this.#headers;
  }
  consume(): IncomingBody {
    const body = this.#body;
    if (body === undefined) throw undefined;
    this.#body = undefined;
    return body;
  }
}

/** The unread part of a body; `undefined` once its call has ended. */
interface UnreadBody {
  left: Buffer | undefined;
}

/** The resource `incoming-body` of `wasi:http/types`. */
export class IncomingBody {
  #held: UnreadBody | undefined;

  constructor(held: UnreadBody) {
    this.#held = held;
  }

  stream(): InputStream {
    const held = this.#held;
    if (held === undefined) throw undefined;
    this.#held = undefined;
    return InputStream.from((maxBytes) => {
      if (held.left === undefined) {
        throw {
          tag: "last-operation-failed",
          val: new IoError("the call that received this body has ended"),
        };
      }
      if (held.left.length === 0) return undefined;
      const bytes = new Uint8Array(held.left.subarray(0, maxBytes));
      held.left = held.left.subarray(bytes.length);
      return bytes;
    });
  }

  static finish(body: IncomingBody): FutureTrailers {
    body.#held = undefined;
    return new FutureTrailers();
  }
}

/** The resource `future-trailers` of `wasi:http/types`. There are never any trailers. */
export class FutureTrailers {
  #isTaken = false;

  subscribe(): Pollable {
    return new Pollable();
  }
  get(): TaggedValue {
    if (this.#isTaken) return { tag: "err" };
    this.#isTaken = true;
    return { tag: "ok", val: { tag: "ok", val: undefined } };
  }
}
