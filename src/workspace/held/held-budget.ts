import { ChangeBudget } from "../change-budget.ts";
import type { HeldRoom } from "./held-room.ts";

/** Counts what is written to held contents, against the limits of the call and those of held changes. */
export class HeldBudget extends ChangeBudget {
  readonly #call: ChangeBudget;
  readonly #room: HeldRoom;

  constructor(call: ChangeBudget, room: HeldRoom) {
    super(Number.POSITIVE_INFINITY);
    this.#call = call;
    this.#room = room;
  }

  override change(bytes = 0): void {
    this.#room.take(bytes, 0);
    try {
      this.#call.change(bytes);
    } catch (error) {
      this.#room.giveBack(bytes, 0);
      throw error;
    }
  }

  override create(): void {
    this.#call.create();
  }
}
