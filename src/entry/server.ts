// Running a server

export type {
  AccessTokenOptions,
  PrincipalClaims,
  SignatureAlgorithm,
  TokenType,
} from "../access-tokens/options.ts";
export type { Receiver } from "../base/receiver.ts";
export type { Credential, Role } from "../server/access/credential.ts";
export type { AdminAction, AdminEvent, AdminOptions } from "../server/admin.ts";
export type { ServedConsole } from "../server/console/options.ts";
export type { ServedMcp, ServedSessions, ServerOptions } from "../server/options.ts";
export { type Server, startServer } from "../server/server.ts";
