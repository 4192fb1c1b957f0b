import { afterAll, expect, test } from "vitest";
import { openSandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import { TOOL_FAILURE_CODES, ToolFailure } from "../../../../src/tool/tool-failure.ts";
import { hostTool } from "../../../engine/helpers.ts";
import { startExecutor } from "../../../executor/harness.ts";
import { callOn } from "./setting.ts";

const sandboxes = await openSandboxes();
afterAll(() => sandboxes.close());

test.each(TOOL_FAILURE_CODES)("A ToolFailure with the code %s on an executor arrives whole", async (code) => {
  const tool = hostTool(() => {
    throw new ToolFailure(code, "in its own words", { userVisible: false, metadata: { row: 7 } });
  });
  const { address } = await startExecutor([tool]);
  const { error, metadata } = await callOn(`http://${address}`, "tool", sandboxes);
  expect(error).toEqual({ code, message: "in its own words", effect: "unknown", userVisible: false });
  expect(metadata).toEqual({ row: 7 });
});

test("A tool on an executor that is too slow is told apart from one that says so", async () => {
  const { address } = await startExecutor([hostTool(() => new Promise(() => {}))]);
  const limits = { wallTimeMs: 300 };
  const { error, receipt } = await callOn(`http://${address}`, "tool", sandboxes, { limits });
  expect(error).toMatchObject({ code: "timeout", message: "Tool exceeded 300ms wall time limit" });
  expect(receipt.ended).toMatch(/^(?:requested|unknown)$/);
});
