import { performance } from "node:perf_hooks";
import { describeThrown } from "../../base/thrown.ts";
import { type Changes, toChanges } from "../../tool/changes.ts";
import type { ProcessImplementation } from "../../tool/implementations/process-implementation.ts";
import type { Isolation } from "../../tool/sandbox-mode.ts";
import { FileFailure, shownPath, ToolFailure, WorkspaceEscapeError } from "../../tool/tool-failure.ts";
import { DirectorySnapshot, type SnapshotPlace } from "../../workspace/directory-snapshot.ts";
import type { MadePlaces } from "../../workspace/protected-watch.ts";
import { DirectoryGrantError } from "../../workspace/root.ts";
import { readThrown } from "../contract/failure.ts";
import type { ResourceUse, SandboxOutcome } from "../contract/outcome.ts";
import { type CheckedOutput, outcomeOf } from "../contract/output.ts";
import type { SandboxTask, TaskObserver } from "../contract/sandbox.ts";
import type { CallNetwork } from "./call-network.ts";
import type { Cgroup } from "./cgroups.ts";
import {
  type GrantedFiles,
  type Launched,
  type Launcher,
  NO_DIRECTORY,
  OUTSIDE,
  STARTED,
} from "./launcher.ts";
import type { Program } from "./program.ts";
import { type EarlyEndCause, endedEarly } from "./program-end.ts";
import type { ProgramOutput } from "./program-output.ts";

/** The exit code for a program that was ended for its CPU time: 128 + SIGXCPU. */
const CPU_TIME_EXCEEDED = 152;

/** The message for a started program if an internal error hides its end. */
const LOST = "The program was started, but how it ended could not be found out";

/**
 * The message for a program that ended by itself, while other processes that it had started could not be
 * ended in time.
 */
const NOT_ALL_ENDED = "The program ended, but not all processes that it started could be ended yet";

/** What programs say of a filter's ENETDOWN, and of names that they could not look up. */
const NO_NETWORK =
  /ENETDOWN|Network is down|EAI_AGAIN|Temporary failure in name resolution|Could not resolve|\[Errno 100\]/;

const NOT_GRANTED =
  "The program tried to reach the network, and this call is granted none besides a loopback interface of its own: if it needs one, " +
  "ask the user to grant this tool 'net' with the origins to reach, such as https://registry.npmjs.org";

const PAST_PROXY =
  "The program tried to reach the network past its proxy, which is the only way there, to the origins that 'net' grants: " +
  "have it use http_proxy and https_proxy";

const NO_LOOPBACK =
  "Programs have no network here, not even loopback: Landlock cannot keep one apart from this machine's. " +
  "If this program needs one, ask the user to install bubblewrap";

/** Why a program was stopped. */
export type StopCause = "timeout" | "cancelled" | "outputBytes" | "memory" | "exposed" | EarlyEndCause;

/**
 * The message of a program that was ended, since it could have read or changed one of Sandgate's own files.
 */
export function exposedText(path: string): string {
  return `The program was ended: '${path}', one of Sandgate's own files, was created or replaced while it ran, and could no longer be hidden from it. Run it again`;
}

/** What the model reads about a program that tried to reach the network. */
export function networkNotes(
  isolation: Isolation,
  launched: Launched,
  output: ProgramOutput,
  hasProxy: boolean,
): readonly string[] {
  if (isolation === "landlock") return output.says(NO_NETWORK) ? [NO_LOOPBACK] : [];
  if (launched.hasTriedNetwork !== true) return [];
  return [hasProxy ? PAST_PROXY : NOT_GRANTED];
}

/** A program, or a command of a persistent shell, that has ended or was stopped. */
export interface EndedProgram {
  readonly task: SandboxTask;
  readonly program: Program;
  readonly launched: Launched;
  readonly launcher: Launcher;
  readonly files: GrantedFiles;
  readonly cgroup?: Cgroup | undefined;
  /** Absent if the grant has no `net`. */
  readonly network?: CallNetwork | undefined;
  readonly output: ProgramOutput;
  /** A reading of `performance.now`. */
  readonly startedAt: number;
  /** Absent if it was not stopped. */
  readonly cause?: StopCause | undefined;
  /** Which of Sandgate's own files it could have reached. */
  readonly exposed?: string | undefined;
  /** The exit code; `undefined` if its processes have not ended. */
  readonly code: number | undefined;
  /** Notes for the model, in addition to what the program wrote. */
  readonly notes: readonly string[];
}

/** Returns the outcome of a call whose program has ended. */
export function outcomeOfProgram(ended: EndedProgram): SandboxOutcome {
  const { task, program, launched, launcher, files, cgroup, network, output, cause, code } = ended;
  const { isolation } = launcher;
  const memoryBytes = cgroup?.peakBytes;
  const traffic = network?.traffic;
  const used: ResourceUse = {
    wallTimeMs: performance.now() - ended.startedAt,
    ...output.used,
    ...(memoryBytes !== undefined && { memoryBytes }),
    ...traffic,
  };
  // Of a program that could not be ended, the sign that it began can come later.
  const mayHaveBegun = code === undefined || launched.startOutput.startsWith(STARTED);
  // What a program sends through a tunnel is not known.
  const mayChange = files.isWritable || traffic !== undefined;
  const effect = mayHaveBegun && mayChange ? "unknown" : "none";
  const alive = code === undefined ? ({ mayStillRun: true, ended: "requested" } as const) : {};
  const base = { effect, used, isolation, ...alive } as const;
  if (cause === "outputBytes") return { status: "limit_exceeded", limit: "outputBytes", ...base };
  if (cause === "memory")
    return { status: "limit_exceeded", limit: "outputBytes", message: output.refusal, ...base };
  if (cause === "exposed")
    return {
      status: "failed",
      message: exposedText(shownPath(ended.exposed ?? "")),
      userVisible: true,
      ...base,
    };
  if ((cause === "timeout" || cause === "late") && !mayHaveBegun)
    return { status: "timeout", hasBegun: false, ...base };
  if (cause !== undefined && !endedEarly(cause)) return { status: cause, ...base };
  if (cgroup?.ranOutOfMemory) return { status: "limit_exceeded", limit: "memoryBytes", ...base };
  const refusal = directoryProblem(launched.startOutput, program.cwd);
  if (refusal !== undefined) return { ...failedStart(refusal), used, isolation };
  if (!mayHaveBegun) return { status: "unavailable", ...base, detail: launched.problem ?? output.lastLines };
  if (code === CPU_TIME_EXCEEDED && task.limits.cpuMs !== undefined)
    return { status: "limit_exceeded", limit: "cpuMs", ...base };
  if (code === undefined) return { status: "failed", message: NOT_ALL_ENDED, ...base };
  let checked: CheckedOutput;
  try {
    checked = output.check(code, ended.notes.length === 0 ? undefined : ended.notes.join(". "));
  } catch (error) {
    return { ...failedStart(error), effect, used, isolation };
  }
  return checked.status === "failed" && code !== 0
    ? { status: "failed", message: checked.message, ...base }
    : { ...outcomeOf(checked, effect, used), isolation };
}

/** The outcome of a call whose program was launched, if an internal error hides its end. */
export function lostProgram(thrown: unknown, startedAt: number): SandboxOutcome {
  return {
    status: "failed",
    message: LOST,
    userVisible: true,
    effect: "unknown",
    used: { wallTimeMs: performance.now() - startedAt },
    mayStillRun: true,
    ended: "unknown",
    detail: describeThrown(thrown).detail,
  };
}

/** Why a program did not begin in its directory, by what the start script wrote; `undefined` if it did. */
function directoryProblem(output: string, cwd = ""): Error | undefined {
  if (output.startsWith(OUTSIDE)) return new WorkspaceEscapeError(cwd);
  if (!output.startsWith(NO_DIRECTORY)) return undefined;
  return new FileFailure("no-entry", `There is no directory '${shownPath(cwd)}'`);
}

/**
 * Moves aside what the program made where other programs would run or follow it: what was not there could not be covered.
 * Never rejects: whatever the program made of its directories, its call has ended.
 *
 * @returns What the model reads about it.
 */
export async function moveProtectedAside(
  { observer }: SandboxTask,
  files: GrantedFiles,
): Promise<readonly string[]> {
  try {
    const texts = madeTexts(await files.moveAside(), shownPath);
    for (const text of texts) observer.log("warn", text);
    return texts;
  } catch (error) {
    const why = (error as Error).message;
    observer.log("warn", `It is not known whether the program made what other programs run: ${why}`);
    return [];
  }
}

/**
 * What an operator and the model read about the protected places that a program made.
 *
 * @param show Shows a path. Default: as it is.
 */
export function madeTexts(
  { places, isComplete }: MadePlaces,
  show: (path: string) => string = (path) => path,
): readonly string[] {
  const texts = places.slice(0, MAX_NAMED).map(({ path, movedTo }) => madeText(show(path), movedTo));
  const others = places.slice(MAX_NAMED);
  const left = others.filter(({ movedTo }) => movedTo === undefined).length;
  if (others.length > 0)
    texts.push(
      `The program made ${others.length} more of these, of which ${left === 0 ? "all were moved" : `${left} could not be moved`}`,
    );
  return isComplete ? texts : [...texts, NOT_SEARCHED];
}

/** How many of the places that a program made are named. */
const MAX_NAMED = 20;

const NOT_SEARCHED =
  "There are more directories, or more files that other programs run, than are looked at after a call: whether the program made others is not known";

function madeText(path: string, movedTo: string | undefined): string {
  const made = `The program made '${path}', which other programs run or are configured by`;
  return movedTo === undefined
    ? `${made}: it could not be moved aside`
    : `${made}: it was moved to '${movedTo}'`;
}

/** The outcome of a call whose program did not start, since this was thrown. */
export function failedStart(thrown: unknown): SandboxOutcome {
  return { status: "failed", ...readThrown(thrown), effect: "none", used: { wallTimeMs: 0 } };
}

/** The outcome of a call whose program could not be given its files, or not be launched. Only what the model can act on reaches it. */
export function unavailableStart(thrown: unknown): SandboxOutcome {
  const { detail } = describeThrown(thrown);
  if (thrown instanceof DirectoryGrantError && thrown.modelText !== undefined)
    return { ...failedStart(new ToolFailure("permission_denied", thrown.modelText)), detail };
  return { status: "unavailable", effect: "none", used: { wallTimeMs: 0 }, detail };
}

/** Finds out what a program changes in the places that it can write to. */
export class ProgramChanges {
  readonly #isWanted: boolean;
  readonly #program: Program;
  readonly #places: readonly SnapshotPlace[];
  readonly #observer: TaskObserver;
  #before: DirectorySnapshot | undefined;

  constructor(
    { reportsChanges = false }: ProcessImplementation,
    program: Program,
    places: readonly SnapshotPlace[],
    observer: TaskObserver,
  ) {
    this.#isWanted = reportsChanges;
    this.#program = program;
    this.#places = places;
    this.#observer = observer;
  }

  /** Takes a snapshot of the places before the program starts, if the tool requests that. Never rejects. */
  async begin(): Promise<void> {
    if (!this.#isWanted || this.#places.length === 0) return;
    this.#before = await this.#reported(() => DirectorySnapshot.take(this.#places));
  }

  /** Adds what was changed to the outcome of a program that has ended. Never rejects. */
  async addTo(outcome: SandboxOutcome): Promise<SandboxOutcome> {
    if (this.#before === undefined || outcome.mayStillRun || outcome.status === "unavailable") return outcome;
    const before = this.#before;
    const changes = await this.#reported(async () =>
      this.#changes(before, await DirectorySnapshot.take(this.#places)),
    );
    return changes === undefined ? outcome : { ...outcome, changes };
  }

  #changes(before: DirectorySnapshot, after: DirectorySnapshot): Changes {
    const { command, args } = this.#program;
    return toChanges(before.changesTo(after), { command: [command, ...args].join(" ") });
  }

  /** Without a whole snapshot, what was changed is not known, which operators should know. */
  async #reported<Found>(look: () => Promise<Found>): Promise<Found | undefined> {
    try {
      return await look();
    } catch (error) {
      this.#observer.log("warn", `What the program changes is not reported: ${(error as Error).message}`);
      return undefined;
    }
  }
}
