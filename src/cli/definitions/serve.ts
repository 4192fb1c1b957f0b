import {
  CONFIG,
  type Command,
  defineCommand,
  FOUND_CONFIG,
  REQUIRED_CONFIG,
  withConfig,
} from "../command.ts";

/** `sandgate serve` */
export const serve: Command = defineCommand({
  name: "serve",
  summary: "dispatches calls over HTTP until SIGTERM",
  details: [
    "SIGHUP reloads tools, policy, keys and modes: see docs/remote-protocol.md. The operator's log goes to standard error: see docs/operations.md.",
  ],
  arguments: {},
  options: {
    ...REQUIRED_CONFIG,
    listen: {
      type: "string",
      short: "l",
      value: "HOST:PORT|unix:PATH",
      help: "the address; default: the config's server.listen, or 127.0.0.1:7420",
    },
    restate: {
      type: "string",
      value: "URL",
      help: "keeps sessions on Restate, with this ingress, so that they outlive the server; default: the config's durable.restate",
    },
  },
  read: ({ config, listen, restate }) => ({ config, listen, restate }),
  run: async (options, terminal) => (await import("../commands/serve/serve.ts")).serve(options, terminal),
});

/** `sandgate console` */
export const console: Command = defineCommand({
  name: "console",
  summary: "serves a config with sessions, and a page that shows its calls and takes your answers",
  details: [
    "It prints a link with a token that works once. It is like serve otherwise, with sessions whether or not the config has them: see docs/console.md.",
  ],
  arguments: {
    MESSAGE: { isOptional: true, help: "an assistant's message whose calls are made; - is standard input" },
  },
  options: {
    ...FOUND_CONFIG,
    config: {
      ...CONFIG,
      help: "the tools and the policy; default: sandgate.yaml in this folder, if only you can write it, or the example without one",
    },
    example: {
      type: "boolean",
      help: "shows an example: calls that ran, one that was denied, one that waits for you",
    },
    listen: {
      type: "string",
      short: "l",
      value: "127.0.0.1:PORT",
      help: "an address of this machine; default: 127.0.0.1:0, any free port",
    },
  },
  read: ({ config, yes, listen = "127.0.0.1:0", example }, { MESSAGE }) => ({
    config,
    yes,
    listen,
    message: MESSAGE,
    isExample: example,
  }),
  run: async (options, terminal) => {
    const { ServedConsole } = await import("../commands/console.ts");
    await using served = await ServedConsole.open(options, terminal);
    const { serve } = await import("../commands/serve/serve.ts");
    const { config, listen, message } = served;
    return await serve(
      { config, listen, console: true, ...(message !== undefined && { message }) },
      terminal,
    );
  },
});

/** `sandgate supervise` */
export const supervise: Command = defineCommand({
  name: "supervise",
  summary: "runs an agent as a child process, and answers its tool calls",
  details: [
    "The agent writes its calls as lines: see docs/supervisor.md. It is confined: it sees the system's files and, read-only, the working directory, and has no network.",
  ],
  arguments: {
    PROGRAM: { help: "the agent, after --" },
    ARGUMENT: { isOptional: true, isMultiple: true, help: "the arguments of the agent" },
  },
  takesProgram: true,
  options: {
    ...FOUND_CONFIG,
    config: {
      ...CONFIG,
      help: "the tools, and what each agent may have done for it; default: sandgate.yaml in this folder, if only you can write it",
    },
    agent: {
      type: "string",
      short: "a",
      value: "NAME",
      help: "which of the config's agents; default: the only one",
    },
    fd: {
      type: "string",
      value: "3",
      choices: ["3"],
      help: "takes the calls from the agent's descriptor 3, a socket; default: from its standard output, with the answers on its standard input",
    },
    env: {
      type: "string",
      short: "e",
      value: "NAME",
      multiple: true,
      help: "a variable that the agent gets; may be repeated",
    },
    unconfined: {
      type: "boolean",
      help: "does not confine the agent: it can do everything that you can",
    },
  },
  exitCodes: {
    "the agent's": "the agent ended; 128 and the number of the signal if a signal ended it",
  },
  read: ({ config, yes, agent, fd, env, unconfined }, { PROGRAM, ARGUMENT }) => ({
    config,
    yes,
    agent,
    env,
    hasChannel: fd === "3",
    isUnconfined: unconfined,
    command: [PROGRAM, ...ARGUMENT] as const,
  }),
  run: async (options, terminal) =>
    (await import("../commands/supervise.ts")).supervise(
      await withConfig(options, "calls", terminal),
      terminal,
    ),
});

/** `sandgate confirm` */
export const confirm: Command = defineCommand({
  name: "confirm",
  summary: "lists the open questions of a server of sessions, and takes your answers",
  details: ["Without a terminal, it only lists them. See docs/confirmations.md."],
  arguments: { URL: { help: "the URL of the server, such as http://127.0.0.1:7420" } },
  options: {
    "token-file": {
      type: "string",
      value: "FILE",
      help: "the file with an approver's token; default: the variable SANDGATE_TOKEN",
    },
    watch: { type: "boolean", short: "w", help: "waits for further questions until interrupted" },
  },
  read: ({ "token-file": tokenFile, watch }, { URL }) => ({ url: URL, tokenFile, watch }),
  run: async (options, terminal) => (await import("../commands/confirm.ts")).confirm(options, terminal),
});

const OPTIONS = {
  config: { ...CONFIG, help: "the config; default: ~/.config/sandgate/guard/sandgate.yaml" },
} as const;

const MANAGED = {
  managed: {
    type: "boolean",
    help: "in the settings of the whole machine, which no project switches off; needs the rights to write them",
  },
} as const;

const AGENTS = { isMultiple: true, help: "claude-code, codex, gemini or opencode" } as const;

const given = { isManaged: false, workspaces: [], agents: [] } as const;

/** `sandgate guard …` and `sandgate run` */
export const GUARD_COMMANDS: readonly Command[] = [
  defineCommand({
    name: "guard install",
    summary: "has Sandgate decide on every call of coding agents",
    details: [
      "It writes a hook into the settings of each agent, and a config if there is none: see docs/guard.md. An agent that is not confined itself can remove the hook.",
    ],
    arguments: { AGENT: AGENTS },
    options: {
      ...OPTIONS,
      ...MANAGED,
      workspace: {
        type: "string",
        short: "w",
        value: "DIR",
        multiple: true,
        help: "a folder in which agents may work, for a new config; default: the working directory",
      },
    },
    read: ({ config, managed, workspace }, { AGENT }) => ({
      config,
      agents: AGENT,
      isManaged: managed,
      workspaces: workspace,
    }),
    run: async (options, terminal) => (await import("../commands/guard.ts")).installGuard(options, terminal),
  }),
  defineCommand({
    name: "guard uninstall",
    summary: "removes the hooks of coding agents",
    arguments: { AGENT: { ...AGENTS, isOptional: true } },
    options: { ...OPTIONS, ...MANAGED },
    read: ({ config, managed }, { AGENT }) => ({ ...given, config, agents: AGENT, isManaged: managed }),
    run: async (options, terminal) =>
      (await import("../commands/guard.ts")).uninstallGuard(options, terminal),
  }),
  defineCommand({
    name: "guard status",
    summary: "says of each coding agent whether its calls are decided on, and what is not covered",
    arguments: { AGENT: { ...AGENTS, isOptional: true } },
    options: OPTIONS,
    exitCodes: { 1: "an agent that was named has no hook, or a hook does not work as installed" },
    read: ({ config }, { AGENT }) => ({ ...given, config, agents: AGENT }),
    run: async (options, terminal) => (await import("../commands/guard.ts")).guardStatus(options, terminal),
  }),
  defineCommand({
    name: "guard daemon",
    summary: "answers the hooks of coding agents until SIGTERM; the first call starts it",
    arguments: {},
    options: OPTIONS,
    read: ({ config }) => ({ ...given, config }),
    run: async (options, terminal) => {
      const guarded = (await import("../commands/guard.ts")).guardedConfig(options);
      return (await import("../commands/serve/serve.ts")).serve({ ...guarded, listen: undefined }, terminal);
    },
  }),
  defineCommand({
    name: "run",
    summary: "runs a command that was allowed to a coding agent, confined",
    details: ["`sandgate guard` writes this command in place of the agent's own one: see docs/guard.md."],
    takesProgram: true,
    arguments: { COMMAND: { help: "the command, for bash" } },
    options: {
      socket: { type: "string", value: "PATH", required: true, help: "the socket of sandgate guard daemon" },
      key: { type: "string", value: "KEY", required: true, help: "its public key" },
      ticket: { type: "string", value: "TICKET", required: true, help: "what was allowed, once" },
    },
    exitCodes: { 126: "the command was not run", "the command's": "it has ended" },
    read: ({ socket, key, ticket }, { COMMAND }) => ({ socket, key, ticket, command: COMMAND }),
    run: async (options, terminal) => (await import("../commands/guard.ts")).runConfined(options, terminal),
  }),
];

/** `sandgate store backup` */
export const storeBackup: Command = defineCommand({
  name: "store backup",
  summary: "copies a store of sessions or programs, even while a server has it open",
  details: [
    "The copy is the store as it was at one moment, and only you can read it. See docs/operate/backup.md.",
  ],
  arguments: {
    FILE: { help: "the store, such as sandgate-sessions.db" },
    TARGET: { help: "the file of the copy, which must not exist" },
  },
  options: {},
  read: (_, { FILE: file, TARGET: target }) => ({ file, target }),
  run: async (options, terminal) => (await import("../commands/store.ts")).backup(options, terminal),
});
