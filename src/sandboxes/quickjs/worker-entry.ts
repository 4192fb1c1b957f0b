import { ThreadLog } from "../thread-log.ts";
import { markStarted, type ThreadTask } from "../worker-thread.ts";
import { type GuestEnd, type GuestProgram, runGuest } from "./guest.ts";
import { Heap } from "./heap.ts";

/** What the thread is told of a call. */
export interface QuickJsTask extends GuestProgram {
  readonly wallTimeMs: number;
  readonly memoryBytes: number;
}

/** What the thread answers. */
export type QuickJsAnswer = {
  /** Bytes of linear memory at the end. */
  readonly memoryBytes: number;
  /** Whether the guest wanted more memory than its cap. */
  readonly hitMemoryCap: boolean;
} & (GuestEnd | { /** The engine broke. */ readonly status: "broken"; readonly detail: string });

/** A heap ready for the next call; never one that a guest broke or made grow. */
let spare: Heap | undefined;

/** Runs one call in a fresh runtime, under a memory cap. */
export default async function runQuickJsTask(task: QuickJsTask & ThreadTask): Promise<QuickJsAnswer> {
  const heap = spare?.maxBytes === task.memoryBytes ? spare : await Heap.create(task.memoryBytes);
  spare = undefined;
  const log = new ThreadLog(task);
  markStarted(task);
  const deadline = performance.now() + task.wallTimeMs;
  const isOver = (): boolean => performance.now() > deadline;
  try {
    const end = runGuest(heap, task, { isOver, log: (level, message) => log.write(level, message) });
    if (heap.isPristine && end.status !== "timeout") spare = heap;
    return { ...end, memoryBytes: heap.bytes, hitMemoryCap: heap.hitCap };
  } catch (thrown) {
    const end = isOver() ? ({ status: "timeout" } as const) : broken(thrown);
    return { ...end, memoryBytes: heap.bytes, hitMemoryCap: heap.hitCap };
  }
}

function broken(thrown: unknown): { readonly status: "broken"; readonly detail: string } {
  return { status: "broken", detail: thrown instanceof Error ? String(thrown.stack) : String(thrown) };
}
