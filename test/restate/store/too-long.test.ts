import { describe, expect, test } from "vitest";
import { NOTHING_RAN, type ToolExecution } from "../../../src/engine/call/execution.ts";
// Inside: measures executions against the bound of a message, without Restate, which would refuse them.
import { withinMessage } from "../../../src/restate/store/store-client.ts";

/** How many bytes a message of Restate can have. */
const MOST = 32 * 1024 * 1024;

const execution = (more: Partial<ToolExecution>): ToolExecution => ({
  callId: "c",
  toolName: "note",
  arguments: {},
  success: true,
  output: null,
  durationMs: 1,
  sandbox: "host",
  receipt: NOTHING_RAN,
  ...more,
});

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

describe("Executions of a message", () => {
  test("stay as they are if they fit into a message of Restate", () => {
    const executions = [execution({ output: "x".repeat(1_000_000) }), null];
    expect(withinMessage(executions)).toEqual(executions);
  });

  test("fit into a message of Restate if their arguments are long too", () => {
    const some = [
      ...Array.from({ length: 12 }, () => execution({ output: "y".repeat(1_000_000) })),
      ...Array.from({ length: 14 }, () => execution({ arguments: { text: "a".repeat(2_000_000) } })),
    ];
    const kept = withinMessage(some);
    expect(bytesOf(kept)).toBeLessThan(MOST);
    expect(kept.at(-1)).toMatchObject({ success: false, arguments: null, error: { effect: "committed" } });
  });

  test("fit into a message of Restate if their text takes several bytes a character", () => {
    const some = Array.from({ length: 12 }, () => execution({ output: "漢".repeat(990_000) }));
    expect(bytesOf(withinMessage(some))).toBeLessThan(MOST);
  });

  test("fit into a message of Restate if the name of a tool is long", () => {
    const toolName = "n".repeat(15_000_000);
    expect(bytesOf(withinMessage([execution({ toolName }), execution({ toolName })]))).toBeLessThan(MOST);
  });
});
