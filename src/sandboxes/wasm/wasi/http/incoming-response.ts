import type { TaggedValue } from "../../abi/value.ts";
import type { HttpReply } from "../../host/guest-request.ts";
import { Pollable } from "../poll.ts";
import { InputStream } from "../streams.ts";
import { type Fields, receivedFields } from "./fields.ts";

/** `wasi:http/types`' resource for a response, which is there as a whole. */
export class IncomingResponse {
  readonly #status: number;
  readonly #headers: Fields;
  #body: IncomingBody | undefined;

  constructor({ status, headers, body }: HttpReply) {
    this.#status = status;
    this.#headers = receivedFields(headers);
    this.#body = new IncomingBody(Buffer.from(body, "base64"));
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

/** `wasi:http/types`' resource for the body of a response. */
export class IncomingBody {
  #left: Buffer | undefined;

  constructor(bytes: Buffer) {
    this.#left = bytes;
  }

  stream(): InputStream {
    let left = this.#left;
    if (left === undefined) throw undefined;
    this.#left = undefined;
    return InputStream.from((maxBytes) => {
      if (left === undefined || left.length === 0) return undefined;
      const bytes = new Uint8Array(left.subarray(0, maxBytes));
      left = left.subarray(bytes.length);
      return bytes;
    });
  }

  static finish(body: IncomingBody): FutureTrailers {
    body.#left = undefined;
    return new FutureTrailers();
  }
}

/** `wasi:http/types`' resource for trailers: there are none. */
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
