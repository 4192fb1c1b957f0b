import { randomBytes } from "node:crypto";
import { shapeProblem } from "../../../remote-protocol/shapes.ts";
import { type ExecutorImplementation, parseExecutors } from "../../../tool/executor-address.ts";
import { type SandboxOutcome, type SandboxTask, ToolPreparationError } from "../../contract/sandbox.ts";
import { ExecutorClock } from "../executor-clock.ts";
import { ExecutorCall, type OwnLimits } from "./call.ts";
import { type CheckedCredentials, NO_CREDENTIALS } from "./credentials.ts";
import { ExecutorEndpoint } from "./endpoint.ts";
import { ExecutorFleet } from "./fleet.ts";

/** The longest part of a call's id that an executor is told. */
const MAX_ID_LENGTH = 900;

/**
 * Runs tools on executors. A call is asked for again only where nothing can have happened: no byte was sent, or
 * the executor says that it refused it before anything ran. What an executor sends is trusted with nothing.
 */
export class ExecutorClient {
  readonly #credentials: CheckedCredentials;
  readonly #ca: string | undefined;
  readonly #endpoints = new Map<string, ExecutorEndpoint>();
  readonly #fleets = new WeakMap<ExecutorImplementation, ExecutorFleet>();
  readonly #clock = new ExecutorClock<ExecutorCall>();
  /** Ids of calls are the models' to choose; an executor must not take one for another. */
  readonly #prefix: string = randomBytes(9).toString("base64url");
  #count = 0;
  #isClosed = false;

  /** @param ca Certificates of authorities to trust instead of the usual ones, in PEM. */
  constructor(credentials: CheckedCredentials = NO_CREDENTIALS, ca?: string) {
    this.#credentials = credentials;
    this.#ca = ca;
  }

  /**
   * Reads what is known of a tool's executors. It connects to none: they may start later.
   *
   * @throws {ToolPreparationError}
   */
  prepare(implementation: ExecutorImplementation): ExecutorFleet {
    const known = this.#fleets.get(implementation);
    if (known !== undefined) return known;
    const addresses = parseExecutors(implementation.executor);
    if (typeof addresses === "string") throw new ToolPreparationError(`remote.${addresses}`);
    if (this.#credentials.token !== undefined && addresses.some(({ isPrivate }) => !isPrivate)) {
      throw new ToolPreparationError(
        "remote.executor must be https: for a token, which anybody on the way could read: or use a signing key",
      );
    }
    const endpoints = addresses.map((address) => {
      const endpoint =
        this.#endpoints.get(address.url) ?? new ExecutorEndpoint(address, this.#credentials, this.#ca);
      this.#endpoints.set(address.url, endpoint);
      return endpoint;
    });
    // The first answer would otherwise wait until its shape is compiled.
    shapeProblem("ExecutionResult", null);
    const fleet = new ExecutorFleet(endpoints);
    this.#fleets.set(implementation, fleet);
    return fleet;
  }

  /** Runs a task, as `Sandbox.run` has it. */
  run(
    implementation: ExecutorImplementation,
    task: SandboxTask,
    limits: OwnLimits,
  ): SandboxOutcome | Promise<SandboxOutcome> {
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
    return new ExecutorCall(fleet, task, id, limits).run(this.#clock);
  }

  /** Ends what runs (`cancelled`) and every connection. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const call of this.#clock.calls) call.cancel();
    await Promise.all(Array.from(this.#endpoints.values(), (endpoint) => endpoint.close()));
  }
}

/** As much of a call's id as an executor is told: whole characters, and valid text whatever the model wrote. */
function idPart(id: string): string {
  const isPairAtCut = (id.codePointAt(MAX_ID_LENGTH - 1) ?? 0) > 0xffff;
  return id.slice(0, isPairAtCut ? MAX_ID_LENGTH - 1 : MAX_ID_LENGTH).toWellFormed();
}
