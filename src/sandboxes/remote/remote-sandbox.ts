import { Egress, type EgressOptions } from "../../egress/egress.ts";
import { CAPABILITY_NAMES, type CapabilityName } from "../../policy/grant/capabilities.ts";
import { firstLimitBesides, type LimitName, type ResourceLimits } from "../../policy/grant/limits.ts";
import type { ExecutorImplementation } from "../../tool/executor-address.ts";
import type { ToolImplementations } from "../../tool/implementations.ts";
import type { RemoteImplementation } from "../../tool/remote-implementation.ts";
import {
  type Sandbox,
  type SandboxOutcome,
  type SandboxTask,
  ToolPreparationError,
} from "../contract/sandbox.ts";
import { compileEndpoint, type Endpoint } from "./endpoint/endpoint.ts";
import {
  type EndpointCall,
  endedBeforeSending,
  failureOutcome,
  responseOutcome,
  unavailable,
  unsentOutcome,
} from "./endpoint/outcome.ts";
import {
  environmentSecrets,
  findSecrets,
  NO_SECRETS,
  type SecretSource,
  type Secrets,
} from "./endpoint/secrets.ts";
import type { ExecutorClient } from "./executor-client/client.ts";
import type { CheckedCredentials } from "./executor-client/credentials.ts";
import { TemplateError } from "./template-error.ts";
import { withDeadline } from "./with-deadline.ts";

/** Options of {@link RemoteSandbox}. */
export interface RemoteSandboxOptions {
  /** How requests leave. */
  readonly egress?: EgressOptions;
  /** Where secrets come from. Default: environment variables of the same name. */
  readonly secrets?: SecretSource;
  /** How executors authenticate this process. Defaults to no credentials. */
  readonly credentials?: CheckedCredentials;
}

/** Executors give what their own policies give; a grant is the most that they may. */
const ALL_CAPABILITIES: ReadonlySet<CapabilityName> = new Set(CAPABILITY_NAMES);

const DEFAULTS: Required<Pick<ResourceLimits, "wallTimeMs" | "outputBytes">> = Object.freeze({
  wallTimeMs: 30_000,
  outputBytes: 1_024 * 1_024,
});

/** What every executor enforces, and what bounds the calls that a tool there may make. */
const EXECUTOR_INHERITS: readonly LimitName[] = ["wallTimeMs", "outputBytes", "nestedCalls"];

/** Bytes of an error's body that are read for its text. */
const MAX_ERROR_BODY_BYTES = 16_384;

/**
 * Runs tools behind HTTP endpoints: one request for each call, over the egress, without retries. What the other
 * side does is not confined: once a request may have been sent, a failure's effect is unknown, unless its
 * method is one that asks for no change.
 */
export class RemoteSandbox implements Sandbox {
  readonly mode = "remote";
  readonly capabilities: ReadonlySet<CapabilityName> = new Set<CapabilityName>(["net", "secrets"]);
  readonly defaults: ResourceLimits = DEFAULTS;
  readonly #egress: Egress;
  readonly #secrets: SecretSource;
  readonly #endpoints = new WeakMap<RemoteImplementation, Endpoint>();
  readonly #options: RemoteSandboxOptions;
  #executors: ExecutorClient | Promise<ExecutorClient> | undefined;
  #isClosed = false;

  constructor(options: RemoteSandboxOptions = {}) {
    const { egress, secrets = environmentSecrets } = options;
    this.#options = options;
    this.#egress = new Egress(egress);
    this.#secrets = secrets;
  }

  /** An executor refuses what it cannot enforce. Elsewhere, memory and stack are the other machine's to limit. */
  unenforceable(limits: ResourceLimits, { remote }: ToolImplementations): LimitName | undefined {
    if (isExecutor(remote)) return undefined;
    return firstLimitBesides(limits, ["wallTimeMs", "outputBytes", "netBytes"]);
  }

  /** A caller's other limits bound its own sandbox; the executor's may be one that has no such limits. */
  inheritedLimits({ remote }: ToolImplementations): readonly LimitName[] | undefined {
    return isExecutor(remote) ? EXECUTOR_INHERITS : undefined;
  }

  capabilitiesFor({ remote }: ToolImplementations): ReadonlySet<CapabilityName> {
    return isExecutor(remote) ? ALL_CAPABILITIES : this.capabilities;
  }

  async prepare({ remote }: ToolImplementations): Promise<void> {
    if (isExecutor(remote)) {
      (await this.#executorClient()).prepare(remote);
      return;
    }
    try {
      if (remote !== undefined) this.#endpoint(remote);
    } catch (error) {
      if (error instanceof TemplateError) throw new ToolPreparationError(error.message);
      throw error;
    }
  }

  #endpoint(remote: Exclude<RemoteImplementation, ExecutorImplementation>): Endpoint {
    let endpoint = this.#endpoints.get(remote);
    if (endpoint === undefined) {
      endpoint = compileEndpoint(remote);
      this.#endpoints.set(remote, endpoint);
    }
    return endpoint;
  }

  run(task: SandboxTask): SandboxOutcome | Promise<SandboxOutcome> {
    const startedAt = performance.now();
    const { outputBytes = DEFAULTS.outputBytes } = task.limits;
    try {
      const { remote } = task.implementations;
      if (remote === undefined || this.#isClosed) return unavailable("the sandbox is closed");
      if (isExecutor(remote)) return this.#runOnExecutor(remote, task);
      const endpoint = this.#endpoint(remote);
      const call = { endpoint, secrets: NO_SECRETS, startedAt, outputBytes };
      if (endpoint.secrets.length === 0) return this.#send(task, call);
      return this.#sendWithSecrets(task, call);
    } catch (error) {
      return unsentOutcome(error, startedAt);
    }
  }

  #runOnExecutor(
    remote: ExecutorImplementation,
    task: SandboxTask,
  ): SandboxOutcome | Promise<SandboxOutcome> {
    const { wallTimeMs = DEFAULTS.wallTimeMs, outputBytes = DEFAULTS.outputBytes } = task.limits;
    const limits = Object.freeze({ wallTimeMs, outputBytes });
    const client = this.#executorClient();
    if (!(client instanceof Promise)) return client.run(remote, task, limits);
    return client.then((opened) => opened.run(remote, task, limits));
  }

  #executorClient(): ExecutorClient | Promise<ExecutorClient> {
    this.#executors ??= import("./executor-client/client.ts").then(({ ExecutorClient }) => {
      this.#executors = new ExecutorClient(this.#options.credentials, this.#options.egress?.ca);
      if (this.#isClosed) void this.#executors.close();
      return this.#executors;
    });
    return this.#executors;
  }

  async #sendWithSecrets(task: SandboxTask, call: EndpointCall): Promise<SandboxOutcome> {
    const { endpoint, startedAt } = call;
    const { limits, capabilities, signal } = task;
    try {
      const finding = findSecrets(endpoint.secrets, capabilities.secrets ?? [], this.#secrets);
      const secrets = await withDeadline<Secrets>(finding, limits.wallTimeMs ?? DEFAULTS.wallTimeMs, signal);
      if (typeof secrets === "string") return endedBeforeSending(secrets, startedAt);
      return await this.#send(task, { ...call, secrets });
    } catch (error) {
      return unsentOutcome(error, startedAt);
    }
  }

  /** @throws {ArgumentPlaceError} when the arguments cannot be put into the request. */
  #send(task: SandboxTask, call: EndpointCall): Promise<SandboxOutcome> {
    const { endpoint, secrets, startedAt, outputBytes } = call;
    const { wallTimeMs = DEFAULTS.wallTimeMs, netBytes } = task.limits;
    const { maxRedirects, credentialHeaders } = endpoint;
    // Of the wall time, what finding the secrets has left.
    const spentMs = secrets === NO_SECRETS ? 0 : Math.floor(performance.now() - startedAt);
    const timeoutMs = Math.max(1, wallTimeMs - spentMs);
    const { method, url, headers, body, grants } = endpoint.request(task, secrets);
    const sending = this.#egress.send({
      method,
      url,
      headers,
      body,
      grants,
      limits: { timeoutMs, bodyBytes: outputBytes, failureBodyBytes: MAX_ERROR_BODY_BYTES, netBytes },
      signal: task.signal,
      maxRedirects,
      credentialHeaders,
    });
    return sending.then(
      (response) => responseOutcome(call, response),
      (error: unknown) => failureOutcome(call, error),
    );
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#egress.close(), (await this.#executors)?.close()]);
  }
}

function isExecutor(remote: RemoteImplementation | undefined): remote is ExecutorImplementation {
  return remote !== undefined && "executor" in remote;
}
