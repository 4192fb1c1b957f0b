import { shown } from "../../rendering/shown.ts";
import { type Command, defineCommand } from "../command.ts";
import type { Shell } from "../commands/completion.ts";
import { UsageError } from "../errors.ts";

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
  run: async (directory, terminal) => (await import("../commands/init.ts")).init(directory, terminal),
});
