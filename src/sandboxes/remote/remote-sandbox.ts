import { race } from "../../base/timers.ts";
import type { Egress } from "../../egress/egress.ts";
import { CAPABILITY_NAMES, type CapabilityName } from "../../policy/grant/capabilities.ts";
import { firstLimitBesides, type LimitName, type ResourceLimits } from "../../policy/grant/limits.ts";
import { TemplateError } from "../../tool/http-template.ts";
import type { ToolImplementations } from "../../tool/implementations/implementations.ts";
import {
  isExecutorImplementation,
  isMcpImplementation,
  type RemoteImplementation,
} from "../../tool/implementations/remote-implementation.ts";
import { refuseUnbound } from "../contract/bound-grant.ts";
import { limitsEnforcedBy } from "../contract/enforced-limits.ts";
import { GuestMemory, type MemoryLease } from "../contract/guest-memory.ts";
import type { SandboxOutcome } from "../contract/outcome.ts";
import { type Sandbox, type SandboxTask, ToolPreparationError } from "../contract/sandbox.ts";
import {
  compileEndpoint,
  type Endpoint,
  type EndpointRequest,
  type EndpointTool,
} from "./endpoint/endpoint.ts";
import {
  type EndpointCall,
  endedBeforeSending,
  failureOutcome,
  responseOutcome,
  unavailable,
  unsentOutcome,
} from "./endpoint/outcome.ts";
import { environmentSecrets, findSecrets, NO_SECRETS, type SecretSource } from "./endpoint/secrets.ts";
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

/** Memory, stack and the like are limited by the machine behind the endpoint, if at all. */
const ENFORCEABLE = limitsEnforcedBy("endpoint");

/** Maximum number of bytes of an error response that are read for its message. */
const MAX_ERROR_BODY_BYTES = 16_384;

/**
 * Runs tools behind HTTP endpoints: each call is one request through the egress, without retries. The server is not
 * confined. If a call fails after a byte may have been sent, its effect is unknown, unless the method is a safe one.
 */
export class EndpointSandbox implements Sandbox {
  readonly mode = "remote";
  readonly capabilities: ReadonlySet<CapabilityName> = new Set<CapabilityName>(["net", "secrets"]);
  readonly defaults: ResourceLimits = REMOTE_DEFAULTS;
  readonly #egress: Egress;
  readonly #memory: GuestMemory;
  readonly #secrets: SecretSource;
  readonly #endpoints = new WeakMap<EndpointTool, Endpoint>();
  #isClosed = false;

  /**
   * @param egress Closing the sandbox neither closes it nor ends its exchanges.
   * @param memory Where requests and responses have to have room.
   */
  constructor(egress: Egress, memory: GuestMemory, secrets: SecretSource = environmentSecrets) {
    this.#memory = memory;
    this.#egress = egress;
    this.#secrets = secrets;
  }

  unenforceable(limits: ResourceLimits): LimitName | undefined {
    return firstLimitBesides(limits, ENFORCEABLE);
  }

  async prepare({ remote }: ToolImplementations): Promise<void> {
    if (!isEndpoint(remote)) return;
    try {
      this.#endpoint(remote);
    } catch (error) {
      if (error instanceof TemplateError) throw new ToolPreparationError(error.message);
      throw error;
    }
  }

  #endpoint(tool: EndpointTool): Endpoint {
    let endpoint = this.#endpoints.get(tool);
    if (endpoint === undefined) {
      endpoint = compileEndpoint(tool);
      this.#endpoints.set(tool, endpoint);
    }
    return endpoint;
  }

  run(task: SandboxTask): SandboxOutcome | Promise<SandboxOutcome> {
    const startedAt = performance.now();
    const { remote } = task.implementations;
    const { outputBytes = REMOTE_DEFAULTS.outputBytes } = task.limits;
    if (this.#isClosed) return unavailable("the sandbox is closed");
    if (!isEndpoint(remote)) {
      return unavailable("the tool has no endpoint");
    }
    try {
      const endpoint = this.#endpoint(remote);
      const call = { endpoint, secrets: NO_SECRETS, startedAt, outputBytes };
      if (endpoint.secrets.length === 0) return this.#send(task, call);
      return this.#sendWithSecrets(task, call);
    } catch (error) {
      return unsentOutcome(error, startedAt);
    }
  }

  async #sendWithSecrets(task: SandboxTask, call: EndpointCall): Promise<SandboxOutcome> {
    const { endpoint, startedAt } = call;
    const { limits, capabilities, signal } = task;
    const { wallTimeMs = REMOTE_DEFAULTS.wallTimeMs } = limits;
    try {
      const finding = findSecrets(endpoint.secrets, capabilities.secrets ?? [], this.#secrets);
      const secrets = await race(finding, { timeoutMs: wallTimeMs, signals: [signal] });
      if (secrets === "timeout") return endedBeforeSending("timeout", startedAt);
      if (secrets === "aborted" || this.#isClosed) return endedBeforeSending("cancelled", startedAt);
      return await this.#send(task, { ...call, secrets });
    } catch (error) {
      return unsentOutcome(error, startedAt);
    }
  }

  /** @throws {ArgumentPlaceError} if an argument cannot be inserted into the request. */
  #send(task: SandboxTask, call: EndpointCall): Promise<SandboxOutcome> {
    const { endpoint, secrets } = call;
    const request = endpoint.request(task, secrets);
    const room = this.#memory.openForOutput(task);
    const bytes = request.body?.length ?? 0;
    const sending = room.take(bytes)
      ? this.#sendNow(task, call, request, room)
      : this.#sendLater(task, call, request, room);
    return sending.finally(() => room.close());
  }

  /** Sends a request as soon as there is memory for its body. */
  async #sendLater(
    task: SandboxTask,
    call: EndpointCall,
    request: EndpointRequest,
    room: MemoryLease,
  ): Promise<SandboxOutcome> {
    const { wallTimeMs = REMOTE_DEFAULTS.wallTimeMs } = task.limits;
    const timeoutMs = Math.max(1, wallTimeMs - (performance.now() - call.startedAt));
    const hasRoom = await race(room.wait(request.body?.length ?? 0), { timeoutMs, signals: [task.signal] });
    if (hasRoom === "timeout") return endedBeforeSending("timeout", call.startedAt);
    if (hasRoom === "aborted" || this.#isClosed) return endedBeforeSending("cancelled", call.startedAt);
    if (!hasRoom) return withoutRoom(room, "the request", endedBeforeSending("cancelled", call.startedAt));
    return this.#sendNow(task, call, request, room);
  }

  #sendNow(
    task: SandboxTask,
    call: EndpointCall,
    request: EndpointRequest,
    room: MemoryLease,
  ): Promise<SandboxOutcome> {
    const { endpoint, startedAt, outputBytes } = call;
    const { wallTimeMs = REMOTE_DEFAULTS.wallTimeMs, netBytes } = task.limits;
    const { maxRedirects, credentialHeaders } = endpoint;
    // Finding the secrets, or waiting for room, took some of the wall time.
    const spentMs = Math.floor(performance.now() - startedAt);
    const timeoutMs = Math.max(1, wallTimeMs - spentMs);
    const { method, url, headers, body, grants } = request;
    const sending = this.#egress.send({
      method,
      url,
      headers: withIdempotencyKey(headers, task.idempotencyKey),
      body,
      grants,
      limits: { timeoutMs, bodyBytes: outputBytes, failureBodyBytes: MAX_ERROR_BODY_BYTES, netBytes, room },
      signal: task.signal,
      maxRedirects,
      credentialHeaders,
    });
    return sending.then(
      (response) => responseOutcome(call, response),
      (error: unknown) => {
        const outcome = failureOutcome(call, error);
        return room.wasRefused ? withoutRoom(room, "the response", outcome) : outcome;
      },
    );
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }
}

/**
 * The outcome of a call if there was no memory for its request or response, with the effect of another
 * outcome.
 */
function withoutRoom(room: MemoryLease, what: string, { effect, used }: SandboxOutcome): SandboxOutcome {
  return { status: "limit_exceeded", limit: "outputBytes", message: room.refusal(what), effect, used };
}

type Headers = Readonly<Record<string, string>>;

/** A server that knows the key answers as the first time: IETF draft-ietf-httpapi-idempotency-key-header, section 2. */
function withIdempotencyKey(headers: Headers, key: string | undefined): Headers {
  const name = "idempotency-key";
  if (key === undefined || Object.keys(headers).some((each) => each.toLowerCase() === name)) return headers;
  return { ...headers, [name]: JSON.stringify(key) };
}

function isEndpoint(remote: RemoteImplementation | undefined): remote is EndpointTool {
  return remote !== undefined && !isExecutorImplementation(remote) && !isMcpImplementation(remote);
}
