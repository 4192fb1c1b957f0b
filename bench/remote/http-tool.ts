import { allow, openSandboxes, ToolDispatchEngine, type ToolImplementations, ToolRegistry } from "sandgate";
import { Pool } from "undici";
import type { OpenCase } from "../harness/case.ts";
import { INPUT_SCHEMA, INPUT_TEXT, isEcho, isInput } from "../setting.ts";
import { startEchoServer } from "./echo-server.ts";

const HEADERS = { "content-type": "application/json", accept: "application/json" };

/** Opens a case that sends a body to a path of the echo server with undici alone. */
export async function openUndici(
  path: string,
  body: unknown,
  read: (answer: unknown) => unknown = (answer) => answer,
): Promise<OpenCase> {
  const server = await startEchoServer();
  const pool = new Pool(server.origin);
  return {
    run: async () => {
      const sent = { path, method: "POST", headers: HEADERS, body: JSON.stringify(body) } as const;
      const answer = await pool.request(sent);
      return answer.body.json();
    },
    check: (answer) => isInput(read(answer)),
    close: async () => {
      await pool.close();
      server.close();
    },
  };
}

/** Opens a case that dispatches a tool at the echo server. */
export async function openRemoteTool(
  implementationAt: (origin: string) => ToolImplementations,
): Promise<OpenCase> {
  const server = await startEchoServer();
  const sandboxes = await openSandboxes();
  const engine = new ToolDispatchEngine();
  const implementation = implementationAt(server.origin);
  const tool = { name: "echo", description: "", inputSchema: INPUT_SCHEMA, ...implementation };
  const capabilities = { net: [{ origin: server.origin, addresses: ["127.0.0.1/32"] }] };
  const decision = allow({ sandbox: "remote", capabilities });
  const registry = new ToolRegistry().register(tool);
  const ctx = { registry, policy: { check: () => decision }, sandboxes, sessionId: "bench" };
  const call = { id: "call", name: "echo", arguments: INPUT_TEXT };
  return {
    run: () => engine.dispatch(call, ctx),
    check: isEcho,
    close: async () => {
      await sandboxes.close();
      server.close();
    },
  };
}
