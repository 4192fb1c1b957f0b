import { shown } from "../rendering/shown.ts";
import { UsageError } from "./errors.ts";
import { HELP, oneOf, parse } from "./parse-options.ts";

/** A command on a tool's file, which is JavaScript, TypeScript or a WebAssembly component. */
export type ToolCommand =
  | {
      readonly name: "tool run";
      readonly file: string;
      /** The exported function. Default: `default` for JavaScript, the only tool for a component. */
      readonly export: string | undefined;
      /** The name of a component's tool. Default: the only one. */
      readonly tool: string | undefined;
      /** The engine of a component. Default: Sandgate's own. */
      readonly engine: Engine | undefined;
      /** JSON text. */
      readonly input: string;
      /** The policy file. `undefined` grants the sandbox with its own limits, the engine, and nothing else. */
      readonly policy: string | undefined;
      /** The file that keeps the key-value stores. `undefined` keeps them in memory, until the command ends. */
      readonly store: string | undefined;
    }
  | {
      readonly name: "tool check";
      readonly files: readonly string[];
      readonly export: string | undefined;
      readonly engine: Engine | undefined;
      /** Where to write a policy that grants what the tools need; `undefined` for nowhere. */
      readonly grant: string | undefined;
      /** What the capabilities of that policy name, as `CAPABILITY=VALUE`. */
      readonly values: readonly string[];
    }
  | { readonly name: "tool inspect"; readonly file: string }
  | {
      readonly name: "tool component";
      /** A core module. */
      readonly file: string;
      /** Where to write the component. */
      readonly out: string;
    }
  | { readonly name: "tool new"; readonly directory: string; readonly template: Template };

/** The languages of new projects. */
const LANGUAGES = ["javascript", "typescript", "c", "assemblyscript", "rust"] as const;

/** The projects that `sandgate tool new` can create. */
export type Template =
  | "javascript"
  | "typescript"
  | "wasm-javascript"
  | "wasm-c"
  | "wasm-assemblyscript"
  | "wasm-rust"
  | "wasm-key-value";

/** Engines for components that are trusted. */
const ENGINES = ["jco"] as const;

/** One of {@link ENGINES}. */
export type Engine = (typeof ENGINES)[number];

const RUN_OPTIONS = {
  export: { type: "string", short: "e" },
  engine: { type: "string" },
  tool: { type: "string", short: "t" },
  input: { type: "string", short: "i" },
  policy: { type: "string", short: "p" },
  store: { type: "string", short: "s" },
} as const;

const CHECK_OPTIONS = {
  export: RUN_OPTIONS.export,
  engine: RUN_OPTIONS.engine,
  grant: { type: "string", short: "g" },
  value: { type: "string", multiple: true },
} as const;

const COMPONENT_OPTIONS = { out: { type: "string", short: "o" } } as const;

const NEW_OPTIONS = {
  language: { type: "string", short: "l" },
  wasm: { type: "boolean" },
  "key-value": { type: "boolean" },
} as const;

/**
 * Parses the arguments after `tool`. Returns `undefined` if they ask for help.
 *
 * @throws {UsageError} if they are invalid.
 */
export function parseTool([name, ...args]: readonly string[]): ToolCommand | undefined {
  switch (name) {
    case "run":
      return parseRun(args);
    case "check":
      return parseCheck(args);
    case "inspect": {
      const { values, positionals } = parse(args, HELP, 1);
      return values.help ? undefined : { name: "tool inspect", file: fileOf(positionals) };
    }
    case "component":
      return parseComponent(args);
    case "new":
      return parseNew(args);
    case "--help":
    case "-h":
      return undefined;
    default:
      throw new UsageError(
        shown`'tool' must be followed by run, check, inspect, component or new, not '${name ?? ""}'`,
      );
  }
}

function parseRun(args: readonly string[]): ToolCommand | undefined {
  const { values, positionals } = parse(args, { ...HELP, ...RUN_OPTIONS }, 1);
  if (values.help) return undefined;
  const { input = "{}", policy, tool, export: exportName, store } = values;
  const engine = oneOf(ENGINES, "--engine", values.engine);
  return {
    name: "tool run",
    file: fileOf(positionals),
    export: exportName,
    tool,
    engine,
    input,
    policy,
    store,
  };
}

function parseCheck(args: readonly string[]): ToolCommand | undefined {
  const { values, positionals } = parse(args, { ...HELP, ...CHECK_OPTIONS }, args.length);
  if (values.help) return undefined;
  fileOf(positionals);
  const { export: exportName, grant, value = [] } = values;
  if (grant === undefined && value.length > 0) throw new UsageError(shown`--value requires --grant`);
  const engine = oneOf(ENGINES, "--engine", values.engine);
  return { name: "tool check", files: positionals, export: exportName, engine, grant, values: value };
}

function parseComponent(args: readonly string[]): ToolCommand | undefined {
  const { values, positionals } = parse(args, { ...HELP, ...COMPONENT_OPTIONS }, 1);
  if (values.help) return undefined;
  const file = fileOf(positionals);
  if (values.out === undefined) throw new UsageError(shown`--out is missing: the component's file`);
  return { name: "tool component", file, out: values.out };
}

function parseNew(args: readonly string[]): ToolCommand | undefined {
  const { values, positionals } = parse(args, { ...HELP, ...NEW_OPTIONS }, 1);
  if (values.help) return undefined;
  const [directory] = positionals;
  if (directory === undefined) throw new UsageError(shown`DIR is missing: the folder of the new project`);
  const language = oneOf(LANGUAGES, "--language", values.language);
  const template =
    values["key-value"] === true ? keyValueTemplate(language) : templateOf(language, values.wasm === true);
  return { name: "tool new", directory, template };
}

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

function fileOf([file]: readonly string[]): string {
  if (file !== undefined) return file;
  throw new UsageError(shown`FILE is missing: the tool's module or component`);
}
