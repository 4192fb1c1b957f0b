import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import { HostPolicy } from "../../../src/policy/policy.ts";
import type { SuspensionKey } from "../../../src/programs/suspension/keys.ts";
import { openSuspensions } from "../../../src/programs/suspension/suspensions.ts";
import { openRestate } from "../../../src/restate/sessions/open-restate.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { SessionsOptions } from "../../../src/sessions/options.ts";
import { openSessions, type Sessions } from "../../../src/sessions/sessions.ts";
import { KEY } from "../../programs/suspension/setting.ts";
import type { RestateNode } from "../restate-nodes.ts";

/** Where a server listens, and which tools it has. */
export interface ServerOptions extends Partial<SessionsOptions> {
  readonly node: Pick<RestateNode, "ingress" | "admin">;
  readonly port: number;
  readonly tools: readonly Tool[];
  /** The URL under which Restate reaches the server. Default: that of the port. */
  readonly advertise?: string;
  /** For how many milliseconds calls may go on when the server ends. Default: 100. */
  readonly drainMs?: number;
  /** Those under which it seals programs. Default: the same for all servers. */
  readonly keys?: readonly SuspensionKey[];
}

/** Opens the sessions of one server on a node of Restate. Servers on the same port share them. */
export async function openServer({
  node,
  port,
  tools,
  advertise,
  drainMs = 100,
  keys = [KEY],
  ...more
}: ServerOptions): Promise<Sessions> {
  const registry = new ToolRegistry();
  for (const tool of tools) registry.register(tool);
  const durable = await openRestate({
    ingress: node.ingress,
    admin: node.admin,
    drainMs,
    listen: { port, reusePort: true },
    ...(advertise !== undefined && { advertise }),
  });
  return openSessions({
    suspensions: openSuspensions({ store: durable.programs, keys }),
    registry,
    policy: new HostPolicy(),
    sandboxes: await openSandboxes(),
    durable,
    ...more,
  });
}
