// Running a server

export type { Credential, Role } from "../server/access/credential.ts";
export { type Server, type ServedSessions, type ServerOptions, startServer } from "../server/server.ts";
