import { createHash } from "node:crypto";
import { workerData } from "node:worker_threads";
import { ThreadLog } from "../../threads/thread-log.ts";
import type { TaskThread, ThreadData } from "../../threads/thread-message.ts";
import type { EngineInstance } from "../engine/engine-instance.ts";
import type { Snapshot } from "../engine/snapshot.ts";
import { RandomSupply } from "../random-supply.ts";
import { type GuestEnd, loadGuest, resumeGuest, startGuest } from "./guest.ts";
import { GuestBorder } from "./guest-border.ts";
import { InstancePool } from "./instance-pool.ts";
import { decodeTask, encodeAnswer, type WireAnswer, type WireTask } from "./task-wire.ts";
import type { QuickJsEnd, QuickJsTask, QuickJsThreadData } from "./thread-task.ts";

const chance = new RandomSupply();
const shelf = new InstancePool((workerData as ThreadData<QuickJsThreadData>).data.engine);

/** Runs one step of one call. */
export default function runQuickJsTask(wire: WireTask, thread: TaskThread): WireAnswer | Promise<WireAnswer> {
  const task = decodeTask(wire);
  const instance = takeInstance(task, thread);
  return instance instanceof Promise
    ? instance.then((created) => runIn(created, task, thread))
    : runIn(instance, task, thread);
}

function takeInstance(
  { step, memoryBytes }: QuickJsTask,
  { artifact }: TaskThread,
): EngineInstance | Promise<EngineInstance> {
  switch (step.kind) {
    case "load":
      return shelf.create(memoryBytes, step.hasExternalAccess);
    case "start":
      return shelf.take(artifact as Snapshot, memoryBytes);
    case "resume":
      return shelf.take(step.guest, memoryBytes);
  }
}

function runIn(instance: EngineInstance, task: QuickJsTask, thread: TaskThread): WireAnswer {
  const log = new ThreadLog(thread, task.log);
  thread.markStarted();
  const host = new GuestBorder(task, log);
  instance.host = host;
  let end: QuickJsEnd;
  try {
    end = finish(runStep(instance, host, task, thread), instance, host, task);
    shelf.put(instance);
  } catch (thrown) {
    end = host.isOver() ? { status: "timeout" } : broken(thrown);
  }
  const { bytes: memoryBytes, refused: hitMemoryCap } = instance.memory;
  return encodeAnswer(end, { memoryBytes, hitMemoryCap, log: log.left, files: host.closeFiles() });
}

function runStep(
  instance: EngineInstance,
  host: GuestBorder,
  { step, owner, outside }: QuickJsTask,
  { artifact }: TaskThread,
): GuestEnd {
  let end: GuestEnd;
  switch (step.kind) {
    case "load":
      return loadGuest(instance, step.program, step.stackBytes);
    case "start":
      instance.restore(artifact as Snapshot, owner, randomState(step.randomSeed));
      end = startGuest(instance, step.input, outside);
      break;
    case "resume":
      instance.restore(step.guest, owner, undefined);
      end = resumeGuest(instance, step.replies);
  }
  // Refusals are delivered at once. A guest that requests again and again reaches its deadline.
  for (;;) {
    const refusals = host.validator.takeRefusals();
    if (end.status !== "pending" || refusals === undefined) return end;
    end = resumeGuest(instance, refusals);
  }
}

function finish(end: GuestEnd, instance: EngineInstance, host: GuestBorder, task: QuickJsTask): QuickJsEnd {
  const { step, outputBytes: maxBytes } = task;
  if (step.kind === "load" && end.status === "text") {
    if (host.missingModule !== undefined) return { status: "needs_module", ...host.missingModule };
    if (end.text.startsWith("+")) return { status: "loaded", template: instance.snapshot() };
  }
  if (end.status === "pending") {
    const { requests } = host.validator;
    if (requests.length === 0 && (step.kind !== "resume" || step.outstanding === 0)) {
      return { status: "stalled" };
    }
    return { status: "waiting", guest: instance.snapshot(), requests };
  }
  if (end.status === "text" && end.text.startsWith("+")) {
    // An output over its budget need not be transferred.
    const outputBytes = Buffer.byteLength(end.text) - 1;
    if (outputBytes > maxBytes) return { status: "output_exceeded", outputBytes };
  }
  return end;
}

/** Returns 8 bytes that are not all 0: the generator would never leave that state. */
function randomState(seed: string | undefined): Uint8Array {
  const bytes =
    seed === undefined ? chance.next() : createHash("sha256").update(seed).digest().subarray(0, 8);
  bytes[0] = (bytes[0] ?? 0) | 1;
  return bytes;
}

function broken(thrown: unknown): QuickJsEnd {
  return { status: "broken", detail: thrown instanceof Error ? String(thrown.stack) : String(thrown) };
}
