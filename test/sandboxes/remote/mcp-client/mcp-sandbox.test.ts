import { expect, test } from "vitest";
import type { ResourceLimits } from "../../../../src/policy/grant/limits.ts";
import type { SandboxOutcome } from "../../../../src/sandboxes/contract/outcome.ts";
// Inside: the server is a function that sees the signal of the call, and when its clock stands still.
import { McpSandbox } from "../../../../src/sandboxes/remote/mcp-client/mcp-sandbox.ts";
import type {
  McpCallEnd,
  McpCallOptions,
} from "../../../../src/tool/implementations/remote-implementation.ts";

type McpCall = (args: object, options: McpCallOptions) => Promise<McpCallEnd>;
type DuringCall = (options: McpCallOptions, waited: Promise<void>) => Promise<void>;

/** Runs a call whose server takes three times its wall time. */
async function run(during: DuringCall): Promise<SandboxOutcome["status"]> {
  const call: McpCall = async (_args, options) => {
    const waited = new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, 900);
      options.signal.addEventListener("abort", () => {
        clearTimeout(timer);
        resolve();
      });
    });
    await during(options, waited);
    if (options.signal.aborted) return { status: "cancelled", sent: true };
    return { status: "result", result: { content: [] } };
  };
  return (await outcomeOf(call, { wallTimeMs: 300 })).status;
}

async function outcomeOf(call: McpCall, limits: ResourceLimits): Promise<SandboxOutcome> {
  const sandbox = new McpSandbox();
  const mcp = { call, toJSON: () => ({}) };
  const task = {
    callId: "c",
    turnId: "c",
    input: {},
    limits,
    implementations: { remote: { mcp } },
    observer: { output: () => {}, log: () => {} },
  };
  const outcome = await sandbox.run(task as never);
  await sandbox.close();
  return outcome;
}

test("an output over its limit fails the call, of text and of structured content", async () => {
  const limits = { outputBytes: 100 };
  const call =
    (result: object): McpCall =>
    async () =>
      ({ status: "result", result }) as McpCallEnd;
  const text = { content: [{ type: "text", text: "x".repeat(200) }] };
  for (const result of [text, { content: [], structuredContent: { text: "x".repeat(200) } }]) {
    expect(await outcomeOf(call(result), limits)).toMatchObject({
      status: "limit_exceeded",
      limit: "outputBytes",
    });
  }
  expect(await outcomeOf(call({ content: [] }), limits)).toMatchObject({ status: "completed" });
});

test("the wall time stands still while a person is asked, and also while a second one is", async () => {
  const status = await run(async ({ pause }, waited) => {
    const resumeFirst = pause?.();
    const resumeSecond = pause?.();
    resumeFirst?.();
    resumeFirst?.();
    await waited;
    resumeSecond?.();
  });
  expect(status).toBe("completed");
});

test("the wall time goes on when the person has answered", async () => {
  const status = await run(async ({ pause }, waited) => {
    pause?.()();
    await waited;
  });
  expect(status).toBe("timeout");
});
