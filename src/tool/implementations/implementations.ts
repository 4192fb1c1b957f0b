import type { JsonValue } from "../../json/value.ts";
import type { Principal } from "../principal.ts";
import type { Ask } from "../question.ts";
import { SANDBOX_MODES, type SandboxMode } from "../sandbox-mode.ts";
import type { Display, LogLevel } from "../streamed.ts";
import type { AgentInfo, KernelChecks } from "../supervised-agent.ts";
import type { ToolTraits } from "../tool-traits.ts";
import type { WorkspaceFiles } from "../workspace-files.ts";
import type { MicrovmImplementation, ProcessImplementation } from "./process-implementation.ts";
import type { RemoteImplementation } from "./remote-implementation.ts";

/**
 * A tool's implementations, one for each sandbox in which it can run.
 *
 * @typeParam Input The type of the arguments that functions take.
 * @typeParam Embedder The type of the `embedder` that the host function needs. Default: any.
 */
export interface ToolImplementations<Input = never, Embedder = unknown> {
  readonly host?: HostImplementation<Input, Embedder>;
  readonly wasm?: WasmImplementation;
  readonly quickjs?: QuickJsImplementation;
  readonly process?: ProcessImplementation<Input>;
  readonly microvm?: MicrovmImplementation;
  readonly remote?: RemoteImplementation;
}

/** A tool, as sandboxes get to know it: its implementations, and what they declare about themselves. */
export interface SandboxedTool
  extends ToolImplementations<never, never>,
    Pick<ToolTraits, "usesFiles" | "logFileAccess" | "paths" | "sideEffects"> {}

/** Whether the files that a tool's host implementation opens without `context.files` are logged. */
export function logsFileAccess({ logFileAccess, paths, usesFiles }: SandboxedTool): boolean {
  return logFileAccess ?? (!usesFiles && paths !== undefined && paths.length > 0);
}

/** The sandboxes in which a tool with these implementations can run. */
export function sandboxesOf(implementations: ToolImplementations<never, never>): readonly SandboxMode[] {
  return Object.freeze(SANDBOX_MODES.filter((mode) => implementations[mode] !== undefined));
}

/**
 * A tool that runs on the host: a function or a factory in this process, or a module in a worker thread. It is trusted
 * with everything that this process can do.
 */
export type HostImplementation<Input = never, Embedder = unknown> =
  | HostFunction<Input, Embedder>
  | HostFactory<Input, Embedder>
  | HostModule;

/**
 * A tool as a function in this process. It returns or resolves to any JSON value or a {@link ContentOutput}. The
 * message of an error that it throws becomes the text of the failure.
 */
export type HostFunction<Input = never, Embedder = unknown> = (
  input: Input,
  context: HostContext<Embedder>,
) => unknown;

/**
 * The second argument of a host function. It can be destructured: `(input, { signal, onOutput }) => …`.
 *
 * @typeParam Embedder The type of the `embedder` that the function needs. Default: any.
 */
export interface HostContext<Embedder = unknown> {
  readonly callId: string;
  readonly sessionId: string;
  readonly toolName: string;
  /** The caller, frozen; absent if the context does not name one. */
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
  /** The supervised agent that calls; absent if no such agent makes the call. */
  readonly agent?: AgentInfo | undefined;
  /** Checks the agent's capabilities for what no argument names; absent if `agent` is. */
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
 * A tool as a function of a WebAssembly component. It is not trusted. Without `export`, the component implements the
 * world `sandgate:tool` (see `wit/tool.wit`). With `export`, it can be any component, and the tool's input is an object
 * with a member for each parameter of the function; `componentTools` derives its schema.
 */
export interface WasmImplementation {
  /** The component, as the path or `file:` URL of its file, or as its bytes. */
  readonly component: string | URL | Uint8Array;
  /** The tool's name within a component of the world `sandgate:tool`. Default: the name of the tool. */
  readonly tool?: string;
  /** The exported function: `name` or `interface#name`, such as `docs:adder/add@0.1.0#add`. */
  readonly export?: string;
  /**
   * `"jco"` runs the component with the JavaScript that jco generates from it, which is only for components that are
   * trusted (see SECURITY.md). Its functions may take resources. A call needs the capability `engine: "jco"`. Default:
   * Sandgate's own engine, which is for any component.
   */
  readonly engine?: "jco";
}

/**
 * A tool as an ES module of JavaScript or TypeScript that runs in QuickJS. It is not trusted. The exported function gets
 * the input and returns or resolves to any JSON value. See docs/javascript-tools.md.
 */
export type QuickJsImplementation = QuickJsSource | QuickJsFile;

/** A tool given as the text of its module, which cannot import other modules. */
interface QuickJsSource {
  /** The text of the module. */
  readonly source: string;
  /** The name of the exported function. Default: `"default"`. */
  readonly export?: string;
  /** Where the arguments have code from which types are removed before the function gets it. Default: nowhere. */
  readonly typedCode?: TypedCode;
}

/** Where arguments have code with types. */
export interface TypedCode {
  /** The member with the body of an asynchronous function. */
  readonly code: string;
  /** The member that is `"ts"` if the code has types. */
  readonly language: string;
}

/** A tool given as the file of its module, which is read when the tool is first prepared. */
interface QuickJsFile {
  /** An absolute path or a `file:` URL. */
  readonly file: string | URL;
  /** The name of the exported function. Default: `"default"`. */
  readonly export?: string;
}

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
 * A function of an ES module that runs in a worker thread of the pool: for CPU-bound work, which a deadline
 * can end only in a thread. A thread runs one call at a time, even while that only waits: use a function in
 * this process for what waits for a server or a disk. Each thread imports the module once, so module state is
 * neither fresh for each call nor shared by all calls.
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

/** Whether a host tool is a module, which runs in a worker thread. */
export function isHostModule(host: HostImplementation<never, never> | undefined): host is HostModule {
  return typeof host === "object" && "module" in host && host.module !== undefined;
}
