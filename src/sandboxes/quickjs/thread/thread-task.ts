import type { LogBudget } from "../../threads/thread-log.ts";
import type { Snapshot } from "../engine/snapshot.ts";
import type { GuestRequest } from "../guest-request.ts";
import type { ExternalAccess, FileUse } from "./external-access.ts";
import type { GuestProgram } from "./guest.ts";

/** The data that every thread is started with. */
export interface QuickJsThreadData {
  /** The engine, compiled once for the process. */
  readonly engine: WebAssembly.Module;
}

/** A step for a thread to run. */
export interface QuickJsTask {
  readonly step: LoadStep | StartStep | ResumeStep;
  /** The owner of the guest: memory that another owner's guest used is zeroed first. */
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

/** Strips the types from a tool's modules and evaluates them. The result is the template for calls. */
export interface LoadStep {
  readonly kind: "load";
  readonly program: GuestProgram;
  readonly stackBytes: number;
  /** Whether calls that start from the template can be granted files or the network. */
  readonly hasExternalAccess: boolean;
}

/** Starts a call from the tool's template, which is the task's artifact. */
export interface StartStep {
  readonly kind: "start";
  /** The arguments as JSON text. */
  readonly input: string;
  /** The seed of `Math.random`; `undefined` for a random one. */
  readonly randomSeed: string | undefined;
}

/** Resumes a call whose requests have replies. */
export interface ResumeStep {
  readonly kind: "resume";
  readonly guest: Snapshot;
  /** JSON text, as the driver takes it. */
  readonly replies: string;
  /** How many requests have no reply yet. */
  readonly outstanding: number;
}

/** The thread's answer to a step. */
export type QuickJsAnswer = {
  /** The size of the linear memory at the end, in bytes. */
  readonly memoryBytes: number;
  /** Whether the guest tried to exceed its memory cap. */
  readonly hitMemoryCap: boolean;
  /** The rest of the log budget. */
  readonly log: LogBudget;
  /** What the call did with files so far; `undefined` if it is granted none. */
  readonly files: FileUse | undefined;
} & QuickJsEnd;

/** How a step ended. */
export type QuickJsEnd =
  /** The driver's text: `+` and the output as JSON, or `-` and the failure as JSON. */
  | { readonly status: "text"; readonly text: string }
  | { readonly status: "output_exceeded"; readonly outputBytes: number }
  | { readonly status: "timeout" }
  /** The guest awaits a promise that can never settle. */
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

/** How many nested calls a guest may make. */
export interface NestedAllowance {
  /** The remaining number of calls. */
  readonly left: number;
  /** The total number of calls, for messages; 0 if the grant gives no tools. */
  readonly granted: number;
}
