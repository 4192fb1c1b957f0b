import { CONFIG, type Command, defineCommand } from "../command.ts";

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
    run: async (options, terminal) => (await import("../commands/run.ts")).runConfined(options, terminal),
  }),
];
