import { describe, expect, test } from "vitest";
import { hangsAtExit, runStuck } from "../../../fixtures/stuck/run.ts";

const canReplace = typeof process.execve === "function";
const why = canReplace ? "" : " (this system cannot replace a process)";

describe.runIf(canReplace)(`with ensureExit(), a process with a thread that cannot be ended${why}`, () => {
  test.each([
    ["process.exit(5)", 5],
    ["process.exit() with process.exitCode", 6],
    ["the natural end", 0],
    ["the natural end with process.exitCode", 6],
    ["an exit code from a listener", 9],
    ["after close()", 3],
  ])("a process with ensureExit() ends with its exit code, after all exit listeners: %s", async (way, code) => {
    expect(await runStuck("exits.ts", [way])).toMatchObject({
      code,
      signal: null,
      stdout: "earlier listener\nlater listener\n",
    });
  });

  test.each([
    "an uncaught error",
    "an unhandled rejection",
  ])("a process with ensureExit() ends and prints %s", async (way) => {
    const { code, signal, stdout, stderr } = await runStuck("exits.ts", [way]);
    expect({ code, signal, stdout }).toEqual({
      code: 1,
      signal: null,
      stdout: "earlier listener\nlater listener\n",
    });
    expect(stderr).toMatch(/Error: nobody catches this\n\s+at /);
  });
});

test("without ensureExit(), a process with a thread that cannot be ended hangs at its exit", async () => {
  expect(await hangsAtExit("exits.ts", ["process.exit(5)", "unensured"], "later listener")).toBe(true);
});
