import { beginning } from "../../../base/text.ts";
import { DeadlineTimer } from "../../../base/timers.ts";
import { freezeJson, isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import type { CapabilityName } from "../../../policy/grant/capabilities.ts";
import { firstLimitBesides, type LimitName, type ResourceLimits } from "../../../policy/grant/limits.ts";
import type { ContentBlock } from "../../../tool/content.ts";
import {
  isMcpImplementation,
  type McpCallEnd,
  type McpCallOptions,
} from "../../../tool/implementations/remote-implementation.ts";
import { limitsEnforcedBy } from "../../contract/enforced-limits.ts";
import { shorten } from "../../contract/failure.ts";
import type { SandboxOutcome } from "../../contract/outcome.ts";
import { type Sandbox, type SandboxTask, type TaskObserver, traceHeadersOf } from "../../contract/sandbox.ts";
import { REMOTE_DEFAULTS } from "../remote-limits.ts";

/** Maximum number of bytes of a message of a server that the model reads. */
const MAX_MESSAGE_BYTES = 16_384;

/** How a call ended, and why it was stopped, if it was. */
interface EndOfTask {
  readonly end: McpCallEnd;
  readonly cause: "timeout" | "cancelled" | undefined;
  readonly wallTimeMs: number;
}

/** The server's own sandbox, if it has one, bounds everything else. */
const ENFORCEABLE = limitsEnforcedBy("mcp");

/** Maximum number of progress reports that reach an observer. */
const MAX_REPORTS = 1_000;

/** The longest log message, in characters. */
const MAX_LOG = 4_000;

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

  /** The creator of the handle opens the connection. */
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
      const reports = reportsTo(task.observer);
      const { callId, turnId, principal, sessionId } = task;
      const owner = { principal: principal?.id, session: sessionId, tool: task.toolName };
      const end = await remote.mcp.call(args, {
        signal: call.signal,
        call: { callId, turnId },
        owner,
        trace: traceHeadersOf(task),
        pause: () => this.#pause(call),
        ...reports,
      });
      return call.outcome(end);
    } finally {
      signal?.removeEventListener("abort", cancel);
      this.#running.delete(call);
      this.#deadlines.delete(call);
    }
  }

  #pause(call: RunningCall): () => void {
    const resume = call.pause();
    this.#deadlines.delete(call);
    return () => {
      if (resume() && this.#running.has(call)) this.#deadlines.add(call);
    };
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
  #pauses = 0;
  #pausedAt = 0;
  #pausedMs = 0;

  constructor({ limits }: SandboxTask) {
    this.#limits = limits;
  }

  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** On the clock of `performance.now()`, in ms. */
  get deadline(): number {
    return this.#startedAt + this.#pausedMs + (this.#limits.wallTimeMs ?? REMOTE_DEFAULTS.wallTimeMs);
  }

  /**
   * Stops the wall time. Returns a function that ends this stop, once, and returns whether the time is
   * running again.
   */
  pause(): () => boolean {
    if (this.#pauses++ === 0) this.#pausedAt = performance.now();
    let isPaused = true;
    return () => {
      if (!isPaused) return false;
      isPaused = false;
      if (--this.#pauses > 0) return false;
      this.#pausedMs += performance.now() - this.#pausedAt;
      return true;
    };
  }

  stop(cause: "timeout" | "cancelled"): void {
    this.#cause ??= cause;
    this.#stopping.abort(cause);
  }

  outcome(end: McpCallEnd): SandboxOutcome {
    const { outputBytes = REMOTE_DEFAULTS.outputBytes } = this.#limits;
    const ended: EndOfTask = {
      end,
      cause: this.#cause,
      wallTimeMs: performance.now() - this.#startedAt - this.#pausedMs,
    };
    return outcomeOf(ended, outputBytes);
  }
}

function unavailable(detail: string): SandboxOutcome {
  return { status: "unavailable", effect: "none", used: { wallTimeMs: 0 }, detail };
}

/** Texts of a server become output; figures and log messages are logged. */
function reportsTo(observer: TaskObserver): Pick<McpCallOptions, "onProgress" | "onLog"> {
  if (observer.listening === false) return {};
  let reports = 0;
  return {
    onProgress: ({ progress, total, message }) => {
      if (reports++ >= MAX_REPORTS) return;
      if (typeof message === "string" && message !== "") observer.output(`${message}\n`);
      else observer.log("info", `progress: ${progress}${total === undefined ? "" : ` of ${total}`}`);
    },
    onLog: (level, message) => {
      if (reports++ < MAX_REPORTS) observer.log(level, beginning(message, MAX_LOG));
    },
  };
}

/**
 * Makes the outcome of a call. `metadata.mcp` is the whole result, for gateways.
 *
 * @param outputBytes The most bytes of the result as JSON text.
 */
function outcomeOf({ end, cause, wallTimeMs }: EndOfTask, outputBytes: number): SandboxOutcome {
  const used = { wallTimeMs };
  switch (end.status) {
    case "result":
      return resultOutcome(end.result, wallTimeMs, outputBytes);
    case "error": {
      const effect = end.refused ? "none" : "unknown";
      const message = shorten(end.message, MAX_MESSAGE_BYTES);
      return { status: "failed", effect, used, message, detail: `JSON-RPC error ${end.code}` };
    }
    case "malformed": {
      const { message, detail } = end;
      const failed = { status: "failed", effect: "unknown", used, message, userVisible: true } as const;
      return detail === undefined ? failed : { ...failed, detail };
    }
    case "refused": {
      const { message, detail, waitedMs } = end;
      if (waitedMs !== undefined)
        return {
          status: "unavailable",
          hasWaited: true,
          effect: "none",
          used: { ...used, waitedMs },
          detail,
        };
      const code = "sandbox_unavailable";
      return { status: "failed", code, effect: "none", used, message, userVisible: true, detail };
    }
    case "unavailable":
      return { status: "unavailable", effect: end.sent ? "unknown" : "none", used, detail: end.detail };
    default:
      return end.sent
        ? { status: cause ?? "cancelled", effect: "unknown", used, mayStillRun: true, ended: "requested" }
        : {
            status: cause ?? "cancelled",
            effect: "none",
            used,
            ...(cause === "timeout" && { hasBegun: false }),
          };
  }
}

function resultOutcome(result: JsonObject, wallTimeMs: number, maxBytes: number): SandboxOutcome {
  const outputBytes = Buffer.byteLength(JSON.stringify(result));
  const used = { wallTimeMs, outputBytes };
  const isError = result["isError"] === true;
  // A tool that reports an error may have had an effect.
  const effect = isError ? "unknown" : "committed";
  if (outputBytes > maxBytes) return { status: "limit_exceeded", limit: "outputBytes", effect, used };
  const output = { content: blocksOf(result), success: !isError, metadata: { mcp: result } };
  return { status: "completed", effect, used, output: freezeJson(output as unknown as JsonValue) };
}

/**
 * Makes blocks that a model can be shown of the content of a result (MCP, "ContentBlock"). Other content,
 * such as audio, is mentioned in a line of text. A result with structured content alone becomes its JSON
 * text.
 */
function blocksOf({ content, structuredContent }: JsonObject): readonly ContentBlock[] {
  const blocks = Array.isArray(content) ? content.filter(isJsonObject).map(blockOf) : [];
  if (blocks.length > 0 || structuredContent === undefined) return blocks;
  return [{ type: "text", text: JSON.stringify(structuredContent) }];
}

function blockOf(block: JsonObject): ContentBlock {
  const { type, text, data, mimeType, resource, uri, name } = block;
  if (type === "text" && typeof text === "string") return { type, text };
  if (type === "image" && typeof data === "string" && typeof mimeType === "string") {
    return { type, data, mimeType };
  }
  if (type === "resource" && isJsonObject(resource)) return resourceBlock(resource);
  if (type === "resource_link") return note(`resource ${words(uri)}, ${words(name)}`);
  if (type === "audio" && typeof data === "string")
    return note(`audio, ${words(mimeType)}, ${bytesOf(data)} bytes`);
  return note(`content of the type ${words(type)}, which cannot be shown`);
}

function resourceBlock({ uri, mimeType, text, blob }: JsonObject): ContentBlock {
  if (typeof text === "string") return { type: "text", text };
  if (typeof blob !== "string") return note(`resource ${words(uri)}`);
  if (typeof mimeType === "string" && mimeType.startsWith("image/"))
    return { type: "image", data: blob, mimeType };
  return note(`resource ${words(uri)}, ${words(mimeType)}, ${bytesOf(blob)} bytes`);
}

function note(text: string): ContentBlock {
  return { type: "text", text: `[${text}]` };
}

function words(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "without a name";
}

function bytesOf(base64: string): number {
  return Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
}
