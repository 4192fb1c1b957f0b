import { describe, expect, test } from "vitest";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { executionOf } from "../../sessions/store/records.ts";
import { check } from "./check.ts";

const message = (tool: string, ...reads: readonly ToolExecution[]) => ({
  messageId: "m",
  calls: [{ id: "c", name: tool, arguments: {} }],
  reads: reads.map((read) => [read]),
});
const effect = (tool: string, key?: string) => ({ tool, name: "m/c", pid: 1, ...(key && { key }) });
const success = executionOf("c");
const unknown = {
  ...success,
  success: false,
  error: { code: "execution_error", message: "", effect: "unknown", userVisible: true },
} as ToolExecution;
const faultsOf = (
  ...[messages, effects]: [Parameters<typeof check>[0]["messages"], ReturnType<typeof effect>[]]
) => check({ messages, effects, told: [] }).faults;

describe("The check of a cluster", () => {
  test("accepts one effect for a success, several under one key, and none or one for what is unknown", () => {
    expect(faultsOf([message("note", success)], [effect("note")])).toEqual([]);
    expect(faultsOf([message("put", success)], [effect("put", "k"), effect("put", "k")])).toEqual([]);
    expect(faultsOf([message("note", unknown)], [])).toEqual([]);
    expect(faultsOf([message("note", unknown)], [effect("note")])).toEqual([]);
  });

  test("finds what is lost, doubled, or differs between those who asked", () => {
    expect(faultsOf([message("note")], [])).toEqual(["m/c: lost, 0 effects"]);
    expect(faultsOf([message("note", success)], [])).toEqual(["m/c: 'note' succeeded without an effect"]);
    expect(faultsOf([message("note", success)], [effect("note"), effect("note")])).toEqual([
      "m/c: 'note' had its effect 2 times",
    ]);
    expect(faultsOf([message("put", success)], [effect("put", "k"), effect("put", "l")])).toHaveLength(1);
    expect(faultsOf([message("note", success, unknown)], [effect("note")])).toHaveLength(1);
    expect(faultsOf([], [effect("note")])).toEqual(["m/c: an effect without a call"]);
  });

  test("finds a program that ran a line twice, or was told something else than was done", () => {
    const inner = (tool: string) => ({ tool, name: `m/c/${tool}`, pid: 1 });
    const denied = {
      ...success,
      output: { read: "done m/c/read", note: "done m/c/note", asks: "user_denied" },
    };
    const program = message("run_program", denied);
    expect(faultsOf([program], [inner("read"), inner("note")])).toEqual([]);
    expect(faultsOf([program], [inner("read"), inner("read"), inner("note")])).toEqual([]);
    expect(faultsOf([program], [inner("read")])).toHaveLength(1);
    expect(faultsOf([program], [inner("read"), inner("note"), inner("note")])).toHaveLength(1);
    // No person has allowed it.
    expect(faultsOf([program], [inner("read"), inner("note"), inner("asks")])).toHaveLength(1);
    expect(faultsOf([message("run_program", unknown)], [inner("read")])).toEqual([]);
  });

  test("accepts a confirmation that was cancelled only where its call was interrupted", () => {
    const gone = { confirmationId: "i", name: "m/c", by: "ann", decision: "allow", outcome: "gone" };
    const first = { ...gone, outcome: "resolved", winner: "ann", won: "allow" };
    const faults = (result: ToolExecution, ...told: (typeof gone)[]) =>
      check({ messages: [message("run_program", result)], effects: [], told }).faults;
    expect(faults(unknown, gone)).toEqual([]);
    expect(faults(unknown, first)).toEqual([]);
    expect(faults({ ...success, output: {} }, gone).join()).toContain("answers ended as ann gone");
    expect(faults(unknown, first, { ...gone, by: "bob" }).join()).toContain("ann resolved, bob gone");
  });
});
