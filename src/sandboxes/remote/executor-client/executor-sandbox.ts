import { CAPABILITY_NAMES, type CapabilityName } from "../../../policy/grant/capabilities.ts";
import type { LimitName, ResourceLimits } from "../../../policy/grant/limits.ts";
import type { ToolImplementations } from "../../../tool/implementations/implementations.ts";
import { isExecutorImplementation } from "../../../tool/implementations/remote-implementation.ts";
import type { GuestMemory } from "../../contract/guest-memory.ts";
import type { SandboxOutcome } from "../../contract/outcome.ts";
import type { Sandbox } from "../../contract/sandbox.ts";
import type { SandboxTask } from "../../contract/task.ts";
import { REMOTE_DEFAULTS } from "../remote-limits.ts";
import type { ExecutorClient } from "./client.ts";
import type { CheckedCredentials } from "./credentials.ts";

/**
 * The limits of a calling tool that are passed on: every executor enforces them. Its other limits may not apply to the
 * sandbox that the executor chooses, which would refuse the call.
 */
const INHERITED: readonly LimitName[] = ["wallTimeMs", "outputBytes", "nestedCalls"];

/**
 * Runs tools on executors. The grant is sent along as an upper bound: the executor's own policy decides what a call
 * gets, and the executor refuses a call whose limits or capabilities it cannot provide.
 */
export class ExecutorSandbox implements Sandbox {
  readonly mode = "remote";
  readonly capabilities: ReadonlySet<CapabilityName> = new Set(CAPABILITY_NAMES);
  readonly defaults: ResourceLimits = REMOTE_DEFAULTS;
  readonly #memory: GuestMemory;
  readonly #credentials: CheckedCredentials | undefined;
  readonly #hasFrames: boolean;
  readonly #maxWaitMs: number | undefined;
  #client: ExecutorClient | Promise<ExecutorClient> | undefined;
  #isClosed = false;

  /**
   * @param memory Where requests and responses have to have room.
   * @param hasFrames Whether calls go over framed connections. Default: `false`.
   * @param maxWaitMs How long a call may wait at executors until it begins, in ms. Default: 30,000.
   */
  constructor(memory: GuestMemory, credentials?: CheckedCredentials, hasFrames = false, maxWaitMs?: number) {
    this.#memory = memory;
    this.#hasFrames = hasFrames;
    this.#maxWaitMs = maxWaitMs;
    this.#credentials = credentials;
  }

  unenforceable(): undefined {
    return undefined;
  }

  inheritedLimits(): readonly LimitName[] {
    return INHERITED;
  }

  async prepare({ remote }: ToolImplementations): Promise<void> {
    if (isExecutorImplementation(remote)) (await this.#openClient()).prepare(remote);
  }

  run(task: SandboxTask): SandboxOutcome | Promise<SandboxOutcome> {
    const { remote } = task.implementations;
    if (this.#isClosed || !isExecutorImplementation(remote)) {
      const detail = this.#isClosed ? "the sandbox is closed" : "the tool has no executor";
      return { status: "unavailable", effect: "none", used: { wallTimeMs: 0 }, detail };
    }
    const client = this.#openClient();
    if (!(client instanceof Promise)) return client.run(remote, task);
    return client.then((opened) => opened.run(remote, task));
  }

  /** Loaded on first use: tools behind endpoints do not need it. */
  #openClient(): ExecutorClient | Promise<ExecutorClient> {
    this.#client ??= import("./client.ts").then(({ ExecutorClient }) => {
      this.#client = new ExecutorClient(this.#memory, this.#credentials, this.#hasFrames, this.#maxWaitMs);
      if (this.#isClosed) void this.#client.close();
      return this.#client;
    });
    return this.#client;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.#client)?.close();
  }
}
