import { RecordedRuntime } from "../../src/cluster/open-postgres.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { Tool } from "../../src/engine/tool.ts";
import { HostPolicy } from "../../src/policy/policy.ts";
import { openSuspensions } from "../../src/programs/suspension/suspensions.ts";
import type { SharedBackend } from "../../src/record/backend.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import type { SessionsOptions } from "../../src/sessions/options.ts";
import { openSessions, type Sessions } from "../../src/sessions/sessions.ts";
import { KEY } from "../programs/suspension/setting.ts";

/** After how many ms without a sign of it a server is taken for gone. */
export const LEASE_MS = 1_000;

/** Opens the sessions of one server over a backend, which it closes. Servers over the same entries share them. */
export async function openServer(
  backend: SharedBackend,
  tools: readonly Tool[],
  more: Partial<SessionsOptions> = {},
): Promise<Sessions> {
  const registry = new ToolRegistry();
  for (const tool of tools) registry.register(tool);
  const durable = new RecordedRuntime(backend, LEASE_MS, 500);
  return openSessions({
    suspensions: openSuspensions({ store: durable.programs, keys: [KEY] }),
    registry,
    policy: new HostPolicy(),
    sandboxes: await openSandboxes(),
    durable,
    ...more,
  });
}
