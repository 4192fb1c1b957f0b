import { shown } from "../../rendering/shown.ts";
import { CONFIG, type Command, defineCommand, FOUND_CONFIG, JSON_OUTPUT, withConfig } from "../command.ts";
import type { Shell } from "../commands/completion.ts";
import { UsageError } from "../errors.ts";

/** `sandgate check` */
export const check: Command = defineCommand({
  name: "check",
  endsAtOnce: true,
  summary: "loads everything that a config names, and reports every problem",
  details: [
    "It prepares each tool in each of its sandboxes, and starts MCP servers, which list their tools. No tool runs.",
  ],
  arguments: {},
  options: { ...FOUND_CONFIG, ...JSON_OUTPUT },
  exitCodes: { 0: "there are no errors; there may be warnings" },
  read: ({ config, yes, json }) => ({ config, yes, isJson: json }),
  run: async (options, terminal) =>
    (await import("../commands/check/check.ts")).check(
      await withConfig(options, "loads", terminal),
      terminal,
    ),
});

/** `sandgate doctor` */
export const doctor: Command = defineCommand({
  name: "doctor",
  endsAtOnce: true,
  summary: "prints which sandboxes and limits work on this machine, and how to get the others",
  arguments: {},
  options: {
    config: { ...CONFIG, help: "also prints what this config uses and this machine does not have" },
    ...JSON_OUTPUT,
  },
  exitCodes: { 1: "the config uses something that does not work here" },
  read: ({ config, json }) => ({ config, json }),
  run: async (options, terminal) => (await import("../commands/doctor.ts")).doctor(options, terminal),
});

const SHELLS: readonly Shell[] = ["bash", "zsh", "fish"];

/** `sandgate completion` */
export const completion: Command = defineCommand({
  name: "completion",
  summary: "prints a script with which a shell completes commands and options",
  details: [
    'For bash and zsh, put eval "$(sandgate completion bash)" into ~/.bashrc, or the same with zsh into ~/.zshrc after compinit. For fish, write it to ~/.config/fish/completions/sandgate.fish.',
  ],
  arguments: { SHELL: { help: "bash, zsh or fish" } },
  options: {},
  read: (_, { SHELL: given }) => {
    const shell = SHELLS.find((known) => known === given);
    if (shell !== undefined) return shell;
    throw new UsageError(shown`SHELL must be one of ${SHELLS.join(", ")}, not '${given}'`, {
      word: given,
      known: SHELLS,
    });
  },
  run: async (shell, terminal, all) =>
    (await import("../commands/completion.ts")).completion(shell, all, terminal),
});

/** `sandgate schema` */
export const schema: Command = defineCommand({
  name: "schema",
  summary: "prints the JSON Schema of sandgate.yaml, for editors",
  details: [
    "Write it to a file, and begin the config with # yaml-language-server: $schema=FILE. See docs/configuration.md.",
  ],
  arguments: {},
  options: {},
  read: () => undefined,
  run: async (_, terminal) => (await import("../commands/schema.ts")).schema(terminal),
});

/** `sandgate init` */
export const init: Command = defineCommand({
  name: "init",
  summary: "creates a sandgate.yaml with a tool, a policy and its test",
  details: ["It overwrites no files: if one exists, it writes none."],
  arguments: { DIR: { isOptional: true, help: "the folder; default: the working directory" } },
  options: {},
  read: (_, { DIR = "." }) => DIR,
  run: async (directory, terminal) => (await import("../commands/new-project.ts")).init(directory, terminal),
});
