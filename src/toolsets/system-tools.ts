import { statfs } from "node:fs/promises";
import { availableParallelism, freemem, loadavg, totalmem, uptime } from "node:os";
import { defineTool, type Tool } from "../engine/tool.ts";
import { inputSchema } from "./input-schema.ts";

/** A tool that says how busy this machine is: `system_monitor`. */
export function systemTools(): readonly Tool[] {
  return [systemMonitor];
}

const systemMonitor = defineTool({
  name: "system_monitor",
  description:
    "Returns the load of this machine (of the last 1, 5 and 15 minutes), and the size and free bytes of its memory and of the disk of the workspace. Use it before work that needs much of them.",
  sideEffects: "read",
  inputSchema: inputSchema({}),
  host: async (_, { workspace }) => ({
    cpus: availableParallelism(),
    load: loadavg(),
    uptimeSeconds: Math.floor(uptime()),
    memory: { totalBytes: totalmem(), freeBytes: freemem() },
    ...(workspace !== undefined && { disk: await diskOf(workspace) }),
  }),
});

async function diskOf(
  workspace: string,
): Promise<{ readonly totalBytes: number; readonly freeBytes: number }> {
  const { bsize, blocks, bavail } = await statfs(workspace);
  return { totalBytes: bsize * blocks, freeBytes: bsize * bavail };
}
