import { userInfo } from "node:os";
import type { ServedConfig, ServerConfig } from "../config/server/load-server.ts";

/** Adds a console for the user of this process, who may do everything that a person can. */
export function withOwnConsole({ served, options }: Pick<ServerConfig, "served" | "options">): ServedConfig {
  const operator = { id: operatorId(), roles: ["admin", "approver"], approves: ["*"] } as const;
  const { token, keys = new Map(), certificates = [] } = options;
  // Without credentials, any program of this machine would be a client of the executor.
  const executor = token !== undefined || keys.size > 0 || certificates.length > 0;
  return { ...(served ?? { credentials: [], origins: [], workspaces: [], executor }), console: { operator } };
}

/** The name of the user of this process. */
export function operatorId(): string {
  return userInfo().username;
}
