import {
  allow,
  type DispatchContext,
  defineTool,
  openSandboxes,
  type PolicyDecision,
  type Sandboxes,
  ToolRegistry,
} from "sandgate";
import { contractComponent } from "../../test/fixtures/wasm/contract-component.ts";
import { ECHO_MODULE } from "../pool/piscina-echo.ts";
import { type EchoServer, startEchoServer } from "../remote/echo-server.ts";
import { INPUT_SCHEMA } from "../setting.ts";

/** The tools that the soak calls, all of which echo. */
export interface MixedTools {
  /** The tools' names. `echo` is the Wasm tool, named by its component. */
  readonly names: readonly string[];
  readonly context: DispatchContext;
  readonly sandboxes: Sandboxes;
  close(): Promise<void>;
}

/** Opens one tool for each sandbox, and the server of the remote tool. */
export async function openMixedTools(): Promise<MixedTools> {
  const server: EchoServer = await startEchoServer();
  const sandboxes = await openSandboxes();
  const shared = { description: "", inputSchema: INPUT_SCHEMA };
  const net = [{ origin: server.origin, addresses: ["127.0.0.1/32"] }];
  const limits = { wallTimeMs: 10_000 };
  const tools = [
    defineTool({ name: "host", ...shared, host: async (input: unknown) => input }),
    defineTool({ name: "worker", ...shared, host: { module: ECHO_MODULE } }),
    defineTool({ name: "quickjs", ...shared, quickjs: { source: "export default (input) => input" } }),
    defineTool({ name: "wasm", ...shared, wasm: { component: await contractComponent(), tool: "echo" } }),
    defineTool({
      name: "remote",
      ...shared,
      remote: { http: { method: "POST", url: `${server.origin}/arguments` } },
    }),
  ];
  const decisions: Record<string, PolicyDecision> = {
    host: allow({ sandbox: "host", limits }),
    worker: allow({ sandbox: "host", limits }),
    quickjs: allow({ sandbox: "quickjs", limits }),
    wasm: allow({ sandbox: "wasm", limits }),
    remote: allow({ sandbox: "remote", limits, capabilities: { net } }),
  };
  const registry = new ToolRegistry();
  for (const tool of tools) {
    registry.register(tool);
    await sandboxes.prepare(tool);
  }
  const policy: DispatchContext["policy"] = {
    check: ({ tool }) => decisions[tool.name] ?? { decision: "deny", reason: "it is none of these" },
  };
  return {
    names: tools.map(({ name }) => name),
    sandboxes,
    context: { registry, policy, sandboxes, sessionId: "soak" },
    close: async () => {
      await sandboxes.close();
      server.close();
    },
  };
}
