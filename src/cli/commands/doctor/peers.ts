import type { ImportedServerOptions } from "../../../mcp/import/server-options.ts";
import type { SandboxesOptions } from "../../../sandboxes/open-sandboxes.ts";
import { type PeerReport, reportExecutor, reportServer } from "../../../sandboxes/remote/peer-report.ts";
import { type ExecutorAddress, parseExecutors } from "../../../tool/executor-address.ts";
import { isExecutorImplementation } from "../../../tool/implementations/remote-implementation.ts";
import type { ConfiguredTool } from "../../config/tools/load-tools.ts";

/** Asks each executor and each MCP server over HTTP of a config for a response. Calls no tool, and sends no tokens and signatures. */
export async function reportPeers(
  tools: readonly ConfiguredTool[],
  servers: Readonly<Record<string, ImportedServerOptions>>,
  { remote }: Pick<SandboxesOptions, "remote">,
): Promise<PeerReport[]> {
  const executors = new Map<string, ExecutorAddress>();
  for (const { tool } of tools) {
    if (!isExecutorImplementation(tool.remote)) continue;
    const parsed = parseExecutors(tool.remote.executor);
    if (typeof parsed !== "string") for (const address of parsed) executors.set(address.url, address);
  }
  const urls = Object.values(servers).flatMap((server) => ("url" in server ? [String(server.url)] : []));
  return Promise.all([
    ...Array.from(executors.values(), (address) => reportExecutor(address, remote)),
    ...[...new Set(urls)].map((url) => reportServer(url)),
  ]);
}
