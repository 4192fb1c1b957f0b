import type { Egress } from "../../egress/egress.ts";
import { CAPABILITY_NAMES, type CapabilityName } from "../../policy/grant/capabilities.ts";
import type { LimitName, ResourceLimits } from "../../policy/grant/limits.ts";
import type { ToolImplementations } from "../../tool/implementations/implementations.ts";
import {
  isExecutorImplementation,
  isMcpImplementation,
} from "../../tool/implementations/remote-implementation.ts";
import { refuseUnbound } from "../contract/bound-grant.ts";
import { GuestMemory } from "../contract/guest-memory.ts";
import type { SandboxOutcome } from "../contract/outcome.ts";
import type { Sandbox, SandboxTask } from "../contract/sandbox.ts";
import { EndpointSandbox } from "./endpoint/endpoint-sandbox.ts";
import type { SecretSource } from "./endpoint/secrets.ts";
import type { ExecutorClient } from "./executor-client/client.ts";
import type { CheckedCredentials } from "./executor-client/credentials.ts";
import { McpSandbox } from "./mcp-client/mcp-sandbox.ts";
import { REMOTE_DEFAULTS } from "./remote-limits.ts";

/**
 * The limits of a calling tool that are passed on: every executor enforces them. Its other limits may not apply to the
 * sandbox that the executor chooses, which would refuse the call.
 */
const INHERITED: readonly LimitName[] = ["wallTimeMs", "outputBytes", "nestedCalls"];

/**
 * Runs tools on executors. The grant is sent along as an upper bound: the executor's own policy decides what a call
 * gets, and the executor refuses a call whose limits or capabilities it cannot provide.
 */
class ExecutorSandbox implements Sandbox {
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
    this.#client ??= import("./executor-client/client.ts").then(({ ExecutorClient }) => {
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

/** Options of {@link RemoteSandbox}. */
export interface RemoteSandboxOptions {
  /** Sends the requests to endpoints. Closing the sandbox neither closes it nor ends its exchanges. */
  readonly egress: Egress;
  /** Where secrets come from. Defaults to the environment variables of the same names. */
  readonly secrets?: SecretSource;
  /** How executors authenticate this process. Defaults to no credentials. */
  readonly credentials?: CheckedCredentials;
  /** Whether calls to executors go over framed connections. Default: `false`. */
  readonly frames?: boolean | undefined;
  /** How long a call may wait at executors until it begins, in ms. Default: 30,000. */
  readonly maxWaitMs?: number | undefined;
  /** Where requests and responses have to have room. Default: one of its own. */
  readonly memory?: GuestMemory | undefined;
}

/** Runs tools elsewhere: each on executors, behind an HTTP endpoint or in an MCP server, as its implementation says. */
export class RemoteSandbox implements Sandbox {
  readonly mode = "remote";
  readonly defaults: ResourceLimits = REMOTE_DEFAULTS;
  readonly #endpoints: EndpointSandbox;
  readonly #executors: ExecutorSandbox;
  readonly #mcp = new McpSandbox();

  constructor({
    egress,
    secrets,
    credentials,
    frames,
    maxWaitMs,
    memory = new GuestMemory(),
  }: RemoteSandboxOptions) {
    this.#endpoints = new EndpointSandbox(egress, memory, secrets);
    this.#executors = new ExecutorSandbox(memory, credentials, frames, maxWaitMs);
  }

  get capabilities(): ReadonlySet<CapabilityName> {
    return this.#endpoints.capabilities;
  }

  unenforceable(limits: ResourceLimits, implementations: ToolImplementations): LimitName | undefined {
    return this.#choose(implementations).unenforceable(limits, implementations);
  }

  inheritedLimits(implementations: ToolImplementations): readonly LimitName[] | undefined {
    return this.#choose(implementations).inheritedLimits?.(implementations);
  }

  capabilitiesFor(implementations: ToolImplementations): ReadonlySet<CapabilityName> {
    return this.#choose(implementations).capabilities;
  }

  prepare(implementations: ToolImplementations): Promise<void> {
    return this.#choose(implementations).prepare(implementations);
  }

  run(task: SandboxTask): ReturnType<Sandbox["run"]> {
    return refuseUnbound(task, "remote") ?? this.#choose(task.implementations).run(task);
  }

  async close(): Promise<void> {
    await Promise.all([this.#endpoints.close(), this.#executors.close(), this.#mcp.close()]);
  }

  #choose({ remote }: Pick<ToolImplementations, "remote">): Sandbox {
    if (isMcpImplementation(remote)) return this.#mcp;
    return isExecutorImplementation(remote) ? this.#executors : this.#endpoints;
  }
}
