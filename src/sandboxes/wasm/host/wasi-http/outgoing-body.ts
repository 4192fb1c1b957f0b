import { IoError, OutputStream } from "../wasi/streams.ts";
import { type BodyBudget, BodyBudgetError } from "./body-budget.ts";
import type { Fields } from "./fields.ts";

// No method, because a component can call whatever has a name.
let read: (body: OutgoingBody) => Buffer | undefined;

/** `wasi:http/types`' resource for the body of a request. It is sent as a whole. */
export class OutgoingBody {
  static {
    read = (body) => (body.#isFinished && !body.#isOver ? Buffer.concat(body.#chunks) : undefined);
  }

  readonly #budget: BodyBudget;
  #chunks: Uint8Array[] = [];
  #isTaken = false;
  #isFinished = false;
  /** Whether the call that it was made for is over. */
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
      throw { tag: "last-operation-failed", val: new IoError("the call that it was made for is over") };
    }
    try {
      this.#budget.charge(bytes.length);
    } catch (error) {
      if (!(error instanceof BodyBudgetError)) throw error;
      throw { tag: "last-operation-failed", val: new IoError("the network limit is reached") };
    }
    // The component's memory is not this one's.
    this.#chunks.push(Uint8Array.from(bytes));
  }

  static finish(body: OutgoingBody, trailers: Fields | undefined): void {
    body.#isFinished = true;
    if (trailers !== undefined) {
      throw { tag: "internal-error", val: "trailers cannot be sent: leave them out" };
    }
  }
}

/** The whole body; `undefined` as long as it is not finished, and once its call is over. */
export function readBody(body: OutgoingBody): Buffer | undefined {
  return read(body);
}
