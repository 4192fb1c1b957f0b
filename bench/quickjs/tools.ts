import {
  allow,
  defineTool,
  type GrantOptions,
  openSandboxes,
  ToolDispatchEngine,
  ToolRegistry,
} from "sandgate";
import { INPUT_SCHEMA, INPUT_TEXT } from "../setting.ts";

const SOURCES: Record<string, string> = {
  echo: "export default (input) => input",
  nested: "export default async (input, { tools }) => tools.call('host', input)",
  // QuickJS does not check its deadline in this function, so the thread has to be terminated.
  deaf: "export default () => [].reverse.call({ length: 2 ** 32 - 1 })",
};

const GRANTS: Record<string, GrantOptions> = {
  echo: { sandbox: "quickjs" },
  nested: { sandbox: "quickjs", capabilities: { tools: ["host"] } },
  deaf: { sandbox: "quickjs", limits: { wallTimeMs: 1 } },
  host: { sandbox: "host" },
};

/** Sandboxes with the QuickJS tools of these benchmarks, and a host tool that they call. */
export interface QuickJsTools {
  dispatch(name: keyof typeof GRANTS, sessionId?: string): Promise<unknown>;
  close(): Promise<void>;
}

/** Opens the tools with this many threads. */
export async function openTools(threads: number): Promise<QuickJsTools> {
  const registry = new ToolRegistry();
  const shared = { description: "", inputSchema: INPUT_SCHEMA };
  for (const [name, source] of Object.entries(SOURCES)) {
    registry.register(defineTool({ name, ...shared, quickjs: { source } }));
  }
  registry.register(defineTool({ name: "host", ...shared, host: (input) => input }));
  const decisions = new Map(Object.entries(GRANTS).map(([name, grant]) => [name, allow(grant)]));
  const policy = {
    check: ({ tool }: { tool: { name: string } }) =>
      decisions.get(tool.name) ?? ({ decision: "deny", reason: "" } as const),
  };
  const sandboxes = await openSandboxes({ workers: { threads } });
  const engine = new ToolDispatchEngine();
  return {
    dispatch: (name, sessionId = "bench") =>
      engine.dispatch(
        { id: "call", name, arguments: INPUT_TEXT },
        { registry, policy, sandboxes, sessionId },
      ),
    close: () => sandboxes.close(),
  };
}
