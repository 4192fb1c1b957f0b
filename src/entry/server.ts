// Running a server

export type { AccessTokenOptions } from "../access-tokens/options.ts";
export type { Role } from "../http/access.ts";
export type { Credential } from "../http/clients.ts";
export type { ServedConsole } from "../server/console/console.ts";
export type { ServedMcp, ServedSessions, ServerOptions } from "../server/options.ts";
export { type Server, startServer } from "../server/server.ts";
