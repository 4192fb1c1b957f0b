import { ToolRegistry } from "../../src/engine/registry.ts";
import { type Executor, startExecutor } from "../../src/executor/executor.ts";
import { allow } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import type { ToolImplementations } from "../../src/tool/implementations/implementations.ts";
import type { Target } from "./targets.ts";

/** The tools of another target, each behind a separate executor, since the suite gives all of them the same name. */
export async function executorTarget(behind: Target): Promise<Target> {
  const sandboxes = await openSandboxes({ workers: { threads: 1 } });
  const executors: Executor[] = [];
  const { sandbox } = behind;
  // The executor's own policy grants a capability that its sandbox lacks: such a call is refused, not narrowed.
  const policy = { check: () => allow({ sandbox, capabilities: { env: ["HOME"] } }) };
  const serve = async (implementations: ToolImplementations): Promise<ToolImplementations> => {
    const tool = { name: "tool", description: "", inputSchema: { type: "object" }, ...implementations };
    const registry = new ToolRegistry().register(tool);
    const executor = await startExecutor({ listen: "127.0.0.1:0", registry, policy, sandboxes });
    executors.push(executor);
    return { remote: { executor: `http://${executor.address}` } };
  };
  return {
    name: "executor",
    sandbox: "remote",
    ...(behind.bomb && { bomb: await serve(behind.bomb) }),
    tools: {
      echo: await serve(behind.tools.echo),
      fail: await serve(behind.tools.fail),
      breaks: await serve(behind.tools.breaks),
      loop: await serve(behind.tools.loop),
      large: await serve(behind.tools.large),
      unserialisable: await serve(behind.tools.unserialisable),
    },
    close: async () => {
      await Promise.all(executors.map((executor) => executor.close()));
      await sandboxes.close();
    },
  };
}
