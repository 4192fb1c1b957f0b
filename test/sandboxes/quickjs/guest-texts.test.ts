import { afterAll, describe, expect, test } from "vitest";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { defineTool } from "../../../src/engine/tool.ts";
import type { ResourceLimits } from "../../../src/policy/grant/limits.ts";
import { allow } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { contextFor, dispatchTool, recordEvents } from "../../engine/helpers.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

const recorded = recordEvents();

async function run(source: string, limits: ResourceLimits = {}): Promise<ToolExecution> {
  recorded.seen.length = 0;
  const tool = defineTool({ name: "tool", description: "", inputSchema: {}, quickjs: { source } });
  const capabilities = { tools: ["*"] };
  const policy = {
    check: () => allow({ sandbox: "quickjs", limits: { wallTimeMs: 15_000, ...limits }, capabilities }),
  };
  return dispatchTool(await contextFor([tool], { sandboxes, policy, events: recorded.events }));
}

const FAILURES: readonly (readonly [string, string])[] = [
  ["message", "throw new Error('x'.repeat(8e6))"],
  ["stack", "const e = new Error('e'); e.stack = '    at x\\n'.repeat(1e6); throw e"],
  ["name", "const e = new Error('e'); e.name = 'x'.repeat(8e6); throw e"],
  ["cause", "throw new Error('e', { cause: 'x'.repeat(8e6) })"],
  ["errors", "throw new AggregateError(Array(1e4).fill(new Error('x'.repeat(1e3))), 'x'.repeat(8e6))"],
  ["thrown value", "throw 'x'.repeat(8e6)"],
  ["thrown object", "throw { toJSON: () => 'x'.repeat(8e6) }"],
  ["thrown value that JSON expands", "throw '\\u0001'.repeat(4e6)"],
  ["syntax error", "(0, eval)('x '.repeat(2e6))"],
];

describe.each([2_000, 65_536])("with an output limit of %i bytes", (outputBytes) => {
  test.each(
    FAILURES,
  )("a failing call emits no more than that, however large its %s is", async (_case, code) => {
    const { error } = await run(`export default () => { ${code}; };`, { outputBytes });
    expect(error?.code).toBe("execution_error");
    expect(textOf(recorded.seen).length).toBeLessThan(outputBytes + 2_000);
  });

  test.each([
    ...FAILURES,
    ["imported name", "await import('x'.repeat(4e6))"] as const,
    ["imported path", "await import('./' + 'x/'.repeat(2e6) + 'a.js')"] as const,
  ])("nor does a tool that cannot be loaded, however large its %s is", async (_case, code) => {
    const { error } = await run(`${code}; export default () => 1;`, { outputBytes });
    expect(error?.code).toBe("execution_error");
    expect(textOf(recorded.seen).length).toBeLessThan(outputBytes + 2_000);
  });
});

/** The texts of events, without what JSON adds to control characters. */
const textOf = (events: readonly unknown[]): string => JSON.stringify(events).replaceAll(/\\u00../g, "?");

test("log lines of a call take at most 64 KiB, however long and however many they are", async () => {
  for (const line of ["console.log('x'.repeat(2e6))", "console.log(...Array(200).fill('x'.repeat(8e3)))"]) {
    const { output } = await run(`export default () => { for (let i = 0; i < 3; i++) ${line}; return 1; }`);
    expect(output).toBe(1);
    expect(JSON.stringify(recorded.seen).length).toBeLessThan(70_000);
  }
});

test.each([
  ["values", "Array(3e5).fill(1)", "more than 100000 values"],
  [
    "member names",
    "Array.from({ length: 2e4 }, (_, i) => ({ [i]: 1 }))",
    "more than 5000 different member names",
  ],
])("an output of too many %s is refused", async (_case, value, reason) => {
  const { error } = await run(`export default () => ${value}`);
  expect(error).toMatchObject({
    code: "execution_error",
    message: `Tool returned an invalid output: ${reason}`,
  });
});

test("a guest that makes the driver write millions of values exceeds a limit", async () => {
  const setUp =
    "Array.prototype.toJSON = function () { return big; }; const big = {}; big.all = 'x'.repeat(3e6);";
  const { error } = await run(`${setUp} export default () => [1]`);
  expect(error).toMatchObject({ code: "limit_exceeded", message: expect.stringContaining("output") });
  const call = await run(
    `${setUp} export default (_, { tools }) => tools.call("other", [1]).catch(({ code, message }) => code + message)`,
  );
  expect(call.output).toBe("validation_errorthe arguments of a nested call may not exceed 1 MiB");
});
