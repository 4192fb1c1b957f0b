import { expect, test } from "vitest";
import { contextFor, dispatchTool, hostTool } from "../helpers.ts";

const outputSchema = { type: "object", properties: { count: { type: "integer" } }, required: ["count"] };

test("An output that matches the tool's output schema is returned", async () => {
  const ctx = await contextFor([hostTool(() => ({ count: 3 }), { outputSchema })]);
  expect((await dispatchTool(ctx)).output).toEqual({ count: 3 });
});

test("An output that does not match the tool's output schema fails the call, which had its effect", async () => {
  const ctx = await contextFor([hostTool(() => ({ count: "three" }), { outputSchema })]);
  expect(await dispatchTool(ctx)).toMatchObject({
    success: false,
    output: null,
    error: {
      code: "execution_error",
      message: "Tool returned an invalid output: /count must be integer",
      effect: "committed",
    },
  });
});

test("A failure that the tool reports with content needs not match the output schema", async () => {
  const report = { content: [{ type: "text", text: "no such file" }], success: false };
  const ctx = await contextFor([hostTool(() => report, { outputSchema })]);
  expect((await dispatchTool(ctx)).error?.message).toBe("no such file");
});
