import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import { type McpImports, type McpOptions, openMcp } from "../../../src/mcp/import/open-mcp.ts";
import type { StdioServerOptions } from "../../../src/mcp/import/server-options.ts";
import type { ResourceLimits } from "../../../src/policy/grant/limits.ts";
import { allow, NO_ORIGINS, type RuntimePolicy } from "../../../src/policy/policy.ts";
import { openSandboxes, type Sandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { McpNotice } from "../../../src/sandboxes/remote/mcp-client/notice.ts";
import { recordEvents } from "../../engine/helpers.ts";

const SERVER = fileURLToPath(new URL("../../fixtures/mcp/hostile-server.mjs", import.meta.url));
const NODE = realpathSync(process.execPath);

/** A server that is a script of this Node.js, in the sandbox with nothing but the two. */
export function nodeServer(script: string, ...args: readonly string[]): StdioServerOptions {
  return {
    command: NODE,
    args: [script, ...args],
    fs: [
      { file: NODE, at: NODE },
      { file: script, at: script },
    ],
  };
}

/** The hostile server in a mode. */
export function hostile(mode: string, option = ""): StdioServerOptions {
  return nodeServer(SERVER, mode, option);
}

/** Allows every call in the sandbox `remote`. */
export function remotePolicy(limits: ResourceLimits = {}): RuntimePolicy {
  const decision = allow({ sandbox: "remote", limits });
  return { check: () => decision, explain: () => ({ decision, rules: [], ...NO_ORIGINS }) };
}

/** Imported tools, and what tests need to call them. */
export interface OpenedMcp extends AsyncDisposable {
  readonly registry: ToolRegistry;
  readonly mcp: McpImports;
  readonly sandboxes: Sandboxes;
  readonly notices: McpNotice[];
  /** The events of all calls. */
  readonly seen: ReturnType<typeof recordEvents>["seen"];
  call(name: string, args?: JsonObject, more?: CallOptions): Promise<ToolExecution>;
  /** Waits until there is a notice that matches. */
  notice(matches: (notice: McpNotice) => boolean): Promise<McpNotice>;
}

interface CallOptions {
  readonly wallTimeMs?: number;
  readonly signal?: AbortSignal;
}

/** Opens servers with a registry of their own, unless one is given. */
export async function open(
  servers: McpOptions["servers"],
  more: Partial<McpOptions> = {},
): Promise<OpenedMcp> {
  const sandboxes = await openSandboxes();
  const registry = more.registry ?? new ToolRegistry();
  const notices: McpNotice[] = [];
  const waiting = new Set<() => void>();
  const onNotice = (notice: McpNotice): void => {
    // Says of the machine, not of a server, that it has no bubblewrap.
    if (notice.message.startsWith("Programs are confined with Landlock")) return;
    notices.push(notice);
    for (const wake of waiting) wake();
  };
  const mcp = await openMcp({ servers, registry, sandboxes, onNotice, ...more });
  const { events, seen } = recordEvents();
  const engine = new ToolDispatchEngine();
  let calls = 0;
  return {
    registry,
    mcp,
    sandboxes,
    notices,
    seen,
    call: async (name, args = {}, { wallTimeMs = 20_000, signal } = {}) => {
      const policy = remotePolicy({ wallTimeMs });
      const call = { id: `call-${++calls}`, name, arguments: args };
      const ctx = { registry, policy, sandboxes, sessionId: "session", events, ...(signal && { signal }) };
      return (await engine.dispatch(call, ctx)) as ToolExecution;
    },
    notice: (matches) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = notices.find(matches);
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
    [Symbol.asyncDispose]: async () => {
      await mcp.close();
      await sandboxes.close();
    },
  };
}
