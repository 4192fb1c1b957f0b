import { describe, expect, test } from "vitest";
import { WaitingTasks } from "../../../../src/sandboxes/threads/fairness/waiting-tasks.ts";
import { PoolTask } from "../../../../src/sandboxes/threads/pool-task.ts";

const SILENT = { output: () => {}, log: () => {} };

function taskOf(tool: string | undefined, fields: unknown, caller?: string): PoolTask {
  const silent = { wallTimeMs: undefined, signal: undefined, observer: SILENT };
  const options = { ...silent, caller, ...(tool && { tool }) };
  const ignore = (): void => {};
  return new PoolTask(fields, options, ignore, ignore);
}

/** Adds tasks with names such as `a1`: the tool and the number of the call. */
function waitingOf(...names: readonly string[]): { waiting: WaitingTasks; tasks: Map<string, PoolTask> } {
  const waiting = new WaitingTasks();
  const tasks = new Map(names.map((name) => [name, taskOf(name[0], name)]));
  for (const task of tasks.values()) waiting.add(task);
  return { waiting, tasks };
}

function order(waiting: WaitingTasks, isFree?: (tool: string | undefined) => boolean): unknown[] {
  const all: unknown[] = [];
  for (let task = waiting.next(isFree); task !== undefined; task = waiting.next(isFree))
    all.push(task.fields);
  return all;
}

describe("WaitingTasks", () => {
  test("waiting tasks of different tools take turns, and those of a tool stay in order", () => {
    const { waiting } = waitingOf("a1", "a2", "a3", "a4", "b1", "c1", "b2", "c2", "a5");
    expect(order(waiting)).toEqual(["a1", "b1", "c1", "a2", "b2", "c2", "a3", "a4", "a5"]);
    expect(waiting.next()).toBeUndefined();
  });

  test("tasks that are added do not change whose turn it is", () => {
    const { waiting } = waitingOf("a1", "a2", "b1", "b2");
    expect(waiting.next()?.fields).toBe("a1");
    waiting.add(taskOf("c", "c1"));
    expect(order(waiting)).toEqual(["b1", "a2", "c1", "b2"]);
  });

  test("waiting tasks without a tool take turns like those of one tool", () => {
    const waiting = new WaitingTasks();
    for (const task of [taskOf(undefined, 1), taskOf(undefined, 2), taskOf("a", "a1")]) waiting.add(task);
    expect(order(waiting)).toEqual([1, "a1", 2]);
  });

  test("waiting tasks can be removed, alone, by tool and all at once", () => {
    const { waiting, tasks } = waitingOf("a1", "a2", "b1", "b2");
    expect(waiting.delete(tasks.get("a1") as PoolTask)).toBe(true);
    expect(waiting.delete(tasks.get("a1") as PoolTask)).toBe(false);
    expect([...waiting.takeTool("b")].map(({ fields }) => fields)).toEqual(["b1", "b2"]);
    expect([...waiting.takeTool("b")]).toEqual([]);
    expect(waiting.takeAll().map(({ fields }) => fields)).toEqual(["a2"]);
    expect(order(waiting)).toEqual([]);
  });

  test("waiting tasks keep their turn while their tool may not start one", () => {
    const { waiting } = waitingOf("a1", "a2", "b1", "b2");
    expect(order(waiting, (tool) => tool !== "a")).toEqual(["b1", "b2"]);
    expect(order(waiting)).toEqual(["a1", "a2"]);
  });

  test("callers take turns, whatever tools they call", () => {
    const waiting = new WaitingTasks();
    for (const name of ["a1", "b1", "c1", "a2"]) waiting.add(taskOf(name[0], name, "busy"));
    waiting.add(taskOf("a", "a3", "quiet"));
    const last = taskOf("a", "a4", "quiet");
    waiting.add(last);
    expect(waiting.next()?.fields).toBe("a1");
    expect(waiting.next()?.fields).toBe("a3");
    expect(waiting.delete(last)).toBe(true);
    expect(order(waiting)).toEqual(["b1", "c1", "a2"]);
  });

  test("a caller whose tools may not start a task does not hinder the others", () => {
    const waiting = new WaitingTasks();
    waiting.add(taskOf("a", "a1", "busy"));
    waiting.add(taskOf("b", "b1", "quiet"));
    waiting.add(taskOf("a", "a2", "quiet"));
    expect(order(waiting, (tool) => tool !== "a")).toEqual(["b1"]);
    expect([...waiting.takeTool("a")].map(({ fields }) => fields)).toEqual(["a1", "a2"]);
    expect(waiting.takeAll()).toEqual([]);
  });
});
