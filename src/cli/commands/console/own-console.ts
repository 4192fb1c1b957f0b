import { userInfo } from "node:os";
import type { ServedConfig } from "../../config/server/load-server.ts";

/** Adds a console for the user of this process, who may do everything that a person can. */
export function withOwnConsole(served: ServedConfig | undefined): ServedConfig {
  const operator = { id: operatorId(), roles: ["admin", "approver"], approves: ["*"] } as const;
  return { ...(served ?? { credentials: [], origins: [], workspaces: [] }), console: { operator } };
}

/** The name of the user of this process. */
export function operatorId(): string {
  return userInfo().username;
}
