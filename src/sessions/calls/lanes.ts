import type { ToolRegistry } from "../../engine/registry.ts";
import type { Settings } from "../options.ts";

/** A call that waits for a slot. */
interface QueuedCall {
  readonly tool: string;
  /** How many calls of the tool may run at once. */
  readonly most: number;
  readonly go: () => void;
}

/**
 * The slots in which the calls of one session run: a limited number at a time, in total and of one tool. A
 * call that finds no slot waits; waiting calls get slots in the order of their arrival, as far as their tools
 * allow.
 */
export class Lanes {
  readonly #slots: number;
  readonly #onIdle: () => void;
  #running = 0;
  /** The running calls of tools with a limit of their own; `undefined` until one of them runs. */
  #runningByTool: Map<string, number> | undefined;
  /** In the order of their arrival; `undefined` until the first call has to wait. */
  #waiting: Set<QueuedCall> | undefined;

  /** @param onIdle Called when the last call that had a slot has released it. Must not throw. */
  constructor(slots: number, onIdle: () => void) {
    this.#slots = slots;
    this.#onIdle = onIdle;
  }

  /** How many calls have a slot. */
  get running(): number {
    return this.#running;
  }

  /** Whether no call has a slot. */
  get isIdle(): boolean {
    return this.#running === 0;
  }

  /** Takes a slot if there is one. Tools without a limit of their own have `most` of `Infinity`. */
  take(tool: string, most: number): boolean {
    if (this.#waiting !== undefined && this.#waiting.size > 0) return false;
    return this.#takeFree(tool, most);
  }

  #takeFree(tool: string, most: number): boolean {
    if (this.#running >= this.#slots) return false;
    if (most !== Number.POSITIVE_INFINITY) {
      this.#runningByTool ??= new Map();
      const running = this.#runningByTool.get(tool) ?? 0;
      if (running >= most) return false;
      this.#runningByTool.set(tool, running + 1);
    }
    this.#running++;
    return true;
  }

  /** Waits for a slot. Returns whether there is one: `false` if the signal was aborted first. */
  wait(tool: string, most: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#waiting ??= new Set();
    const waiting = this.#waiting;
    const leave = (): void => {
      waiting.delete(entry);
      resolve(false);
    };
    const go = (): void => {
      signal.removeEventListener("abort", leave);
      resolve(true);
    };
    const entry: QueuedCall = { tool, most, go };
    waiting.add(entry);
    signal.addEventListener("abort", leave, { once: true });
    // Only calls of tools that may not run now are before this one if there is a free slot.
    this.#fill();
    return promise;
  }

  /** Releases a slot, to the first call that may have it. */
  release(tool: string, most: number): void {
    this.#running--;
    this.releaseTool(tool, most);
  }

  /** Releases the slot of the session, but not that of the tool. */
  suspend(): void {
    this.#running--;
    if (this.#waiting !== undefined) this.#fill();
  }

  /** Waits for a slot of the session after {@link suspend}. Returns `false` if the signal was aborted first. */
  resume(signal: AbortSignal): Promise<boolean> {
    return this.take("", Number.POSITIVE_INFINITY)
      ? Promise.resolve(true)
      : this.wait("", Number.POSITIVE_INFINITY, signal);
  }

  /** Releases the slot of the tool alone, after {@link suspend}. */
  releaseTool(tool: string, most: number): void {
    if (this.#runningByTool !== undefined && most !== Number.POSITIVE_INFINITY) {
      const left = (this.#runningByTool.get(tool) ?? 1) - 1;
      if (left === 0) this.#runningByTool.delete(tool);
      else this.#runningByTool.set(tool, left);
    }
    if (this.#waiting !== undefined) this.#fill();
    if (this.isIdle) this.#onIdle();
  }

  #fill(): void {
    for (const entry of this.#waiting ?? []) {
      if (this.#running >= this.#slots) return;
      if (!this.#takeFree(entry.tool, entry.most)) continue;
      this.#waiting?.delete(entry);
      entry.go();
    }
  }
}

/** Returns how many calls of a tool a session may run at once; `Infinity` if there is no limit. */
export function toolPlaces(
  registry: Pick<ToolRegistry, "find">,
  { perTool }: Pick<Settings, "perTool">,
  name: string,
): number {
  const own = registry.find(name)?.tool.maxConcurrent ?? Number.POSITIVE_INFINITY;
  return perTool.size === 0 ? own : Math.min(own, perTool.get(name) ?? own);
}
