import type { PoolTask } from "../pool-task.ts";

/**
 * The tasks that wait for a thread. Tools take turns: a call waits for one call of each other tool, not for
 * all of them. The calls of a tool stay in order.
 */
export class WaitingTasks {
  /** Ordered by the turns of the tools. */
  readonly #byTool = new Map<string | undefined, Set<PoolTask>>();

  add(task: PoolTask): void {
    const { tool } = task.options;
    const tasks = this.#byTool.get(tool);
    if (tasks === undefined) this.#byTool.set(tool, new Set([task]));
    else tasks.add(task);
  }

  /** Removes a task; returns `false` if it does not wait here. */
  delete(task: PoolTask): boolean {
    const { tool } = task.options;
    const tasks = this.#byTool.get(tool);
    if (tasks === undefined || !tasks.delete(task)) return false;
    if (tasks.size === 0) this.#byTool.delete(tool);
    return true;
  }

  /**
   * Removes and returns the next task.
   *
   * @param isFree Whether a task of a tool may start now. By default, all may.
   */
  next(isFree: (tool: string | undefined) => boolean = () => true): PoolTask | undefined {
    for (const [tool, tasks] of this.#byTool) {
      if (!isFree(tool)) continue;
      const [task] = tasks;
      if (task === undefined) continue;
      tasks.delete(task);
      if (tasks.size === 0) this.#byTool.delete(tool);
      else if (this.#byTool.size > 1) {
        this.#byTool.delete(tool);
        this.#byTool.set(tool, tasks);
      }
      return task;
    }
    return undefined;
  }

  /** Removes and returns all tasks of a tool. */
  takeTool(tool: string): Iterable<PoolTask> {
    const tasks = this.#byTool.get(tool) ?? [];
    this.#byTool.delete(tool);
    return tasks;
  }

  /** Removes and returns all tasks. */
  takeAll(): readonly PoolTask[] {
    const all = [...this.#byTool.values()].flatMap((tasks) => [...tasks]);
    this.#byTool.clear();
    return all;
  }
}
