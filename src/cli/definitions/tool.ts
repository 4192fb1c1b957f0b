import { shown } from "../../rendering/shown.ts";
import { CONFIG, type Command, defineCommand, FOUND_CONFIG, JSON_OUTPUT, withConfig } from "../command.ts";
import type { Shell } from "../commands/completion.ts";
import { UsageError } from "../errors.ts";
import { ENGINES, LANGUAGES, type Template } from "../tool-command.ts";

const FILE = { help: "the tool's module or component" };
const EXPORT = {
  type: "string",
  short: "e",
  value: "NAME",
  help: "the exported function; default: 'default', or the only tool of a component",
} as const;
const ENGINE = {
  type: "string",
  value: "jco",
  choices: ENGINES,
  help: "jco: runs a component that you trust with the code that jco generates",
} as const;

const run = defineCommand({
  name: "tool run",
  summary: "calls a tool, and prints its result, log and receipt",
  details: ["JavaScript and TypeScript run in QuickJS, WebAssembly components in the Wasm sandbox."],
  arguments: { FILE },
  options: {
    input: {
      type: "string",
      short: "i",
      value: "JSON|@FILE|-",
      help: "the tool's input: JSON, a file that has it, or - for standard input; default: {}",
    },
    policy: {
      type: "string",
      short: "p",
      value: "FILE",
      help: "the policy file that grants the call; default: the sandbox's own limits",
    },
    store: {
      type: "string",
      short: "s",
      value: "FILE",
      help: "the file that keeps the key-value stores; default: they end with the call",
    },
    export: EXPORT,
    tool: {
      type: "string",
      short: "t",
      value: "NAME",
      help: "which of a component's tools; default: the only one",
    },
    engine: ENGINE,
  },
  exitCodes: { 1: "the tool failed" },
  read: ({ input = "{}", ...options }, { FILE: file }) => ({
    name: "tool run" as const,
    file,
    input,
    ...options,
  }),
  run: async (options, terminal) => {
    const { readInput, runTool } = await import("../commands/tool/run.ts");
    const input = await readInput("--input", options.input, terminal);
    return runTool({ ...options, input }, terminal);
  },
});

const checkTool = defineCommand({
  name: "tool check",
  endsAtOnce: true,
  summary: "loads tools without calling them, and reports their problems",
  details: ["It also reports globals and imports that a JavaScript tool uses and the sandbox does not have."],
  arguments: { FILE: { ...FILE, isMultiple: true } },
  options: {
    export: EXPORT,
    engine: ENGINE,
    grant: {
      type: "string",
      short: "g",
      value: "FILE",
      help: "writes a policy that grants what the tools import or mention",
    },
    value: {
      type: "string",
      multiple: true,
      value: "CAPABILITY=VALUE",
      help: "says what that policy grants: net=https://api.example.com, keyValue=notes, tools=read_*, fs=DIRECTORY; may be repeated",
    },
  },
  read: ({ value: values, ...options }, { FILE: files }) => {
    if (options.grant === undefined && values.length > 0)
      throw new UsageError(shown`--value requires --grant`);
    return { name: "tool check" as const, files, ...options, values };
  },
  run: async (options, terminal) => (await import("../commands/tool/check.ts")).checkTools(options, terminal),
});

const inspect = defineCommand({
  name: "tool inspect",
  endsAtOnce: true,
  summary: "prints what a component exports, and the grants that it needs",
  details: [
    "The exports have JSON schemas, and each import has the grant that it needs. The component does not run.",
  ],
  arguments: { "FILE.wasm": FILE },
  options: {},
  read: (_, { "FILE.wasm": file }) => ({ name: "tool inspect" as const, file }),
  run: async (options, terminal) =>
    (await import("../commands/tool/component.ts")).inspectTool(options, terminal),
});

const component = defineCommand({
  name: "tool component",
  summary: "makes a component of a core module that exports the world sandgate:tool",
  arguments: { "CORE.wasm": { help: "the core module" } },
  options: {
    out: { type: "string", short: "o", required: true, value: "FILE.wasm", help: "the component's file" },
  },
  read: ({ out }, { "CORE.wasm": file }) => ({ name: "tool component" as const, file, out }),
  run: async (options, terminal) =>
    (await import("../commands/tool/component.ts")).makeComponent(options, terminal),
});

const importOperations = defineCommand({
  name: "tool import",
  summary: "makes HTTP tools of the operations of an API that OpenAPI describes",
  details: [
    "It writes sandgate.yaml with the tools and policy.yaml with what grants them, and overwrites nothing. What it has to leave out, it names. Nothing is fetched.",
    "Operations are named by their operationId or as 'GET /pets/{petId}', in which * matches any characters.",
  ],
  arguments: { FILE: { help: "the OpenAPI document (3.0 or 3.1), in YAML or JSON" } },
  options: {
    origin: {
      type: "string",
      multiple: true,
      value: "ORIGIN",
      help: "where the API is, such as https://api.example.com; of the servers in the document, only the path is taken",
    },
    operations: {
      type: "string",
      multiple: true,
      value: "OPERATION",
      help: "which operations; may be repeated; default: all",
    },
    "side-effects": {
      type: "string",
      multiple: true,
      value: "OPERATION=CLASS",
      help: "says what operations do at worst, such as 'GET *=read'; the last one that matches counts; default: network for GET, HEAD and OPTIONS, destructive for all others",
    },
    secret: {
      type: "string",
      multiple: true,
      value: "SCHEME=NAME",
      help: "the name of the secret for a security scheme; default: made of the origin and the scheme",
    },
    out: {
      type: "string",
      short: "o",
      value: "DIR",
      help: "the folder to write to; default: the current one",
    },
  },
  read: (
    { origin: origins, operations, "side-effects": sideEffects, secret: secrets, out = "." },
    { FILE: file },
  ) => ({
    name: "tool import" as const,
    file,
    origins,
    operations,
    sideEffects,
    secrets,
    out,
  }),
  run: async (options, terminal) =>
    (await import("../commands/tool/import.ts")).importTools(options, terminal),
});

const create = defineCommand({
  name: "tool new",
  summary: "creates a project with a tool and its test",
  details: ["It overwrites no files. See docs/cookbook."],
  arguments: { DIR: { help: "the folder of the new project" } },
  options: {
    language: {
      type: "string",
      short: "l",
      value: "LANGUAGE",
      choices: LANGUAGES,
      help: "javascript (default) and typescript run in QuickJS; c, assemblyscript and rust are components. rust needs the target wasm32-unknown-unknown",
    },
    wasm: { type: "boolean", help: "makes a component, even in javascript" },
    "key-value": { type: "boolean", help: "makes a tool that keeps values, in assemblyscript" },
  },
  read: ({ language, wasm, "key-value": keyValue }, { DIR: directory }) => ({
    name: "tool new" as const,
    directory,
    template: keyValue ? keyValueTemplate(language) : templateOf(language, wasm),
  }),
  run: async (options, terminal) => (await import("../commands/new-project.ts")).newTool(options, terminal),
});

/** `sandgate tool …` */
export const TOOL_COMMANDS: readonly Command[] = [
  run,
  checkTool,
  inspect,
  component,
  importOperations,
  create,
];

function templateOf(language: (typeof LANGUAGES)[number] = "javascript", wasm: boolean): Template {
  if (language === "javascript") return wasm ? "wasm-javascript" : "javascript";
  if (language !== "typescript") return `wasm-${language}`;
  if (!wasm) return "typescript";
  throw new UsageError(shown`--wasm is not possible with typescript: such a tool runs in QuickJS`);
}

function keyValueTemplate(language: (typeof LANGUAGES)[number] = "assemblyscript"): Template {
  if (language === "assemblyscript") return "wasm-key-value";
  throw new UsageError(shown`--key-value is only possible with assemblyscript, not with ${language}`);
}

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

/** The policies of `examples/policies`, with which a project can begin. */
export const POLICIES = ["coding-agent", "payments", "support-refunds"] as const;

/** `sandgate init` */
export const init: Command = defineCommand({
  name: "init",
  summary: "creates a sandgate.yaml with a tool, a policy and its test",
  details: ["It overwrites no files: if one exists, it writes none."],
  arguments: { DIR: { isOptional: true, help: "the folder; default: the working directory" } },
  options: {
    policy: {
      type: "string",
      value: "NAME",
      choices: POLICIES,
      help: "begins with a policy of the gallery, its tools and its tests",
    },
  },
  read: ({ policy }, { DIR: directory = "." }) => ({ directory, policy }),
  run: async (given, terminal) => (await import("../commands/new-project.ts")).init(given, terminal),
});
