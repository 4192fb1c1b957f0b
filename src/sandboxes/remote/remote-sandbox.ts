import { isUtf8 } from "node:buffer";
import { Pool } from "undici";
import type { CapabilityName } from "../../policy/capabilities.ts";
import { firstLimitBesides, type LimitName, type ResourceLimits } from "../../policy/limits.ts";
import type { ToolImplementations } from "../implementation.ts";
import { checkOutput } from "../output.ts";
import { type Sandbox, type SandboxOutcome, type SandboxTask, ToolPreparationError } from "../sandbox.ts";
import { BodyTooLargeError, readBody } from "./body.ts";
import { connectionFailure, statusFailure } from "./failure.ts";
import { parseEndpoint } from "./implementation.ts";

const DEFAULTS: Required<Pick<ResourceLimits, "wallTimeMs" | "outputBytes">> = Object.freeze({
  wallTimeMs: 30_000,
  outputBytes: 1_024 * 1_024,
});

/** Bytes of an error's body that are read for its text. */
const MAX_ERROR_BODY_BYTES = 16_384;

/**
 * Runs tools behind HTTP endpoints: one POST for each call over kept connections, no redirects, no retries,
 * and only to the tool's own URL. What the other side does is not confined: once a request may have been
 * sent, a failure's effect is unknown.
 */
export class RemoteSandbox implements Sandbox {
  readonly mode = "remote";
  readonly capabilities: ReadonlySet<CapabilityName> = new Set();
  readonly defaults: ResourceLimits = DEFAULTS;
  readonly #pools = new Map<string, Pool>();
  readonly #closing = new AbortController();

  /** Memory and stack are the other machine's to limit. */
  unenforceable(limits: ResourceLimits): LimitName | undefined {
    return firstLimitBesides(limits, ["wallTimeMs", "outputBytes"]);
  }

  async prepare({ remote }: ToolImplementations): Promise<void> {
    const endpoint = remote === undefined ? undefined : parseEndpoint(remote.url);
    if (typeof endpoint === "string") throw new ToolPreparationError(endpoint);
  }

  async run(task: SandboxTask): Promise<SandboxOutcome> {
    const { remote } = task.implementations;
    const endpoint = parseEndpoint(remote?.url);
    if (typeof endpoint === "string" || this.#closing.signal.aborted) {
      const detail = typeof endpoint === "string" ? endpoint : "the sandbox is closed";
      return { status: "unavailable", effect: "none", used: { wallTimeMs: 0 }, detail };
    }
    return new Exchange(this.#pool(endpoint.origin), endpoint, task, this.#closing.signal).run();
  }

  #pool(origin: string): Pool {
    let pool = this.#pools.get(origin);
    if (pool === undefined) {
      // The deadline bounds all of an exchange; undici's own time-outs would only cut it short.
      pool = new Pool(origin, { headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 0 } });
      this.#pools.set(origin, pool);
    }
    return pool;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(Array.from(this.#pools.values(), (pool) => pool.destroy()));
  }
}

/** One request and its answer. */
class Exchange {
  readonly #pool: Pool;
  readonly #endpoint: URL;
  readonly #task: SandboxTask;
  readonly #closing: AbortSignal;
  readonly #abort = new AbortController();
  readonly #startedAt: number = performance.now();
  readonly #limits: typeof DEFAULTS;
  #cause: "timeout" | "cancelled" | undefined;

  constructor(pool: Pool, endpoint: URL, task: SandboxTask, closing: AbortSignal) {
    this.#pool = pool;
    this.#endpoint = endpoint;
    this.#task = task;
    this.#limits = { ...DEFAULTS, ...task.limits };
    this.#closing = closing;
  }

  async run(): Promise<SandboxOutcome> {
    const { signal } = this.#task;
    const cancel = (): void => this.#end("cancelled");
    const timer = setTimeout(() => this.#end("timeout"), this.#limits.wallTimeMs);
    signal?.addEventListener("abort", cancel);
    this.#closing.addEventListener("abort", cancel);
    try {
      if (signal?.aborted) cancel();
      return await this.#exchange();
    } catch (error) {
      return this.#failed(error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
      this.#closing.removeEventListener("abort", cancel);
    }
  }

  #end(cause: "timeout" | "cancelled"): void {
    this.#cause ??= cause;
    this.#abort.abort();
  }

  async #exchange(): Promise<SandboxOutcome> {
    const { callId, toolName, sessionId, canonical } = this.#task;
    const { outputBytes: maxBytes } = this.#limits;
    const { statusCode, body } = await this.#pool.request({
      path: this.#endpoint.pathname + this.#endpoint.search,
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: `{"id":${JSON.stringify(callId)},"name":${JSON.stringify(toolName)},"session":${JSON.stringify(sessionId)},"arguments":${canonical.text}}`,
      signal: this.#abort.signal,
    });
    const isOk = statusCode >= 200 && statusCode < 300;
    const bytes = await readBody(body, isOk ? maxBytes : MAX_ERROR_BODY_BYTES, isOk ? "refuse" : "cut");
    const used = { wallTimeMs: performance.now() - this.#startedAt };
    if (!isOk) {
      const message = statusFailure(statusCode, bytes.toString());
      return { status: "failed", effect: "unknown", used, message };
    }
    if (!isUtf8(bytes)) {
      return { status: "failed", effect: "committed", used, message: "Tool returned no valid UTF-8" };
    }
    const { outputBytes, ...checked } = checkOutput(bytes.length === 0 ? "null" : bytes.toString(), maxBytes);
    return { effect: "committed", ...checked, used: { ...used, outputBytes } };
  }

  #failed(error: unknown): SandboxOutcome {
    const used = { wallTimeMs: performance.now() - this.#startedAt };
    if (this.#cause !== undefined) return { status: this.#cause, effect: "unknown", used };
    if (error instanceof BodyTooLargeError) {
      return { status: "limit_exceeded", limit: "outputBytes", effect: "committed", used };
    }
    return { status: "failed", used, ...connectionFailure(error) };
  }
}
