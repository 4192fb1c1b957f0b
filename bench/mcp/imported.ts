import { allow, openSandboxes, ToolDispatchEngine, ToolRegistry } from "sandgate";
import { openMcp } from "sandgate/mcp";
import { NotHereError, type OpenCase } from "../harness/case.ts";
import { INPUT_TEXT, isInput, outputOf } from "../setting.ts";

/** Opens a case that dispatches calls of the tool that the MCP server `s0` has. */
export async function openImported(servers: object, close?: () => unknown): Promise<OpenCase> {
  const registry = new ToolRegistry();
  const sandboxes = await openSandboxes();
  const imports = await openMcp({
    servers: servers as never,
    registry,
    sandboxes,
    classes: { "mcp_*": "read" },
  });
  const problem = imports.servers.get("s0")?.problem;
  if (problem !== undefined) throw new NotHereError(problem);
  const decision = allow({ sandbox: "remote" });
  const ctx = { registry, policy: { check: () => decision }, sandboxes, sessionId: "bench" };
  const engine = new ToolDispatchEngine();
  const call = { id: "call", name: "mcp_s0_echo", arguments: INPUT_TEXT };
  return {
    run: () => engine.dispatch(call, ctx),
    check: (execution) => {
      const { content } = outputOf(execution) as { readonly content?: readonly { readonly text: string }[] };
      isInput(JSON.parse(content?.[0]?.text ?? "null"));
    },
    close: async () => {
      await imports.close();
      await sandboxes.close();
      await close?.();
    },
  };
}
