import { IoError, OutputStream } from "../wasi/streams.ts";
import { type BodyBudget, BodyBudgetError } from "./body-budget.ts";
import type { Fields } from "./fields.ts";

// Not a public method, because a component could call it by name.
let read: (body: OutgoingBody) => Buffer | undefined;

/** The resource `outgoing-body` of `wasi:http/types`. The body is buffered and sent when it is complete. */
export class OutgoingBody {
  static {
    read = (body) => (body.#isFinished && !body.#isOver ? Buffer.concat(body.#chunks) : undefined);
  }

  readonly #budget: BodyBudget;
  #chunks: Uint8Array[] = [];
  #isTaken = false;
  #isFinished = false;
  /** Whether the call that created it has ended. */
  #isOver = false;

  constructor(budget: BodyBudget) {
    this.#budget = budget;
  }

  write(): OutputStream {
    if (this.#isTaken) throw undefined;
    this.#isTaken = true;
    this.#budget.hold(() => {
      this.#chunks = [];
      this.#isOver = true;
    });
    return OutputStream.to((bytes) => this.#take(bytes));
  }

  #take(bytes: Uint8Array): void {
    if (this.#isFinished) throw { tag: "closed" };
    if (this.#isOver) {
      throw { tag: "last-operation-failed", val: new IoError("the call that created this body has ended") };
    }
    try {
      this.#budget.charge(bytes.length);
    } catch (error) {
      if (!(error instanceof BodyBudgetError)) throw error;
      throw { tag: "last-operation-failed", val: new IoError("the network limit has been reached") };
    }
    // Copies the bytes, because the component can change its memory.
    this.#chunks.push(Uint8Array.from(bytes));
  }

  static finish(body: OutgoingBody, trailers: Fields | undefined): void {
    body.#isFinished = true;
    if (trailers !== undefined) {
      throw { tag: "internal-error", val: "trailers are not supported" };
    }
  }
}

/** Returns the complete body; `undefined` until it is finished and after its call has ended. */
export function readBody(body: OutgoingBody): Buffer | undefined {
  return read(body);
}
