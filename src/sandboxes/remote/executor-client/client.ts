import { randomBytes } from "node:crypto";
import { beginning, wellFormed } from "../../../base/text.ts";
import { DeadlineTimer } from "../../../base/timers.ts";
import { shapeProblem } from "../../../remote-protocol/shapes.ts";
import {
  type ExecutorAddress,
  type ExecutorImplementation,
  parseExecutors,
} from "../../../tool/implementations/remote-implementation.ts";
import type { GuestMemory } from "../../contract/guest-memory.ts";
import type { SandboxOutcome } from "../../contract/outcome.ts";
import { DEFAULT_MAX_WAIT_MS, type SandboxTask, ToolPreparationError } from "../../contract/sandbox.ts";
import { REMOTE_DEFAULTS } from "../remote-limits.ts";
import { ExecutorCall } from "./call.ts";
import { type CheckedCredentials, NO_CREDENTIALS } from "./credentials.ts";
import { ExecutorEndpoint, ExecutorFleet } from "./endpoint.ts";
import { FrameClient } from "./frames/frame-client.ts";

/** The longest part of a call's id that is sent to an executor, in UTF-16 code units. */
const MAX_ID_LENGTH = 900;

/**
 * Runs tools on executors. A call is retried only if it cannot have run: no byte was sent, or the executor reports that
 * it refused the call before anything ran. Responses of executors are not trusted.
 */
export class ExecutorClient {
  readonly #memory: GuestMemory;
  readonly #credentials: CheckedCredentials;
  readonly #hasFrames: boolean;
  readonly #maxWaitMs: number;
  readonly #endpoints = new Map<string, ExecutorEndpoint>();
  readonly #fleets = new WeakMap<ExecutorImplementation, ExecutorFleet>();
  readonly #clock = new DeadlineTimer<ExecutorCall>({
    deadlineOf: (call) => call.deadline,
    expire: (call) => call.expire(),
    keepsAlive: true,
  });
  /** Makes ids unique for executors: models choose the ids of their calls, so these may repeat. */
  readonly #prefix: string = randomBytes(9).toString("base64url");
  #count = 0;
  #isClosed = false;

  /**
   * @param memory Where requests and responses have to have room.
   * @param hasFrames Whether calls go over framed connections. Default: `false`.
   * @param maxWaitMs How long a call may wait at executors until it begins, in ms.
   */
  constructor(
    memory: GuestMemory,
    credentials: CheckedCredentials = NO_CREDENTIALS,
    hasFrames = false,
    maxWaitMs: number = DEFAULT_MAX_WAIT_MS,
  ) {
    this.#memory = memory;
    this.#hasFrames = hasFrames;
    this.#maxWaitMs = maxWaitMs;
    this.#credentials = credentials;
  }

  /**
   * Returns the executors of a tool. It does not connect to them: they may start later.
   *
   * @throws {ToolPreparationError} if an address is invalid, or a token would be sent unencrypted.
   */
  prepare(implementation: ExecutorImplementation): ExecutorFleet {
    const known = this.#fleets.get(implementation);
    if (known !== undefined) return known;
    const addresses = parseExecutors(implementation.executor);
    if (typeof addresses === "string") throw new ToolPreparationError(`remote.${addresses}`);
    if (this.#credentials.token !== undefined && addresses.some(({ isPrivate }) => !isPrivate)) {
      throw new ToolPreparationError(
        "remote.executor must be an https: URL if a token is used, since others could read the token; use a signing key instead",
      );
    }
    const endpoints = addresses.map((address) => {
      const endpoint = this.#endpoints.get(address.url) ?? this.#endpointAt(address);
      this.#endpoints.set(address.url, endpoint);
      return endpoint;
    });
    // Compiles the shape now: the first response would have to wait for it.
    shapeProblem("ExecutionResult", null);
    const fleet = new ExecutorFleet(endpoints);
    this.#fleets.set(implementation, fleet);
    return fleet;
  }

  #endpointAt(address: ExecutorAddress): ExecutorEndpoint {
    const frames = this.#hasFrames ? new FrameClient(address, this.#credentials) : undefined;
    return new ExecutorEndpoint(address, this.#credentials, frames);
  }

  /** Runs a task, as `Sandbox.run` does. */
  run(implementation: ExecutorImplementation, task: SandboxTask): SandboxOutcome | Promise<SandboxOutcome> {
    const nothing = { effect: "none", used: { wallTimeMs: 0 } } as const;
    if (this.#isClosed) return { status: "unavailable", ...nothing, detail: "the sandbox is closed" };
    if (task.signal?.aborted) return { status: "cancelled", ...nothing };
    let fleet: ExecutorFleet;
    try {
      fleet = this.prepare(implementation);
    } catch (error) {
      return { status: "unavailable", ...nothing, detail: String(error) };
    }
    const id = `${idPart(task.callId)}~${this.#prefix}${this.#count++}`;
    const { wallTimeMs = REMOTE_DEFAULTS.wallTimeMs, outputBytes = REMOTE_DEFAULTS.outputBytes } =
      task.limits;
    const maxWaitMs = Math.max(this.#maxWaitMs - (task.waitedMs ?? 0), 0);
    const limits = Object.freeze({ wallTimeMs, outputBytes });
    const room = this.#memory.openForOutput(task);
    const call = new ExecutorCall({ fleet, task, id, limits, maxWaitMs, room });
    return call.run(this.#clock);
  }

  /** Cancels running calls and closes all connections. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const call of this.#clock.items) call.cancel();
    await Promise.all(Array.from(this.#endpoints.values(), (endpoint) => endpoint.close()));
  }
}

/** Returns the part of a call's id that is sent: well-formed text that does not end within a character. */
function idPart(id: string): string {
  return wellFormed(beginning(id, MAX_ID_LENGTH));
}
