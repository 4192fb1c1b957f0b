import { expect, test } from "vitest";
import { toToolResult } from "../../src/engine/call/messages.ts";
import { failure, success } from "../../src/tool/content.ts";
import { contextFor, dispatchTool, hostTool } from "../engine/helpers.ts";

test("success gives the model the output, and the embedder the metadata", async () => {
  const execution = await dispatchTool(await contextFor([hostTool(() => success({ n: 1 }, { cost: 3 }))]));
  expect(execution).toMatchObject({ success: true, metadata: { cost: 3 } });
  expect(toToolResult(execution)).toMatchObject({ isError: false, content: [{ text: '{"n":1}' }] });
});

test("success without metadata has none, and a text is given as it is", async () => {
  const execution = await dispatchTool(await contextFor([hostTool(() => success("done"))]));
  expect(execution.metadata).toBeUndefined();
  expect(toToolResult(execution).content).toEqual([{ type: "text", text: "done" }]);
});

test("failure gives the model the message, and fails the call", async () => {
  const tool = hostTool(() => failure("no such file", { errno: 2 }));
  const execution = await dispatchTool(await contextFor([tool]));
  expect(execution.error).toMatchObject({ code: "execution_error", message: "no such file" });
  expect(execution.metadata).toEqual({ errno: 2 });
  expect(toToolResult(execution)).toMatchObject({ isError: true, content: [{ text: "no such file" }] });
});
