import { takeGuardedFiles } from "../../../base/guarded-files.ts";
import { boundFailure } from "../../contract/failure.ts";
import { outputProblem } from "../../contract/output.ts";
import type { TaskThread } from "../../threads/thread-message.ts";
import { LiftBudget, type LiftLimits } from "../abi/lift-budget.ts";
import type { WasmArtifact } from "../artifact.ts";
import { callExport, type ExportResult } from "../exports/call-export.ts";
import { GUEST_CALL, type GuestResult, guestArguments, readGuestResult } from "../exports/guest-interface.ts";
import { CurrentCall } from "../host/current-call.ts";
import { InstanceHost } from "../host/instance-host.ts";
import type { WasiGrant } from "../host/wasi/grant.ts";
import type { FileChanges } from "../host/wasi/host.ts";
import type { ComponentCalls } from "../instance/calls.ts";
import { ComponentInstance } from "../instance/instance.ts";
import { JcoInstance } from "../instance/jco/jco-instance.ts";
import type { WasmAnswer, WasmEnd, WasmTask } from "./thread-task.ts";
import { readTrap, type Trap } from "./trap.ts";

/** What an instance may use during a call. */
interface GuestGrant {
  readonly wasi: WasiGrant;
  readonly lifted: LiftLimits;
  readonly netBytes: number;
}

/** An instance of a component and everything that it can import. It can be created before its first call is known. */
class Guest implements Disposable {
  readonly instance: ComponentCalls;
  readonly #budget = new LiftBudget({ memoryBytes: 0, textBytes: 0 });
  #host: InstanceHost | undefined;

  constructor(artifact: WasmArtifact) {
    const host = (name: string): object => this.#interface(name);
    this.instance =
      artifact.jco === undefined
        ? new ComponentInstance(artifact, host, this.#budget)
        : new JcoInstance(artifact, artifact.jco, host, this.#budget);
  }

  #interface(name: string): object {
    if (this.#host === undefined) throw new Error("the instance was used before its first call began");
    return this.#host.interface(name);
  }

  /** Begins a call, which {@link end} ends. All calls of an instance have the same grant. */
  begin({ wasi, lifted, netBytes }: GuestGrant, call: CurrentCall): void {
    this.#budget.allow(lifted);
    if (this.#host === undefined) this.#host = new InstanceHost(wasi, netBytes, this.#budget, call);
    else this.#host.begin(call);
  }

  /** Ends the call. Returns what it did to files. */
  end(): FileChanges {
    return this.#host?.end() ?? { writtenBytes: 0, hasChangedFiles: false };
  }

  [Symbol.dispose](): void {
    this.instance[Symbol.dispose]();
    this.#host?.[Symbol.dispose]();
    this.#host = undefined;
    this.#budget.reset();
  }
}

/** The maximum number of components with a spare instance. */
const MAX_SPARES = 4;

/** Components with a larger initial size get no spare instance. */
const MAX_SPARE_BYTES = 16 * 1_024 * 1_024;

/** The maximum number of instances that are retained for their owners' next calls. */
const MAX_RETAINED = 8;

/** Idle instances are evicted after this. */
const MAX_IDLE_MS = 60_000;

/** After this many consecutive calls that grew a memory, no image is retained, as the next call probably grows it too. */
const MAX_GROWN = 3;

interface RetainedGuest {
  readonly guest: Guest;
  readonly retainedAt: number;
}

/** A thread's component instances that are ready for later calls. */
class GuestPool {
  readonly #spares = new Map<WasmArtifact, Guest>();
  readonly #retained = new Map<string, RetainedGuest>();
  /** How many consecutive instances could not be restored because their memory had grown. */
  readonly #grown = new WeakMap<WasmArtifact, number>();

  /** Returns an instance in which nothing has run yet. */
  takeFresh(artifact: WasmArtifact): Guest {
    const spare = this.#spares.get(artifact);
    this.#spares.delete(artifact);
    return spare ?? new Guest(artifact);
  }

  /** Returns the instance that was retained for an owner. */
  takeRetained(owner: string): Guest | undefined {
    // The oldest come first. This cannot be a timer, because a thread without work is blocked.
    for (const [each, { retainedAt }] of this.#retained) {
      if (performance.now() - retainedAt <= MAX_IDLE_MS) break;
      this.#drop(each);
    }
    const retained = this.#retained.get(owner);
    this.#retained.delete(owner);
    return retained?.guest;
  }

  /** Retains an instance for the next call of its owner. */
  retain(owner: string, guest: Guest): void {
    this.#retained.set(owner, { guest, retainedAt: performance.now() });
    for (const oldest of this.#retained.keys()) {
      if (this.#retained.size <= MAX_RETAINED) break;
      this.#drop(oldest);
    }
  }

  #drop(owner: string): void {
    this.#retained.get(owner)?.guest[Symbol.dispose]();
    this.#retained.delete(owner);
  }

  /**
   * Prepares an instance for the next call that needs a fresh one; not for components that run more than a little code
   * when they are instantiated, because that code may only run within the deadline of a call.
   *
   * @param used The disposed instance of the last call. It is restored if possible.
   * @returns whether it was restored. If not, it is no longer needed.
   */
  prepareSpare(artifact: WasmArtifact, used: Guest): boolean {
    if (!artifact.startsAtOnce || artifact.initialBytes > MAX_SPARE_BYTES) return false;
    const isRestored = used.instance.restore();
    if (isRestored) this.#grown.delete(artifact);
    const spare = isRestored ? used : this.#makeSpare(artifact, used);
    // If creating a spare failed, the next call creates its own instance and reports the error.
    if (spare === undefined) return false;
    this.#spares.set(artifact, spare);
    for (const oldest of this.#spares.keys()) {
      if (this.#spares.size <= MAX_SPARES) break;
      this.#spares.delete(oldest);
    }
    return isRestored;
  }

  #makeSpare(artifact: WasmArtifact, used: Guest): Guest | undefined {
    const grown = (this.#grown.get(artifact) ?? 0) + (used.instance.isPastRestoring ? 1 : 0);
    this.#grown.set(artifact, grown);
    const guest = new Guest(artifact);
    try {
      guest.instance.make();
      if (artifact.isRestorable && grown < MAX_GROWN) guest.instance.keepImage();
      return guest;
    } catch {
      return undefined;
    }
  }
}

/** The minimum length of values that are lifted, because log lines, errors and values to store are not output. */
const MIN_LIFTED_TEXT_BYTES = 2 * 1_024 * 1_024;

const guests = new GuestPool();

/**
 * Runs one call, in a fresh instance unless it has an owner. After the reply has been sent, the instance for the next
 * call is prepared before the thread takes other work.
 */
export default function runWasmTask(task: WasmTask, thread: TaskThread): WasmAnswer {
  thread.markStarted();
  const artifact = thread.artifact as WasmArtifact;
  const retained = task.owner === undefined ? undefined : guests.takeRetained(task.owner);
  const guest = retained ?? guests.takeFresh(artifact);
  const call = new CurrentCall(task, thread);
  takeGuardedFiles(task.guarded);
  const { grant: wasi, netBytes, memoryBytes: cap, outputBytes = Number.POSITIVE_INFINITY } = task;
  const lifted = { memoryBytes: cap, textBytes: Math.max(outputBytes, MIN_LIFTED_TEXT_BYTES) };
  guest.begin({ wasi, netBytes, lifted }, call);
  const end = callTool(guest, artifact, task);
  const files = guest.end();
  const { memoryBytes, isAtMemoryCap: atMemoryCap, isIntact } = guest.instance;
  const mayStay = isIntact && !atMemoryCap && (end.status === "returned" || end.status === "tool-error");
  if (task.owner !== undefined && mayStay) guests.retain(task.owner, guest);
  else guest[Symbol.dispose]();
  if (task.owner === undefined) {
    thread.afterwards(() => {
      const isReady = guests.prepareSpare(artifact, guest);
      if (!isReady) thread.discard(memoryBytes);
    });
  } else if (!mayStay) thread.discard(memoryBytes);
  const logLines = task.logLines - call.log.left.lines;
  return { ...end, ...files, memoryBytes, atMemoryCap, logLines, isReused: retained !== undefined };
}

function callTool({ instance }: Guest, { plan }: WasmArtifact, task: WasmTask): WasmEnd {
  const exported = plan.exports.get(task.export);
  if (exported === undefined) throw new Error("the component does not have this export");
  try {
    if (task.export !== GUEST_CALL) {
      return withinLimit(
        callExport(exported.type, task.input, (args) => instance.call(exported, args)),
        task,
      );
    }
    const args = guestArguments(task.tool, task.input, task);
    return withinLimit(readGuestResult(instance.call(exported, args)), task);
  } catch (thrown) {
    return withinLimit(readTrap(thrown), task);
  }
}

/** Bounds everything that the guest wrote, before the process receives it. */
function withinLimit(
  result: GuestResult | ExportResult | Trap,
  { outputBytes: maxBytes }: WasmTask,
): WasmEnd {
  if (result.status === "lifted-too-much") return result;
  if (result.status !== "returned") return boundFailure(result, maxBytes);
  const outputBytes = Buffer.byteLength(result.text);
  if (outputBytes > (maxBytes ?? Number.POSITIVE_INFINITY)) return { status: "output-exceeded", outputBytes };
  const problem = outputProblem(result.text);
  return problem === undefined ? result : { status: "refused", message: problem };
}
