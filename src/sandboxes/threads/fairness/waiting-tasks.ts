import type { PoolTask } from "../pool-task.ts";

/**
 * The tasks that wait for a thread. Callers take turns, and so do the tools of a caller: a call waits for one call of
 * each other caller and tool, not for all of them. The calls of a caller to a tool stay in order.
 */
export class WaitingTasks {
  /** Ordered by the turns of the callers. No caller's queue is empty. */
  readonly #byCaller = new Map<string | undefined, CallerTasks>();

  add(task: PoolTask): void {
    const { caller } = task.options;
    let tasks = this.#byCaller.get(caller);
    if (tasks === undefined) {
      tasks = new CallerTasks();
      this.#byCaller.set(caller, tasks);
    }
    tasks.add(task);
  }

  /** Removes a task; returns `false` if it does not wait here. */
  delete(task: PoolTask): boolean {
    const { caller } = task.options;
    const tasks = this.#byCaller.get(caller);
    if (tasks === undefined || !tasks.delete(task)) return false;
    if (tasks.isEmpty) this.#byCaller.delete(caller);
    return true;
  }

  /**
   * Removes and returns the next task.
   *
   * @param isFree Whether a task of a tool may start now. By default, all may.
   */
  next(isFree: (tool: string | undefined) => boolean = () => true): PoolTask | undefined {
    for (const [caller, tasks] of this.#byCaller) {
      const task = tasks.next(isFree);
      if (task === undefined) continue;
      if (tasks.isEmpty) this.#byCaller.delete(caller);
      else if (this.#byCaller.size > 1) {
        this.#byCaller.delete(caller);
        this.#byCaller.set(caller, tasks);
      }
      return task;
    }
    return undefined;
  }

  /** Removes and returns all tasks of a tool. */
  takeTool(tool: string): Iterable<PoolTask> {
    const taken: PoolTask[] = [];
    for (const [caller, tasks] of this.#byCaller) {
      taken.push(...tasks.takeTool(tool));
      if (tasks.isEmpty) this.#byCaller.delete(caller);
    }
    return taken;
  }

  /** Removes and returns all tasks. */
  takeAll(): readonly PoolTask[] {
    const all = [...this.#byCaller.values()].flatMap((tasks) => tasks.all);
    this.#byCaller.clear();
    return all;
  }
}

/** The waiting tasks of one caller. */
class CallerTasks {
  /** Ordered by the turns of the tools. No set is empty. */
  readonly #byTool = new Map<string | undefined, Set<PoolTask>>();

  get isEmpty(): boolean {
    return this.#byTool.size === 0;
  }

  get all(): readonly PoolTask[] {
    return [...this.#byTool.values()].flatMap((tasks) => [...tasks]);
  }

  add(task: PoolTask): void {
    const { tool } = task.options;
    const tasks = this.#byTool.get(tool);
    if (tasks === undefined) this.#byTool.set(tool, new Set([task]));
    else tasks.add(task);
  }

  delete(task: PoolTask): boolean {
    const { tool } = task.options;
    const tasks = this.#byTool.get(tool);
    if (tasks === undefined || !tasks.delete(task)) return false;
    if (tasks.size === 0) this.#byTool.delete(tool);
    return true;
  }

  next(isFree: (tool: string | undefined) => boolean): PoolTask | undefined {
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

  takeTool(tool: string): Iterable<PoolTask> {
    const tasks = this.#byTool.get(tool) ?? [];
    this.#byTool.delete(tool);
    return tasks;
  }
}
