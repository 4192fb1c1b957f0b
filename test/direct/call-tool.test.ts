import { describe, expect, test } from "vitest";
import { callTool } from "../../src/direct/call-tool.ts";
import { defineTool } from "../../src/engine/tool.ts";

const double = defineTool({
  name: "double",
  description: "Doubles a number.",
  inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
  host: ({ n }) => 2 * n,
});

describe("callTool", () => {
  test("runs the host function with validated arguments, as text or as a value", async () => {
    expect((await callTool(double, { n: 21 })).output).toBe(42);
    expect((await callTool(double, '{"n":21}')).output).toBe(42);
  });

  test("refuses arguments that the schema does not accept, and runs nothing", async () => {
    const { error } = await callTool(double, { n: "21" });
    expect(error).toMatchObject({ code: "validation_error", effect: "none" });
    expect((await callTool(double, "{")).error?.code).toBe("validation_error");
    expect((await callTool(double, { n: Number.NaN })).error?.code).toBe("validation_error");
  });

  test("gives what the tool throws as an execution", async () => {
    const tool = defineTool({
      name: "broken",
      description: "",
      inputSchema: {},
      host: () => {
        throw new Error("no disk");
      },
    });
    expect((await callTool(tool, {})).error).toMatchObject({ code: "execution_error", message: "no disk" });
  });

  test("passes the embedder's value, and cancels with the signal", async () => {
    const tool = defineTool<Record<string, never>, { readonly user: string }>({
      name: "who",
      description: "",
      inputSchema: {},
      host: (_input, { embedder }) => embedder.user,
    });
    expect((await callTool(tool, {}, { context: { embedder: { user: "ada" } } })).output).toBe("ada");
    const signal = AbortSignal.abort();
    expect((await callTool(tool, {}, { signal })).error?.code).toBe("cancelled");
  });

  test("passes what a session would tell the tool", async () => {
    const tool = defineTool({
      name: "who",
      description: "",
      inputSchema: {},
      host: (_input, { sessionId, turnId, workspace, principal }) => ({
        sessionId,
        turnId,
        workspace,
        principal: principal?.id,
      }),
    });
    const context = {
      sessionId: "s1",
      turnId: "t1",
      workspace: "/srv",
      principal: { id: "ada", kind: "user" } as const,
    };
    expect((await callTool(tool, {}, { context })).output).toEqual({ ...context, principal: "ada" });
    expect((await callTool(tool, {})).output).toEqual({ sessionId: "direct" });
    const bad = { context: { principal: { id: "" } as never } };
    expect((await callTool(tool, {}, bad)).error?.code).toBe("permission_denied");
  });

  test("needs a host implementation", async () => {
    const tool = defineTool({
      name: "guest",
      description: "",
      inputSchema: {},
      quickjs: { source: "export default () => 1" },
    });
    expect((await callTool(tool, {})).error?.code).toBe("sandbox_unavailable");
  });

  test("throws at once for a tool that cannot be registered", () => {
    expect(() => callTool({ ...double, name: "" }, {})).toThrow("cannot be registered");
  });
});
