import type { ToolExecution } from "../../src/engine/call/execution.ts";
import type { ToolCall } from "../../src/engine/call.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { defineTool } from "../../src/engine/tool.ts";
import type { JsonObject } from "../../src/json/value.ts";
import { HostPolicy } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { ToolFailure } from "../../src/tool/tool-failure.ts";

/** A PNG of one pixel. */
export const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** An image of another type has bytes of that type. */
const image = (mimeType: string): JsonObject => ({
  type: "image",
  mimeType,
  data: mimeType === "image/bmp" ? Buffer.from("BM of another type").toString("base64") : PIXEL,
});
const object = { type: "object" } as const;

/** The tools of the tests. `3d-print` has a name that some providers reject. */
export const registry: ToolRegistry = new ToolRegistry()
  .register(
    defineTool({
      name: "weather",
      description: "Tells the weather of a city",
      inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      host: ({ city }) => ({ city, celsius: 21 }),
    }),
  )
  .register(defineTool({ name: "3d-print", description: "Prints", inputSchema: object, host: () => "done" }))
  .register(defineTool({ name: "silent", description: "Says nothing", inputSchema: object, host: () => "" }))
  .register(
    defineTool({
      name: "broken",
      description: "Always fails",
      inputSchema: object,
      host: () => {
        throw new ToolFailure("execution_error", "HTTP 500: connection refused");
      },
    }),
  )
  .register(
    defineTool({
      name: "picture",
      description: "Draws",
      inputSchema: object,
      host: ({ type }) => ({ content: [{ type: "text", text: "a pixel" }, image(String(type))] }),
    }),
  )
  .register(
    defineTool({
      name: "failed-picture",
      description: "Draws and fails",
      inputSchema: object,
      host: () => ({ content: [{ type: "text", text: "half" }, image("image/png")], success: false }),
    }),
  );

/** Dispatches calls with the engine. A hook aborts those of the tool `aborted`. */
export async function converse(calls: readonly ToolCall[]): Promise<(ToolExecution | null)[]> {
  await using sandboxes = await openSandboxes();
  const hooks = {
    onToolCall: ({ name }: ToolCall) => (name === "aborted" ? ("abort" as const) : undefined),
  };
  const ctx = { registry, policy: new HostPolicy(), sandboxes, sessionId: "test", hooks };
  return await new ToolDispatchEngine().dispatchAll(calls, ctx);
}
