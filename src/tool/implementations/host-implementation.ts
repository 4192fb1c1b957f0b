import type { JsonValue } from "../../json/value.ts";
import type { Display } from "../display.ts";
import type { LogLevel } from "../log-level.ts";
import type { Principal } from "../principal.ts";
import type { Ask } from "../questions/question.ts";
import type { AgentInfo, KernelChecks } from "../supervised-agent.ts";
import type { WorkspaceFiles } from "../workspace-files.ts";

/**
 * The second argument of a host function. It can be destructured: `(input, { signal, onOutput }) => …`.
 *
 * @typeParam Embedder The type of the `embedder` that the function needs. Default: any.
 */
export interface HostContext<Embedder = unknown> {
  readonly callId: string;
  readonly sessionId: string;
  readonly toolName: string;
  /** Who calls, frozen; absent if the context does not say. */
  readonly principal?: Principal | undefined;
  /** Aborted if the call is cancelled or exceeds its wall time. Pass it to whatever the function waits for. */
  readonly signal: AbortSignal;
  /** Writes to the event stream (`tool.log`). The model never sees it. */
  readonly logger: HostLogger;
  /** Writes a piece of output to the event stream (`tool.output`). It counts towards the limit `outputBytes`. */
  readonly onOutput: (chunk: string) => void;
  /** Shows something to people: the event `tool.display`. Throws a `TypeError` if it is invalid. */
  readonly display: (display: Display) => void;
  /** The turn of the conversation, if the context says so. */
  readonly turnId?: string | undefined;
  /** The assistant message within its turn, if the context says so. */
  readonly messageId?: string | undefined;
  /** The absolute path of the session's workspace, if it has one. */
  readonly workspace?: string | undefined;
  /** The files that the call was granted, if the tool declares `usesFiles` and the grant has `fs`. */
  readonly files?: WorkspaceFiles | undefined;
  /** Asks a person: see {@link Ask}. */
  readonly ask: Ask;
  /** The runtime that resumes the call after a crash, if there is one. Nothing provides it yet. */
  readonly runtime?: undefined;
  /**
   * Identifies the call for systems that must not act twice: the same each time the call is run again after a lost process.
   * Absent unless the tool declares `idempotent`, and the context gives a key, as durable dispatch does, or a tool makes the
   * call in a context with a `messageId`, as sessions do.
   */
  readonly idempotencyKey?: string | undefined;
  /**
   * The characters (UTF-16 code units) that the model reads of the result: of a longer one, it reads the beginning and the
   * end. An output that is no text counts as JSON. A tool that pages ends a page within it. Absent for a nested call, whose
   * result the calling tool reads whole.
   */
  readonly resultChars?: number | undefined;
  /** The supervised agent that calls; absent if the call is none of such an agent. */
  readonly agent?: AgentInfo | undefined;
  /** What the agent may have done for it, to ask about what no argument names; absent if `agent` is. */
  readonly kernel?: KernelChecks | undefined;
  /**
   * Whether a tool exists for the session, and may be called: by the tool that makes this call, or else by the model. The
   * policy decides on each call itself. Absent unless the tool declares `searchesTools`.
   */
  readonly canCall?: ((name: string) => boolean) | undefined;
  /** The value of `DispatchContext.embedder`. */
  readonly embedder: Embedder;
}

/** The logger of a host tool, with one method for each level. */
export type HostLogger = { readonly [Level in LogLevel]: (message: string) => void };

/**
 * A tool as a function in this process. It returns or resolves to any JSON value or a {@link ContentOutput}. The
 * message of an error that it throws becomes the text of the failure.
 */
export type HostFunction<Input = never, Embedder = unknown> = (
  input: Input,
  context: HostContext<Embedder>,
) => unknown;

/** A tool as an object that is created for one call. */
export interface HostInstance<Input = never, Embedder = unknown> {
  /** Runs the call. */
  execute(input: Input, context: HostContext<Embedder>): unknown;
  /** Ends the work. Called at most once per cause; must be idempotent. Resolves to whether the work has ended. */
  cancel(): Promise<boolean>;
}

/** Creates a new {@link HostInstance} for each call. Calls fail if it returns an instance twice. */
export interface HostFactory<Input = never, Embedder = unknown> {
  create(): HostInstance<Input, Embedder>;
}

/**
 * A function of an ES module that runs in a worker thread of the pool: for work that keeps a CPU busy, which a deadline
 * can end only in a thread. A thread runs one call at a time, also while that only waits: use a function in this process for
 * what waits for a server or a disk. Each thread imports the module once, so module state is neither fresh for each call nor
 * shared by all calls.
 */
export interface HostModule {
  /** The ES module: an absolute path or a `file:` URL. */
  readonly module: string | URL;
  /** The name of the exported {@link HostModuleFunction}. Default: `"default"`. */
  readonly export?: string;
}

/**
 * The second argument of the function of a {@link HostModule}. There is no `signal`: its deadline ends the thread. Nor can
 * it ask anybody, display anything, or know the supervised agent.
 */
export type HostModuleContext = Omit<
  HostContext,
  "signal" | "embedder" | "ask" | "display" | "messageId" | "agent" | "kernel" | "canCall"
>;

/** The function of a {@link HostModule}. Its output is the same as that of a {@link HostFunction}. */
export type HostModuleFunction = (input: JsonValue, context: HostModuleContext) => unknown;

/**
 * A tool that runs on the host: a function or a factory in this process, or a module in a worker thread. It is trusted
 * with everything that this process can do.
 */
export type HostImplementation<Input = never, Embedder = unknown> =
  | HostFunction<Input, Embedder>
  | HostFactory<Input, Embedder>
  | HostModule;

/** Whether a host tool is a module, which runs in a worker thread. */
export function isHostModule(host: HostImplementation<never, never> | undefined): host is HostModule {
  return typeof host === "object" && "module" in host && host.module !== undefined;
}
