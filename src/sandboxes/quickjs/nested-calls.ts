import type { CallEffect, CallTool, NestedResult } from "../contract/sandbox.ts";
import type { ToolRequest } from "./guest-request.ts";

/** The calls that one guest makes to other tools. */
export class NestedCalls {
  readonly #callTool: CallTool | undefined;
  #effect: CallEffect = "none";
  #count = 0;
  #running = 0;

  /** @param callTool Absent where none was granted. */
  constructor(callTool: CallTool | undefined) {
    this.#callTool = callTool;
  }

  /** How many were made. */
  get count(): number {
    return this.#count;
  }

  /** What they may have left behind: a call that succeeded may have changed anything. */
  get effect(): CallEffect {
    return this.#running > 0 ? "unknown" : this.#effect;
  }

  /** Makes a call that the guest asks for. Never rejects. */
  async call({ name, input }: ToolRequest, wallTimeMs: number, signal: AbortSignal): Promise<NestedResult> {
    if (this.#callTool === undefined) {
      const message = "this call may not call other tools";
      return { error: { code: "permission_denied", message, effect: "none" } };
    }
    this.#count++;
    this.#running++;
    const result = await this.#callTool({ name, input }, { signal, wallTimeMs });
    this.#running--;
    if (!("error" in result) || result.error.effect !== "none") this.#effect = "unknown";
    return result;
  }
}
