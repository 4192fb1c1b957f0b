import type { CallEffect, CallTool } from "../contract/sandbox.ts";
import type { GuestReply, ServiceError, ToolRequest } from "./service-request.ts";

/** The error codes of `sandgate:tool/tools` (`wit/tool.wit`), by the engine's. */
const CODES: ReadonlyMap<string, string> = new Map(
  [
    "not_found",
    "validation_error",
    "permission_denied",
    "user_denied",
    "confirmation_timeout",
    "timeout",
    "cancelled",
    "execution_error",
    "sandbox_unavailable",
    "limit_exceeded",
    "limit_unenforceable",
  ].map((code) => [code, code.replaceAll("_", "-")]),
);

/** The calls that one component makes to other tools, one after the other. */
export class ToolService {
  readonly #callTool: CallTool | undefined;
  readonly #maxCalls: number;
  #effect: CallEffect = "none";
  #count = 0;
  #isRunning = false;

  /** @param callTool `undefined` if the grant gives no tools. */
  constructor(callTool: CallTool | undefined, maxCalls: number) {
    this.#callTool = callTool;
    this.#maxCalls = maxCalls;
  }

  /** How many calls were made. */
  get count(): number {
    return this.#count;
  }

  /** The effect of the calls. One that succeeded may have changed anything, as may one that still runs. */
  get effect(): CallEffect {
    return this.#isRunning ? "unknown" : this.#effect;
  }

  async answer(
    { name, input, leftMs: wallTimeMs }: ToolRequest,
    signal: AbortSignal,
  ): Promise<GuestReply<string, ServiceError>> {
    if (this.#callTool === undefined) {
      return failure(
        "permission-denied",
        "calling tools needs the capability 'tools', which was not granted",
      );
    }
    if (this.#count >= this.#maxCalls) {
      return failure("limit-exceeded", `a call may make at most ${this.#maxCalls} calls to other tools`);
    }
    this.#count++;
    this.#isRunning = true;
    const result = await this.#callTool({ name, input }, { signal, wallTimeMs });
    this.#isRunning = false;
    if (!("error" in result)) {
      this.#effect = "unknown";
      return { ok: JSON.stringify(result.output) };
    }
    const { code, message, effect } = result.error;
    if (effect !== "none") this.#effect = "unknown";
    return failure(CODES.get(code) ?? "execution-error", message);
  }
}

function failure(code: string, message: string): GuestReply<string, ServiceError> {
  return { error: { code, message: message.toWellFormed() } };
}
