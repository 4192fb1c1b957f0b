import {
  CONFIG,
  type Command,
  defineCommand,
  FOUND_CONFIG,
  REQUIRED_CONFIG,
  withConfig,
} from "../command.ts";

const SERVER = { SERVER: { help: "the name of an MCP server in the config" } } as const;

const pin = defineCommand({
  name: "mcp pin",
  summary: "shows the definitions of the tools, and writes those that you approve to the lock",
  details: ["The lock is sandgate.lock beside the config, or its 'lock': see docs/pins.md."],
  arguments: {},
  options: {
    ...FOUND_CONFIG,
    yes: {
      type: "boolean",
      help: "approves them, and a config that was found and not named, without a question, for scripts",
    },
  },
  exitCodes: { 1: "the definitions were not approved" },
  read: ({ config, yes }) => ({ config, yes, isApproved: yes }),
  run: async (options, terminal) =>
    (await import("../commands/mcp/pins.ts")).pin(await withConfig(options, "loads", terminal), terminal),
});

const diff = defineCommand({
  name: "mcp diff",
  summary: "prints which definitions of tools changed since they were approved",
  arguments: {},
  options: {
    ...FOUND_CONFIG,
    accept: { type: "boolean", help: "approves the changes: writes them to the lock" },
  },
  exitCodes: { 1: "a definition differs from the lock" },
  read: ({ config, yes, accept }) => ({ config, yes, accepts: accept }),
  run: async (options, terminal) =>
    (await import("../commands/mcp/pins.ts")).diffDefinitions(
      await withConfig(options, "loads", terminal),
      terminal,
    ),
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
  options: FOUND_CONFIG,
  exitCodes: { 1: "the login failed" },
  read: (options, { SERVER: server }) => ({ ...options, server }),
  run: async (options, terminal) =>
    (await import("../commands/mcp/login.ts")).login(await withConfig(options, "loads", terminal), terminal),
});

const logout = defineCommand({
  name: "mcp logout",
  summary: "deletes the tokens for an MCP server",
  arguments: SERVER,
  options: FOUND_CONFIG,
  read: (options, { SERVER: server }) => ({ ...options, server }),
  run: async (options, terminal) =>
    (await import("../commands/mcp/login.ts")).logout(await withConfig(options, "loads", terminal), terminal),
});

const ADDING = {
  config: { ...CONFIG, help: "the config, which is created if it does not exist; default: sandgate.yaml" },
  confirm: {
    type: "string",
    value: "WHO",
    choices: ["console", "client"],
    help: "who confirms calls, for a new config: an approver at the console, or the person at the client; default: you are asked, or the console",
  },
  scripts: {
    type: "boolean",
    help: "runs the scripts of packages when they are installed, unconfined; default: they do not run",
  },
} as const;

const GRANTS = {
  read: {
    type: "string",
    value: "PATH",
    multiple: true,
    help: "a file or directory that it may read; may be repeated",
  },
  write: {
    type: "string",
    value: "PATH",
    multiple: true,
    help: "a file or directory that it may read and write; may be repeated",
  },
  net: {
    type: "string",
    value: "ORIGIN",
    multiple: true,
    help: "an origin that it may reach; may be repeated",
  },
  address: {
    type: "string",
    value: "RANGE",
    multiple: true,
    help: "an address range that is not public and that the host of its URL may have, such as 127.0.0.1/32; may be repeated",
  },
  env: {
    type: "string",
    short: "e",
    value: "NAME",
    multiple: true,
    help: "a variable of this environment that it gets at each start; may be repeated",
  },
} as const;

const add = defineCommand({
  name: "mcp add",
  summary: "installs an MCP server, starts it once, and adds it to a config with what you grant it",
  details: [
    "The server is started confined and without network. What it is refused is shown as the grant that it would need, with a question for each if there is a terminal: see docs/mcp.md#adding-servers.",
  ],
  arguments: {
    NAME: { help: "the name of the server in the config" },
    COMMAND: { help: "how a client would start it, such as npx -y PACKAGE@VERSION, or its URL; after --" },
    ARGUMENT: { isOptional: true, isMultiple: true, help: "the arguments of the command" },
  },
  takesProgram: true,
  argumentsBefore: 1,
  options: {
    ...ADDING,
    ...GRANTS,
    bearer: {
      type: "string",
      value: "NAME",
      help: "the variable of this environment that has the bearer token for its URL",
    },
  },
  exitCodes: { 1: "the server cannot be used yet, and was not added" },
  read: (
    { config = CONFIG.value, confirm: confirming, scripts, bearer, ...grants },
    { NAME, COMMAND, ARGUMENT },
  ) => ({
    config,
    confirming,
    scripts,
    bearer,
    grants,
    name: NAME,
    words: [COMMAND, ...ARGUMENT],
  }),
  run: async (options, terminal) => (await import("../commands/mcp/adding/add.ts")).add(options, terminal),
});

const importCommand = defineCommand({
  name: "mcp import",
  summary: "shows the servers of a client's config, and adds those that you pick",
  details: [
    "It reads the configs of Claude, Cursor, VS Code, Codex and opencode. Each server that you pick is started once, confined and without network: see docs/mcp.md#importing-servers.",
  ],
  arguments: {
    FILE: {
      isOptional: true,
      help: "the config of a client; default: your own ones. Those of projects are written by strangers, and have to be named",
    },
  },
  options: {
    ...ADDING,
    server: {
      type: "string",
      short: "s",
      value: "NAME",
      multiple: true,
      help: "imports this one; may be repeated; default: you are asked about each",
    },
    ...GRANTS,
    "write-client": {
      type: "boolean",
      help: "has the client's config name Sandgate in the places of the imported servers, with a backup",
    },
    undo: { type: "boolean", help: "puts back what --write-client has changed last in FILE" },
  },
  exitCodes: { 1: "a server cannot be used yet, and was not added" },
  read: (
    {
      config = CONFIG.value,
      confirm: confirming,
      scripts,
      server: servers,
      "write-client": writesClient,
      undo: undoes,
      ...grants
    },
    { FILE: file },
  ) => ({ config, confirming, scripts, servers, writesClient, undoes, grants, file }),
  run: async (options, terminal) =>
    (await import("../commands/mcp/adding/import.ts")).importServers(options, terminal),
});

const install = defineCommand({
  name: "mcp install",
  summary: "installs the packages of a config's MCP servers that are missing on this machine",
  arguments: {},
  options: { ...REQUIRED_CONFIG, scripts: ADDING.scripts },
  exitCodes: { 1: "a package cannot be installed" },
  read: ({ config, scripts }) => ({ config, scripts }),
  run: async (options, terminal) =>
    (await import("../commands/mcp/adding/update.ts")).install(options, terminal),
});

const update = defineCommand({
  name: "mcp update",
  summary: "installs another version of an MCP server's package, and shows what changes",
  details: [
    "What the tools of the new version say is shown, and approved, with mcp diff: see docs/mcp.md#packages.",
  ],
  arguments: {
    ...SERVER,
    VERSION: { isOptional: true, help: "a version, a range or a tag; default: latest" },
  },
  options: { ...REQUIRED_CONFIG, scripts: ADDING.scripts },
  exitCodes: { 1: "the package cannot be installed" },
  read: ({ config, scripts }, { SERVER: server, VERSION: version }) => ({ config, scripts, server, version }),
  run: async (options, terminal) =>
    (await import("../commands/mcp/adding/update.ts")).update(options, terminal),
});

/** `sandgate mcp …` */
export const MCP_COMMANDS: readonly Command[] = [
  add,
  importCommand,
  install,
  update,
  pin,
  diff,
  serve,
  login,
  logout,
];
