import type { LiftBudget } from "../../abi/lift-budget.ts";
import { ReservedMemory } from "../reserved-memory.ts";
import { IoError, OutputStream } from "../wasi/streams.ts";
import { type BodyBudget, BodyBudgetError } from "./body-budget.ts";
import type { Fields } from "./fields.ts";

/** The size of a chunk besides its bytes, in V8's heap. */
const CHUNK_BYTES = 320;

// Not a public method, because a component could call it by name.
let take: (body: OutgoingBody) => Buffer | undefined;

/** The resource `outgoing-body` of `wasi:http/types`. The body is buffered and sent when it is complete. */
export class OutgoingBody {
  static {
    take = (body) => {
      if (!body.#isFinished || body.#isOver) return undefined;
      const bytes = Buffer.concat(body.#chunks);
      body.#free();
      return bytes;
    };
  }

  readonly #budget: BodyBudget;
  readonly #held: ReservedMemory;
  #chunks: Uint8Array[] = [];
  #isTaken = false;
  #isFinished = false;
  /** Whether the call that created it has ended. */
  #isOver = false;

  constructor(budget: BodyBudget, memory: LiftBudget) {
    this.#budget = budget;
    this.#held = new ReservedMemory(memory);
  }

  write(): OutputStream {
    if (this.#isTaken) throw undefined;
    this.#isTaken = true;
    this.#budget.hold(() => {
      this.#free();
      this.#isOver = true;
    });
    return OutputStream.to((bytes) => this.#write(bytes));
  }

  #free(): void {
    this.#chunks = [];
    this.#held.free();
  }

  #write(bytes: Uint8Array): void {
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
    this.#held.add(bytes.length + CHUNK_BYTES);
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

/** Returns the complete body, once; `undefined` until it is finished and after its call has ended. */
export function takeBody(body: OutgoingBody): Buffer | undefined {
  return take(body);
}
