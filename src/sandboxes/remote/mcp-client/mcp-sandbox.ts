import { DeadlineTimer } from "../../../base/timers/deadline-timer.ts";
import { isJsonObject, type JsonObject } from "../../../json/value.ts";
import type { CapabilityName } from "../../../policy/grant/capabilities.ts";
import { firstLimitBesides, type LimitName, type ResourceLimits } from "../../../policy/grant/limits.ts";
import type { McpCallEnd, McpProgress } from "../../../tool/implementations/mcp-implementation.ts";
import { isMcpImplementation } from "../../../tool/implementations/remote-implementation.ts";
import type { SandboxOutcome } from "../../contract/outcome.ts";
import type { Sandbox } from "../../contract/sandbox.ts";
import type { SandboxTask, TaskObserver } from "../../contract/task.ts";
import { REMOTE_DEFAULTS } from "../remote-limits.ts";
import { type EndOfTask, outcomeOf } from "./outcome.ts";

/** What a server uses besides is bounded by its own sandbox, if it has one. */
const ENFORCEABLE: readonly LimitName[] = ["wallTimeMs", "outputBytes"];

/** How many reports of progress reach an observer. */
const MAX_REPORTS = 1_000;

const NOTHING: JsonObject = Object.freeze({});

/** Runs tools of MCP servers over the connections that their handles have. A call whose time is over is cancelled there. */
export class McpSandbox implements Sandbox {
  readonly mode = "remote";
  readonly capabilities: ReadonlySet<CapabilityName> = new Set<CapabilityName>();
  readonly defaults: ResourceLimits = REMOTE_DEFAULTS;
  readonly #running = new Set<RunningCall>();
  readonly #deadlines = new DeadlineTimer<RunningCall>({
    deadlineOf: ({ deadline }) => deadline,
    expire: (call) => {
      this.#deadlines.delete(call);
      call.stop("timeout");
    },
    keepsAlive: true,
  });
  #isClosed = false;

  unenforceable(limits: ResourceLimits): LimitName | undefined {
    return firstLimitBesides(limits, ENFORCEABLE);
  }

  /** The connection is opened by those who made the handle. */
  async prepare(): Promise<void> {}

  async run(task: SandboxTask): Promise<SandboxOutcome> {
    const { remote } = task.implementations;
    if (this.#isClosed) return unavailable("the sandbox is closed");
    if (!isMcpImplementation(remote)) return unavailable("the tool is not one of an MCP server");
    const call = new RunningCall(task);
    const { signal } = task;
    const cancel = (): void => call.stop("cancelled");
    if (signal?.aborted) return { status: "cancelled", effect: "none", used: { wallTimeMs: 0 } };
    signal?.addEventListener("abort", cancel, { once: true });
    this.#running.add(call);
    this.#deadlines.add(call);
    try {
      const args = isJsonObject(task.input) ? task.input : NOTHING;
      const onProgress = reportTo(task.observer);
      const end = await remote.mcp.call(args, { signal: call.signal, ...(onProgress && { onProgress }) });
      return call.outcome(end);
    } finally {
      signal?.removeEventListener("abort", cancel);
      this.#running.delete(call);
      this.#deadlines.delete(call);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const call of this.#running) call.stop("cancelled");
    this.#deadlines.stop();
  }
}

/** One call, until it ends. */
class RunningCall {
  readonly #startedAt = performance.now();
  readonly #stopping = new AbortController();
  readonly #limits: ResourceLimits;
  #cause: "timeout" | "cancelled" | undefined;

  constructor({ limits }: SandboxTask) {
    this.#limits = limits;
  }

  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** On the clock of `performance.now()`, in ms. */
  get deadline(): number {
    return this.#startedAt + (this.#limits.wallTimeMs ?? REMOTE_DEFAULTS.wallTimeMs);
  }

  stop(cause: "timeout" | "cancelled"): void {
    this.#cause ??= cause;
    this.#stopping.abort(cause);
  }

  outcome(end: McpCallEnd): SandboxOutcome {
    const { outputBytes = REMOTE_DEFAULTS.outputBytes } = this.#limits;
    const ended: EndOfTask = { end, cause: this.#cause, wallTimeMs: performance.now() - this.#startedAt };
    return outcomeOf(ended, outputBytes);
  }
}

function unavailable(detail: string): SandboxOutcome {
  return { status: "unavailable", effect: "none", used: { wallTimeMs: 0 }, detail };
}

/** Texts of a server become output; figures are logged. */
function reportTo(observer: TaskObserver): ((progress: McpProgress) => void) | undefined {
  if (observer.listening === false) return undefined;
  let reports = 0;
  return ({ progress, total, message }) => {
    if (reports++ >= MAX_REPORTS) return;
    if (typeof message === "string" && message !== "") observer.output(`${message}\n`);
    else observer.log("info", `progress: ${progress}${total === undefined ? "" : ` of ${total}`}`);
  };
}
