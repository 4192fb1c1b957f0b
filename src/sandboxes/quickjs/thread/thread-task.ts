import type { LogBudget } from "../../threads/thread-log.ts";
import type { Snapshot } from "../engine/snapshot.ts";
import type { GuestRequest } from "../guest-request.ts";
import type { ExternalAccess, FileUse } from "./external-access.ts";
import type { GuestProgram } from "./guest.ts";

/** What every thread is started with. */
export interface QuickJsThreadData {
  /** The engine, compiled once for the process. */
  readonly engine: WebAssembly.Module;
}

/** What the thread is told to do. */
export interface QuickJsTask {
  readonly step: LoadStep | StartStep | ResumeStep;
  /** Whose guest it is: another one's memory is zeroed first. */
  readonly owner: string;
  readonly wallTimeMs: number;
  readonly memoryBytes: number;
  readonly outputBytes: number;
  readonly log: LogBudget;
  readonly nested: NestedAllowance;
  /** `undefined` for most calls, and for every template. */
  readonly outside: ExternalAccess | undefined;
  /** The one time that the guest's clock shows; `undefined` for the true time. */
  readonly frozenClock: number | undefined;
}

/** Evaluates a tool's modules, for all calls to come. */
export interface LoadStep {
  readonly kind: "load";
  readonly program: GuestProgram;
  readonly stackBytes: number;
  /** Whether calls are to start from it that are granted something of the world outside. */
  readonly hasExternalAccess: boolean;
}

/** Begins a call, from the tool's template: the task's artifact. */
export interface StartStep {
  readonly kind: "start";
  /** JSON text. */
  readonly input: string;
  /** What its random numbers are made of; `undefined` for chance. */
  readonly randomSeed: string | undefined;
}

/** Goes on with a call whose requests have replies. */
export interface ResumeStep {
  readonly kind: "resume";
  readonly guest: Snapshot;
  /** JSON text, as the driver takes it. */
  readonly replies: string;
  /** How many requests have no reply yet. */
  readonly outstanding: number;
}

/** What the thread answers. */
export type QuickJsAnswer = {
  /** Bytes of linear memory at the end. */
  readonly memoryBytes: number;
  /** Whether the guest wanted more memory than its cap. */
  readonly hitMemoryCap: boolean;
  /** What is left of the log's budget. */
  readonly log: LogBudget;
  /** What the call did with files so far; `undefined` where it was granted none. */
  readonly files: FileUse | undefined;
} & QuickJsEnd;

/** How a step ended. */
export type QuickJsEnd =
  /** What the driver says: `+` and the output's JSON, or `-` and the failure's. */
  | { readonly status: "text"; readonly text: string }
  | { readonly status: "output_exceeded"; readonly outputBytes: number }
  | { readonly status: "timeout" }
  /** It awaits what nothing can bring. */
  | { readonly status: "stalled" }
  /** It awaits what it asked for: these, and earlier ones. Until then it needs no thread. */
  | { readonly status: "waiting"; readonly guest: Snapshot; readonly requests: readonly GuestRequest[] }
  | { readonly status: "loaded"; readonly template: Snapshot }
  /** A module imports a file that the program does not have yet. */
  | ({ readonly status: "needs_module" } & MissingModule)
  | { /** The engine broke. */ readonly status: "broken"; readonly detail: string };

/** A module that was imported and is not there. */
export interface MissingModule {
  readonly name: string;
  /** The module that imports it. */
  readonly importer: string;
}

/** Which calls of other tools the guest may ask for. */
export interface NestedAllowance {
  /** How many more calls it may make. */
  readonly left: number;
  /** How many it may make in all, for messages; 0 when it may make none. */
  readonly granted: number;
}
