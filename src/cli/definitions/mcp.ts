import { type Command, defineCommand, REQUIRED_CONFIG } from "../command.ts";

const SERVER = { SERVER: { help: "the name of an MCP server in the config" } } as const;

const pin = defineCommand({
  name: "mcp pin",
  summary: "shows the definitions of the tools, and writes those that you approve to the lock",
  details: ["The lock is sandgate.lock beside the config, or its 'lock': see docs/pins.md."],
  arguments: {},
  options: {
    ...REQUIRED_CONFIG,
    yes: { type: "boolean", help: "approves them without a question, for scripts" },
  },
  exitCodes: { 1: "the definitions were not approved" },
  read: ({ config, yes }) => ({ config, isApproved: yes }),
  run: async (options, terminal) => (await import("../commands/mcp/pins.ts")).pin(options, terminal),
});

const diff = defineCommand({
  name: "mcp diff",
  summary: "prints which definitions of tools changed since they were approved",
  arguments: {},
  options: {
    ...REQUIRED_CONFIG,
    accept: { type: "boolean", help: "approves the changes: writes them to the lock" },
  },
  exitCodes: { 1: "a definition differs from the lock" },
  read: ({ config, accept }) => ({ config, accepts: accept }),
  run: async (options, terminal) =>
    (await import("../commands/mcp/pins.ts")).diffDefinitions(options, terminal),
});

const serve = defineCommand({
  name: "mcp serve",
  summary: "serves the tools to a client of MCP over standard input and output",
  details: ["The log goes to standard error. sandgate serve serves MCP at /mcp: see docs/mcp-server.md."],
  arguments: {},
  options: {
    ...REQUIRED_CONFIG,
    workspace: {
      type: "string",
      value: "DIR",
      help: "the folder in which the tools work; default: none",
    },
  },
  read: ({ config, workspace }) => ({ config, workspace }),
  run: async (options, terminal) => (await import("../commands/mcp/serve.ts")).serveMcp(options, terminal),
});

const login = defineCommand({
  name: "mcp login",
  summary: "lets a person allow Sandgate to use an MCP server with 'oauth'",
  details: ["It prints the page on which the person does so, and keeps the tokens: see docs/mcp.md."],
  arguments: SERVER,
  options: REQUIRED_CONFIG,
  exitCodes: { 1: "the login failed" },
  read: ({ config }, { SERVER: server }) => ({ config, server }),
  run: async (options, terminal) => (await import("../commands/mcp/login.ts")).login(options, terminal),
});

const logout = defineCommand({
  name: "mcp logout",
  summary: "deletes the tokens for an MCP server",
  arguments: SERVER,
  options: REQUIRED_CONFIG,
  read: ({ config }, { SERVER: server }) => ({ config, server }),
  run: async (options, terminal) => (await import("../commands/mcp/login.ts")).logout(options, terminal),
});

/** `sandgate mcp …` */
export const MCP_COMMANDS: readonly Command[] = [pin, diff, serve, login, logout];
