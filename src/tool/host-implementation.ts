import type { JsonValue } from "../json/value.ts";
import type { LogLevel } from "./log-level.ts";

/** What a host function gets beside its input. Each member works by itself: `(input, { signal, onOutput }) => …`. */
export interface HostContext {
  readonly callId: string;
  readonly sessionId: string;
  readonly toolName: string;
  /** Aborted when the call is cancelled or its deadline passes. Whoever waits should listen to it. */
  readonly signal: AbortSignal;
  /** Writes to the event stream (`tool.log`); the model never sees it. */
  readonly logger: HostLogger;
  /** Streams a piece of output to the event stream (`tool.output`). It counts against the output budget. */
  readonly onOutput: (chunk: string) => void;
  /** Whatever the embedder put into `DispatchContext.embedder`, untouched. */
  readonly embedder: unknown;
}

/** The logger of a host tool: one method for each level. */
export type HostLogger = { readonly [Level in LogLevel]: (message: string) => void };

/**
 * A tool as a function in this process. It returns (or resolves to) any JSON value or a
 * {@link ContentOutput}; what it throws becomes the failure that the model reads.
 */
export type HostFunction<Input = never> = (input: Input, context: HostContext) => unknown;

/** A tool as an object made for one call. */
export interface HostInstance<Input = never> {
  /** Runs the call. */
  execute(input: Input, context: HostContext): unknown;
  /** Ends the work; called at most once per cause, must be idempotent. Resolves to whether it has ended. */
  cancel(): Promise<boolean>;
}

/** Makes a fresh {@link HostInstance} for each call; one that it returned before is refused. */
export interface HostFactory<Input = never> {
  create(): HostInstance<Input>;
}

/** A tool that runs in this process. It is trusted: nothing confines it. */
export type HostImplementation<Input = never> = HostFunction<Input> | HostFactory<Input>;

/**
 * A tool that runs in a thread of the pool, for work that keeps a CPU busy. It is trusted with everything
 * that this process may do; the thread is there so that a deadline can end it.
 */
export interface HostModule {
  /** The ES module: an absolute path or a `file:` URL. */
  readonly module: string | URL;
  /** The name of the exported `(input, context) => output`. Default: `"default"`. */
  readonly export?: string;
}

/** What a function in a worker thread gets beside its input. The deadline ends its thread: no signal. */
export type HostModuleContext = Omit<HostContext, "signal" | "embedder">;

/** A tool's function in a worker thread. */
export type HostModuleFunction = (input: JsonValue, context: HostModuleContext) => unknown;
