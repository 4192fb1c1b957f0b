// Running a server

export type { AccessTokenOptions } from "../access-tokens/options.ts";
export type { Credential } from "../server/access/credential.ts";
export type { ServedConsole } from "../server/console/console.ts";
export type { ServedMcp, ServedSessions, ServerOptions } from "../server/options.ts";
export { type Server, startServer } from "../server/server.ts";
export type { Role } from "../shapes/operation.ts";
