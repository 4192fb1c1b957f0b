import { FairBudget } from "../../../../base/fair-budget.ts";
import { MAX_MESSAGE_BYTES } from "../wire-message.ts";

/** Bytes of the unfinished messages of all servers over HTTP. Each server has room for one message, whatever others hold. */
const TOTAL_BYTES = 64 * 1_024 * 1_024;

/** The room for messages that are being received, which servers share. One over stdio sends one message at a time. */
export class MessageRoom {
  readonly #budget = new FairBudget(TOTAL_BYTES, MAX_MESSAGE_BYTES);

  /** Begins to hold bytes of a response of a server. Disposing gives them back. */
  hold(server: string): ReservedBytes {
    return new ReservedBytes(this.#budget, server);
  }
}

/** What is held of one response. */
export class ReservedBytes implements Disposable {
  readonly #budget: FairBudget;
  readonly #server: string;
  #bytes = 0;

  constructor(budget: FairBudget, server: string) {
    this.#budget = budget;
    this.#server = server;
  }

  /**
   * Changes how many bytes are held.
   *
   * @throws {Error} if there is no room for more.
   */
  set(bytes: number): void {
    const more = bytes - this.#bytes;
    if (more < 0) this.#budget.giveBack(this.#server, -more);
    else if (!this.#budget.take(this.#server, more))
      throw new Error("the unfinished messages of MCP servers take up all the room");
    this.#bytes = bytes;
  }

  [Symbol.dispose](): void {
    this.set(0);
  }
}
