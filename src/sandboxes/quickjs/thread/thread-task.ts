import type { TypedCode } from "../../../tool/implementations/implementations.ts";
import { type ToolFailureCode, toolFailureCode } from "../../../tool/tool-failure.ts";
import type { ServiceError, ServiceRequest } from "../../guest-services/service-request.ts";
import type { PoolOutcome } from "../../threads/pool-task.ts";
import type { LogBudget } from "../../threads/thread-message.ts";
import { DRIVER_NAME } from "../driver/driver.ts";
import type { Snapshot, SuspendedGuest } from "../engine/suspended-guest.ts";
import type { Positions } from "../source-maps.ts";
import type { ExternalAccess, FileUse } from "./external-access.ts";
import type { GuestProgram } from "./guest-program.ts";

/**
 * What a thread needs to start calls of a tool. The engine comes with it, not with the thread: threads start while the
 * engine is compiled.
 */
export interface QuickJsArtifact {
  /** The engine, compiled once for the process. */
  readonly engine: WebAssembly.Module;
  readonly template: Snapshot;
  /** Where the arguments have code with types. Absent if they have none. */
  readonly typedCode?: TypedCode | undefined;
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
  /** `undefined` if the call is granted neither files nor the network, and while a template is loaded. */
  readonly access: ExternalAccess | undefined;
  /** The names of the tools that the guest can call, as JSON text; `undefined` if it may not list them. */
  readonly toolNames: string | undefined;
  /** The constant time of the guest's clock, in ms since the epoch; `undefined` for the current time. */
  readonly frozenClock: number | undefined;
}

/** Strips the types from a tool's modules and evaluates them. The result is the template for calls. */
export interface LoadStep {
  readonly kind: "load";
  readonly engine: WebAssembly.Module;
  /** TypeScript modules still have their types. */
  readonly program: GuestProgram;
  readonly stackBytes: number;
}

/** Starts a call from the tool's template, which is the task's artifact. */
export interface StartStep {
  readonly kind: "start";
  /** The arguments as JSON text. */
  readonly input: string;
  /** The state of `Math.random`. */
  readonly randomState: bigint;
}

/** Resumes a call whose requests have replies, or, without replies, one whose first timer is due. */
export interface ResumeStep {
  readonly kind: "resume";
  /** The suspended guest. It started from the task's artifact, the tool's template. */
  readonly guest: SuspendedGuest;
  readonly replies: readonly WireReply[];
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
  /** What the call did with files so far; `undefined` if it is granted no files. */
  readonly files: FileUse | undefined;
} & QuickJsEnd;

/** How a step ended. */
export type QuickJsEnd =
  /** With an output, as JSON text. */
  | { readonly status: "returned"; readonly text: string }
  /** The tool threw, or returned an output that is refused. `detail` is for the operator. */
  | ({ readonly status: "failed" } & GuestFailure)
  | { readonly status: "output_exceeded"; readonly outputBytes: number }
  /** `detail` has the guest's stack at its deadline, if it was interrupted. */
  | { readonly status: "timeout"; readonly detail?: string }
  /** The guest awaits a promise that can never settle. */
  | { readonly status: "stalled" }
  /**
   * The guest waits for replies to these requests and to earlier ones, or for its first timer, and needs no thread
   * until then.
   */
  | {
      readonly status: "waiting";
      readonly guest: SuspendedGuest;
      readonly requests: readonly GuestRequest[];
      /** Milliseconds until the timer is due; `undefined` if there is none. */
      readonly wakeMs: number | undefined;
    }
  /** `positions`: where the code was written, if the modules have source maps. */
  | { readonly status: "loaded"; readonly template: Snapshot; readonly positions?: Positions | undefined }
  /** A module imports a file that the program does not have yet. */
  | ({ readonly status: "needs_module" } & MissingModule)
  /** The types of a TypeScript module cannot be removed. */
  | { readonly status: "invalid_types"; readonly module: string; readonly message: string }
  | { /** The engine broke. */ readonly status: "broken"; readonly detail: string };

/** A request of a guest. The guest chose the id; it only assigns the reply. */
export type GuestRequest = ServiceRequest & { readonly id: number };

/** The reply to the request with this id, in the driver's format. An error is thrown in the guest. */
export type GuestReply = { readonly id: number } & (
  | { readonly ok: unknown }
  | { readonly error: ServiceError }
);

/**
 * A reply as it is sent to a thread: as JSON text, or as it is if the thread is to write the text. Writing a response
 * of 8 MiB takes up to 90 ms.
 */
export type WireReply = GuestReply | string;

/** An imported module that the program does not contain. */
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

/**
 * A step as it is sent to a thread. It is an array, because cloning the keys of an object would take longer than
 * cloning the values. The first step of a call is represented by its input.
 */
export type WireTask = readonly [...BareTask, access?: ExternalAccess | undefined, toolNames?: string];

/** A step of a call that is granted neither files nor the network. */
type BareTask = readonly [
  step: string | QuickJsTask["step"],
  owner: string,
  wallTimeMs: number,
  memoryBytes: number,
  outputBytes: number,
  logLines: number,
  logBytes: number,
  nestedLeft: number,
  nestedGranted: number,
  frozenClock: number | undefined,
  randomState: bigint | undefined,
];

/** An answer as it is sent back. An output is represented by its text. */
export type WireAnswer = readonly [...BareAnswer, files?: FileUse];

type BareAnswer = readonly [
  end: string | QuickJsEnd,
  memoryBytes: number,
  hitMemoryCap: boolean,
  logLines: number,
  logBytes: number,
];

export function encodeTask(task: QuickJsTask): WireTask {
  const { step, owner, wallTimeMs, memoryBytes, outputBytes, log, nested, access, frozenClock, toolNames } =
    task;
  const isStart = step.kind === "start";
  const wire: BareTask = [
    isStart ? step.input : step,
    owner,
    wallTimeMs,
    memoryBytes,
    outputBytes,
    log.lines,
    log.bytes,
    nested.left,
    nested.granted,
    frozenClock,
    isStart ? step.randomState : undefined,
  ];
  if (toolNames !== undefined) return [...wire, access, toolNames];
  return access === undefined ? wire : [...wire, access];
}

export function decodeTask(wire: WireTask): QuickJsTask {
  const [step, owner, wallTimeMs, memoryBytes, outputBytes, lines, bytes, left, granted] = wire;
  const { 9: frozenClock, 10: randomState = 1n, 11: access, 12: toolNames } = wire;
  return {
    step: typeof step === "string" ? { kind: "start", input: step, randomState } : step,
    owner,
    wallTimeMs,
    memoryBytes,
    outputBytes,
    log: { lines, bytes },
    nested: { left, granted },
    access,
    frozenClock,
    toolNames,
  };
}

export function encodeAnswer(
  end: QuickJsEnd,
  { memoryBytes, hitMemoryCap, log, files }: Omit<QuickJsAnswer, keyof QuickJsEnd>,
): WireAnswer {
  const text = end.status === "returned" ? end.text : end;
  const wire: BareAnswer = [text, memoryBytes, hitMemoryCap, log.lines, log.bytes];
  return files === undefined ? wire : [...wire, files];
}

/** Decodes the outcome of a step in a thread. */
export function decodeOutcome(outcome: PoolOutcome<WireAnswer>): PoolOutcome<QuickJsAnswer> {
  if (outcome.status !== "returned") return outcome;
  return { ...outcome, result: decodeAnswer(outcome.result) };
}

function decodeAnswer([end, memoryBytes, hitMemoryCap, lines, bytes, files]: WireAnswer): QuickJsAnswer {
  const measured = { memoryBytes, hitMemoryCap, log: { lines, bytes }, files };
  return typeof end === "string" ? { status: "returned", text: end, ...measured } : { ...end, ...measured };
}

/** Maximum number of errors that are reported with one: its causes, and the errors of an `AggregateError`. */
const MAX_RELATED = 8;

/**
 * The longest text in which the driver can report a failure: four strings of 8,192 characters, and two of 2,048 and
 * short ones for each related error, all written as `\uXXXX`.
 */
const MAX_LENGTH: number = (4 * 8_192 + MAX_RELATED * (2 * 2_048 + 256)) * 6 + 64;

/** A guest's failure, as reported by the driver. Untrusted: the guest can make the driver report anything. */
interface GuestFailure {
  readonly message: string;
  /** Name, message and the guest's stack, for the operator. */
  readonly detail: string;
  /** The `code` of the thrown object, if it is one that a tool can give. */
  readonly code?: ToolFailureCode;
  /** Whether the message can be shown to users: it is Sandgate's own, or its object has such a code. */
  readonly userVisible: boolean;
}

/** Parses the driver's `[name, message, stack, code, ...related]`. Anything else becomes a failure without a message. */
export function readGuestFailure(text: string): GuestFailure {
  const [name = "", message = "", stack = "", given = "", ...related] = parseStrings(text);
  const code = toolFailureCode(given);
  const detail = [`${name}: ${message}`, ...[stack, ...related].flatMap(guestLines)].join("\n");
  return { message, detail, code, userVisible: code === given };
}

/** Returns the lines of a stack without those of the driver, which do not help the tool's author. */
export function guestLines(stack: string): readonly string[] {
  return stack.split("\n").filter((line) => line.trim() !== "" && !line.includes(DRIVER_NAME));
}

function parseStrings(text: string): readonly string[] {
  if (text.length > MAX_LENGTH) return [];
  try {
    const parts: unknown = JSON.parse(text);
    return Array.isArray(parts)
      ? parts.slice(0, 4 + MAX_RELATED).map((part) => (typeof part === "string" ? part : ""))
      : [];
  } catch {
    return [];
  }
}
