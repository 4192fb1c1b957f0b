import { boundFailure } from "../../contract/failure.ts";
import { type TaskThread, ThreadLog } from "../../threads/thread-message.ts";
import { MIN_MEMORY_BYTES } from "../engine/engine-binary.ts";
import { EngineInstance, loadEngineLibrary } from "../engine/engine-instance.ts";
import { buffersOf, releaseGuest, type Snapshot, sizeOf } from "../engine/suspended-guest.ts";
import { loadAcorn } from "../parse-program.ts";
import { GuestBorder } from "./guest-border.ts";
import { withProgramForm } from "./program-form.ts";
import {
  brokenEnd,
  endOfStep,
  type GuestEnd,
  loadGuest,
  locateEnd,
  resumeGuest,
  startGuest,
  timeoutEnd,
  wakeGuest,
} from "./step-end.ts";
import {
  decodeTask,
  encodeAnswer,
  type LoadStep,
  type QuickJsArtifact,
  type QuickJsEnd,
  type QuickJsTask,
  type WireAnswer,
  type WireTask,
} from "./thread-task.ts";
import { stripProgramTypes, TypeStrippingError, typeStripperIsBroken } from "./type-stripper.ts";

/** Maximum number of idle instances of a thread: one for each combination of memory size and cap. */
const MAX_IDLE = 4;

/** Reuses a thread's engine instances, so that a call rarely has to create one. */
class InstancePool {
  /** In order of use, the most recently used one last. */
  readonly #idle: EngineInstance[] = [];

  /** Creates an instance in which nothing has run. */
  create(engine: WebAssembly.Module, maxBytes: number): Promise<EngineInstance> {
    return EngineInstance.create(engine, MIN_MEMORY_BYTES, maxBytes);
  }

  /** Returns an idle or a new instance for a snapshot. The caller owns it until it calls {@link put}. */
  take(
    engine: WebAssembly.Module,
    memoryBytes: Snapshot["memoryBytes"],
    maxBytes: number,
  ): EngineInstance | Promise<EngineInstance> {
    const index = this.#indexOf(memoryBytes, maxBytes);
    const idle = index < 0 ? undefined : this.#idle.splice(index, 1)[0];
    return idle ?? EngineInstance.create(engine, memoryBytes, maxBytes);
  }

  /**
   * Makes an instance available to later calls, unless it is broken, ran out of memory or grew. Returns
   * whether it did.
   */
  put(instance: EngineInstance): boolean {
    const { memory, maxBytes } = instance;
    if (instance.isBroken || !memory.isPristine) return false;
    const index = this.#indexOf(memory.bytes, maxBytes);
    if (index >= 0) this.#idle.splice(index, 1);
    this.#idle.push(instance);
    if (this.#idle.length > MAX_IDLE) this.#idle.shift();
    return true;
  }

  #indexOf(memoryBytes: number, maxBytes: number): number {
    return this.#idle.findIndex((each) => each.maxBytes === maxBytes && each.memory.bytes === memoryBytes);
  }
}

/** Suspended guests from this size are moved to the process: smaller ones are copied faster. */
const MOVED_BYTES = 65_536;

/** How many timers that are due run in a step with requests, before it looks for replies. */
const MAX_WAKES_BESIDE_REQUESTS = 64;

const instances = new InstancePool();
// The first instance would load it otherwise, when a call already waits.
await loadEngineLibrary();

/** Runs one step of one call. */
export default function runQuickJsTask(wire: WireTask, thread: TaskThread): WireAnswer | Promise<WireAnswer> {
  const task = decodeTask(wire);
  return task.step.kind === "load" ? load(task, task.step, thread) : runGuest(task, thread);
}

/** Loads a program whose TypeScript modules still have their types. */
function load(task: QuickJsTask, step: LoadStep, thread: TaskThread): WireAnswer | Promise<WireAnswer> {
  const startedAt = performance.now();
  thread.markStarted();
  try {
    const program = stripProgramTypes(step.program);
    const wallTimeMs = task.wallTimeMs - (performance.now() - startedAt);
    return runGuest({ ...task, wallTimeMs, step: { ...step, program } }, thread);
  } catch (error) {
    if (!(error instanceof TypeStrippingError)) throw error;
    if (typeStripperIsBroken()) thread.afterwards(() => process.exit(1));
    const { module } = error;
    const { message } = boundFailure(error, task.outputBytes);
    const answer = { memoryBytes: 0, hitMemoryCap: false, log: task.log, files: undefined };
    return encodeAnswer({ status: "invalid_types", module, message }, answer);
  }
}

function runGuest(task: QuickJsTask, thread: TaskThread): WireAnswer | Promise<WireAnswer> {
  const startedAt = performance.now();
  const instance = takeInstance(task, thread);
  return instance instanceof Promise
    ? instance.then((created) => runIn(created, timeLeft(task, startedAt), thread))
    : runIn(instance, task, thread);
}

/** Subtracts what creating an instance took from the wall time of a load, which began before. */
function timeLeft(task: QuickJsTask, startedAt: number): QuickJsTask {
  if (task.step.kind !== "load") return task;
  return { ...task, wallTimeMs: task.wallTimeMs - (performance.now() - startedAt) };
}

function takeInstance(
  { step, memoryBytes }: QuickJsTask,
  { artifact }: TaskThread,
): EngineInstance | Promise<EngineInstance> {
  switch (step.kind) {
    case "load":
      return instances.create(step.engine, memoryBytes);
    case "start": {
      const { engine, template } = artifact as QuickJsArtifact;
      return instances.take(engine, template.memoryBytes, memoryBytes);
    }
    case "resume": {
      const { engine } = artifact as QuickJsArtifact;
      return instances.take(engine, step.guest.memoryBytes, memoryBytes);
    }
  }
}

function runIn(instance: EngineInstance, task: QuickJsTask, thread: TaskThread): WireAnswer {
  const log = new ThreadLog(thread, task.log);
  // The program must not wait for its parser: its time begins afterwards.
  if ((thread.artifact as QuickJsArtifact | undefined)?.typedCode !== undefined) loadAcorn();
  if (task.step.kind !== "load") thread.markStarted();
  const border = new GuestBorder(task, log);
  instance.host = border;
  let end: QuickJsEnd;
  try {
    end = endOfStep(runStep(instance, border, task, thread), instance, border, task, thread.artifact);
    if (end.status === "returned" || end.status === "failed") border.logUnsent();
    if (task.step.kind === "load") end = locateEnd(end, task.step.program, task);
    if (!instances.put(instance)) thread.discard(instance.memory.bytes);
  } catch (thrown) {
    end = border.isOver() ? timeoutEnd(instance, task) : thrownEnd(thrown, task);
    if (typeStripperIsBroken()) thread.afterwards(() => process.exit(1));
    thread.discard(instance.memory.bytes);
  }
  const { bytes: memoryBytes, refused: hitMemoryCap } = instance.memory;
  if (end.status === "waiting" && sizeOf(end.guest) >= MOVED_BYTES) thread.move(buffersOf(end.guest));
  return encodeAnswer(end, { memoryBytes, hitMemoryCap, log: log.left, files: border.closeFiles() });
}

/** Returns the end of a step that threw: code whose types cannot be removed, or an engine that broke. */
function thrownEnd(thrown: unknown, task: QuickJsTask): QuickJsEnd {
  if (!(thrown instanceof TypeStrippingError)) return brokenEnd(thrown, task);
  const { message } = boundFailure(thrown, task.outputBytes);
  return { status: "failed", message, detail: message, userVisible: true };
}

function runStep(
  instance: EngineInstance,
  border: GuestBorder,
  { step, owner }: QuickJsTask,
  { artifact }: TaskThread,
): GuestEnd {
  let end: GuestEnd;
  switch (step.kind) {
    case "load":
      return loadGuest(instance, step.program, step.stackBytes);
    case "start":
      instance.restore((artifact as QuickJsArtifact).template, owner, step.randomState);
      end = startGuest(instance, withProgramForm(step.input, (artifact as QuickJsArtifact).typedCode));
      break;
    case "resume":
      instance.resume((artifact as QuickJsArtifact).template, step.guest, owner);
      releaseGuest(step.guest);
      end =
        step.replies.length === 0 ? wakeGuest(instance) : resumeGuest(instance, border.textOf(step.replies));
  }
  const outstanding = step.kind === "resume" ? step.outstanding : 0;
  let wakes = 0;
  for (;;) {
    if (end.status !== "pending") return end;
    // Refusals are delivered at once. A guest that requests again and again reaches its deadline.
    const refusals = border.validator.takeRefusals();
    const hasRequests = outstanding + border.validator.requests.length > 0;
    if (refusals !== undefined) end = resumeGuest(instance, refusals);
    // So are timers that are due, unless replies may have arrived meanwhile.
    else if (end.wakeMs === 0 && !(hasRequests && ++wakes > MAX_WAKES_BESIDE_REQUESTS))
      end = wakeGuest(instance);
    else return end;
  }
}
