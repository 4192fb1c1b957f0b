import { afterAll, expect, test } from "vitest";
import { ask } from "../../../../src/policy/policy.ts";
import { openSandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import { hostTool } from "../../../engine/helpers.ts";
import { startExecutor } from "../../../executor/harness.ts";
import { callOn } from "./setting.ts";

const sandboxes = await openSandboxes();
afterAll(() => sandboxes.close());

test("A call that people at the executor confirmed, and whose question they answered, arrives without their names", async () => {
  const tool = hostTool((_, context) => context.ask({ question: "Which?" }));
  const { address } = await startExecutor([tool], {
    policy: { check: () => ask("Run it?", { grant: { sandbox: "host" } }) },
    confirm: async () => ({ decision: "allow", by: "ann" }),
    ask: async () => ({ decision: "answer", by: "bob", answer: "this one" }),
  });
  const execution = await callOn(`http://${address}`, "tool", sandboxes);
  expect(execution).toMatchObject({ success: true, output: "this one" });
  expect(JSON.stringify(execution)).not.toMatch(/ann|bob/);
});
