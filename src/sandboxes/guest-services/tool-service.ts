import type { QueueOwner } from "../../base/fair-queue.ts";
import { awaitTurn } from "../../base/turns.ts";
import type { Traffic } from "../../egress/egress-error.ts";
import type { CallEffect } from "../contract/outcome.ts";
import type { CallTool, NestedCallOptions } from "../contract/sandbox.ts";
import type { ServiceError, ServiceReply, ToolReply, ToolRequest } from "./service-request.ts";

/** What requests did for a call before it was suspended. Those that were open are not counted. */
export interface EarlierUse {
  readonly nestedCalls: number;
  readonly effect: CallEffect;
  /** Absent if no HTTP request was sent. */
  readonly traffic?: Traffic | undefined;
}

/** How a guest waits for a request. */
export type Waits = Pick<NestedCallOptions, "pause" | "persist" | "isResumed">;

const NO_USE: EarlierUse = Object.freeze({ nestedCalls: 0, effect: "none" });

/** Makes the calls of one guest to other tools. */
export class ToolService {
  readonly #callTool: CallTool | undefined;
  readonly #maxCalls: number;
  readonly #owner: QueueOwner;
  #effect: CallEffect = "none";
  #count = 0;
  #running = 0;

  /**
   * @param callTool `undefined` if the grant gives no tools.
   * @param owner Whose guest it is.
   * @param earlier What an earlier process did for the caller.
   */
  constructor(
    callTool: CallTool | undefined,
    maxCalls: number,
    owner: QueueOwner,
    earlier: EarlierUse = NO_USE,
  ) {
    this.#owner = owner;
    this.#callTool = callTool;
    this.#maxCalls = maxCalls;
    this.#count = earlier.nestedCalls;
    this.#effect = earlier.effect;
  }

  /** How many calls were made. */
  get count(): number {
    return this.#count;
  }

  /** The effect of the calls. One that succeeded may have changed anything, as may one that still runs. */
  get effect(): CallEffect {
    return this.#running > 0 ? "unknown" : this.#effect;
  }

  /** The effect of the calls that have ended. */
  get settledEffect(): CallEffect {
    return this.#effect;
  }

  /**
   * @param leftMs The remaining wall time of the caller; `undefined` if it has no limit.
   */
  async answer(
    { name, input, number }: ToolRequest,
    leftMs: number | undefined,
    signal: AbortSignal,
    { pause, persist, isResumed = false }: Waits,
  ): Promise<ToolReply> {
    if (this.#callTool === undefined) {
      return failure(
        "permission_denied",
        "calling tools needs the capability 'tools', which was not granted",
      );
    }
    if (this.#count >= this.#maxCalls) {
      return failure("limit_exceeded", `a call may make at most ${this.#maxCalls} calls to other tools`);
    }
    this.#count++;
    this.#running++;
    const turn = awaitTurn(input.length, this.#owner);
    if (turn !== undefined) await turn;
    const options = { signal, wallTimeMs: leftMs, pause, number, isResumed, persist };
    const result = await this.#callTool({ name, input }, options);
    this.#running--;
    if (!("error" in result)) {
      this.#effect = "unknown";
      return { ok: result.output };
    }
    const { code, message, effect } = result.error;
    if (effect !== "none") this.#effect = "unknown";
    return failure(code, message);
  }
}

function failure(code: string, message: string): ServiceReply<never, ServiceError> {
  return { error: { code, message } };
}
