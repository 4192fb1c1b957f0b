import type { PoolOutcome, PoolTask } from "../pool-task.ts";

/** A task that occupied its thread for less than this did not delay others, whatever its deadline. */
const LONG_MS = 50;

/** Number of consecutive calls in time after which a tool is no longer slow. */
const CALLS_OWED = 64;

/** Milliseconds without an exceeded deadline after which a tool is no longer slow. */
const FORGIVEN_AFTER_MS = 60_000;

/** Maximum number of slow tools. Those that exceeded a deadline least recently are forgotten first. */
const MAX_TOOLS = 1_000;

interface SlowTool {
  readonly lastDeadlineAt: number;
  owed: number;
}

/** The tools whose calls exceed their deadlines, and would occupy the threads that other tools need. */
export class SlowTools {
  /** Ordered by the last exceeded deadline, oldest first. */
  readonly #tools = new Map<string, SlowTool>();

  has(tool: string | undefined): boolean {
    if (this.#tools.size === 0 || tool === undefined) return false;
    const slow = this.#tools.get(tool);
    if (slow === undefined) return false;
    if (performance.now() - slow.lastDeadlineAt < FORGIVEN_AFTER_MS) return true;
    this.#tools.delete(tool);
    return false;
  }

  /** Evaluates a task that has ended. Returns whether its tool has become slow. */
  learn({ options: { tool, wallTimeMs } }: PoolTask, outcome: PoolOutcome<unknown>): boolean {
    if (tool === undefined || wallTimeMs === undefined) return false;
    if (outcome.wallTimeMs >= Math.max(wallTimeMs, LONG_MS)) return this.#addDeadline(tool);
    if (outcome.status === "returned" && this.#tools.size > 0) this.#addCallInTime(tool);
    return false;
  }

  #addDeadline(tool: string): boolean {
    const isNew = !this.#tools.delete(tool);
    this.#tools.set(tool, { lastDeadlineAt: performance.now(), owed: CALLS_OWED });
    if (this.#tools.size > MAX_TOOLS) {
      for (const oldest of this.#tools.keys()) {
        this.#tools.delete(oldest);
        break;
      }
    }
    return isNew;
  }

  #addCallInTime(tool: string): void {
    const slow = this.#tools.get(tool);
    if (slow !== undefined && --slow.owed === 0) this.#tools.delete(tool);
  }
}
