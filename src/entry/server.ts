// Running a server

export type { Receiver } from "../base/receiver.ts";
export type { Credential, Role } from "../server/access/credential.ts";
export type { AdminAction, AdminEvent, AdminOptions } from "../server/admin.ts";
export type { ProtectedResourceOptions } from "../server/mcp/protected-resource.ts";
export {
  type ServedMcp,
  type ServedSessions,
  type Server,
  type ServerOptions,
  startServer,
} from "../server/server.ts";
