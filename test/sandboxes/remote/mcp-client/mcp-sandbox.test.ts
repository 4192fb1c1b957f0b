import { expect, test } from "vitest";
import { McpSandbox } from "../../../../src/sandboxes/remote/mcp-client/mcp-sandbox.ts";
import type {
  McpCallEnd,
  McpCallOptions,
} from "../../../../src/tool/implementations/remote-implementation.ts";

/** Runs a call whose server takes three times its wall time. */
async function run(during: (options: McpCallOptions, waited: Promise<void>) => Promise<void>) {
  const sandbox = new McpSandbox();
  const call = async (_args: object, options: McpCallOptions): Promise<McpCallEnd> => {
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
  const mcp = { call, toJSON: () => ({}) };
  const task = {
    callId: "c",
    turnId: "c",
    input: {},
    limits: { wallTimeMs: 300 },
    implementations: { remote: { mcp } },
    observer: { output: () => {}, log: () => {} },
  };
  const outcome = await sandbox.run(task as never);
  await sandbox.close();
  return outcome.status;
}

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
