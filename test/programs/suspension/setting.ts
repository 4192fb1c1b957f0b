import { join } from "node:path";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { SqliteSuspensionStore } from "../../../src/programs/stores/sqlite-store.ts";
import type { SuspensionStore } from "../../../src/programs/stores/suspension-store.ts";
import type { SuspensionKey } from "../../../src/programs/suspension/keys.ts";
import { openSuspensions, type Suspensions } from "../../../src/programs/suspension/suspensions.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { SessionsOptions } from "../../../src/sessions/options.ts";
import { SqliteSessionStore } from "../../../src/sessions/store/sqlite-store.ts";
import type { SessionStore } from "../../../src/sessions/store/store.ts";

/** A key of tests. */
export const KEY: SuspensionKey = { id: "k1", key: new Uint8Array(32).fill(7) };

/** A JavaScript tool that may call `pay_*` and `read_*`. */
export function program(source: string, more: Partial<Tool> = {}): Tool {
  return {
    name: "program",
    description: "",
    inputSchema: { type: "object" },
    sideEffects: "destructive",
    ...more,
    quickjs: { source },
  } as Tool;
}

/** A tool on the host that keeps its calls. */
export function counted(
  name: string,
  calls: string[],
  more: Partial<Tool> = {},
  run: () => unknown = () => 7,
): Tool {
  return {
    name,
    description: "",
    inputSchema: { type: "object" },
    sideEffects: "write",
    ...more,
    host: ({ to }: { readonly to: string }) => {
      calls.push(`${name} ${to}`);
      return run();
    },
  } as Tool;
}

/** A policy that lets the program call the other tools, and asks about those whose names begin with `pay`. */
export function programPolicy(
  limits: Record<string, number> = {},
  programs: readonly string[] = [],
): RulePolicy {
  return new RulePolicy({
    rules: [
      {
        tools: ["program*", ...programs],
        effect: "allow",
        sandboxes: ["quickjs"],
        capabilities: { tools: ["pay*", "read*", "slow*", "program_inner"] },
        limits: { nestedCalls: 128, ...limits },
      },
      { tools: ["pay*"], effect: "ask", question: "Pay?", sandboxes: ["host"] },
      { tools: ["read*", "slow*"], effect: "allow", sandboxes: ["host"] },
    ],
  });
}

/** What a process with sessions and suspended programs has open. */
export interface Setting {
  readonly options: SessionsOptions;
  readonly suspensions: Suspensions;
}

/** The stores of sessions and of suspended programs. */
export interface SettingStores {
  readonly sessions: SessionStore;
  readonly programs: SuspensionStore;
}

function openFiles(folder: string): SettingStores {
  return {
    sessions: new SqliteSessionStore(join(folder, "sessions.db")),
    programs: new SqliteSuspensionStore(join(folder, "programs.db")),
  };
}

/** Opens stores in a folder, unless there are others, and everything else that sessions need. */
export async function openSetting(
  folder: string,
  tools: readonly Tool[],
  more: Partial<SessionsOptions> & {
    readonly keys?: readonly SuspensionKey[];
    readonly afterMs?: number;
    readonly stores?: SettingStores;
  } = {},
): Promise<Setting> {
  const { keys = [KEY], afterMs, stores = openFiles(folder), ...options } = more;
  const registry = new ToolRegistry();
  for (const tool of tools) registry.register(tool);
  const suspensions = openSuspensions({
    store: stores.programs,
    keys,
    ...(afterMs !== undefined && { afterMs }),
  });
  return {
    suspensions,
    options: {
      registry,
      suspensions,
      policy: programPolicy(),
      sandboxes: await openSandboxes({ workers: { threads: 1 } }),
      store: stores.sessions,
      confirmations: { default: { destructive: "auto", write: "auto", execute: "auto", network: "auto" } },
      ...options,
    },
  };
}
