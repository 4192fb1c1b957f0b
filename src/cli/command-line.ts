import { FORMATS, type Format } from "../protocols/formats.ts";
import { shown } from "../rendering/shown.ts";
import { UsageError } from "./errors.ts";
import { type JournalCommand, parseJournal, parseWhy } from "./journal-command.ts";
import { type McpCommand, parseMcp } from "./mcp-command.ts";
import { CONFIG, HELP, oneOf, parse, required } from "./parse-options.ts";
import { type PolicyCommand, parsePolicy } from "./policy-command.ts";
import { parseSupervise, type SuperviseCommand } from "./supervise-command.ts";
import { parseTool, type ToolCommand } from "./tool-command.ts";

/** The values of `--format`. */
const FORMAT_CHOICES = ["auto", ...FORMATS] as const;
/** The values of `--output`. */
const OUTPUTS = ["table", "json", "messages"] as const;

/** A parsed command line. */
export type Command =
  | ToolCommand
  | JournalCommand
  | PolicyCommand
  | McpCommand
  | SuperviseCommand
  | { readonly name: "help" | "version" }
  | { readonly name: "check"; readonly config: string }
  | {
      readonly name: "doctor";
      /** Default: none; the machine alone is reported. */
      readonly config: string | undefined;
      readonly json: boolean;
    }
  | {
      readonly name: "serve";
      readonly config: string;
      /** Overrides the config's address. */
      readonly listen: string | undefined;
    }
  | {
      readonly name: "confirm";
      /** The server's. */
      readonly url: string;
      /** Default: the token is in the environment. */
      readonly tokenFile: string | undefined;
      /** Whether to wait for further inquiries. */
      readonly watch: boolean;
    }
  | {
      readonly name: "dispatch";
      /** `-` is standard input. */
      readonly file: string;
      readonly config: string;
      /** `auto` detects the format. */
      readonly format: Format | "auto";
      readonly output: (typeof OUTPUTS)[number];
      /** Whether the operator's log goes to standard error. */
      readonly events: boolean;
      /** Whether a person is asked on the terminal. */
      readonly confirm: boolean;
      /** Whether nothing runs. */
      readonly dryRun: boolean;
    };

const VERSION = { version: { type: "boolean", short: "v" } } as const;
const JSON_OUTPUT = { json: { type: "boolean" } } as const;
const LISTEN = { listen: { type: "string", short: "l" } } as const;
const DISPATCH = {
  format: { type: "string" },
  output: { type: "string" },
  events: { type: "boolean" },
  confirm: { type: "boolean" },
  "dry-run": { type: "boolean" },
} as const;
const CONFIRM = { "token-file": { type: "string" }, watch: { type: "boolean", short: "w" } } as const;

/**
 * Parses the arguments after the program's name.
 *
 * @throws {UsageError} if they are invalid.
 */
export function parseCommandLine(argv: readonly string[]): Command {
  const [name, ...rest] = argv;
  if (name === undefined) throw new UsageError(shown`the command is missing`);
  if (name === "dispatch") return parseDispatch(rest);
  if (name === "check") return parseCheck(rest);
  if (name === "doctor") return parseDoctor(rest);
  if (name === "serve") return parseServe(rest);
  if (name === "supervise") return parseSupervise(rest) ?? { name: "help" };
  if (name === "confirm") return parseConfirm(rest);
  if (name === "tool") return parseTool(rest) ?? { name: "help" };
  if (name === "journal") return parseJournal(rest) ?? { name: "help" };
  if (name === "policy") return parsePolicy(rest) ?? { name: "help" };
  if (name === "mcp") return parseMcp(rest) ?? { name: "help" };
  if (name === "why") return parseWhy(rest) ?? { name: "help" };
  if (!name.startsWith("-")) throw new UsageError(shown`unknown command '${name}'`);
  const { values } = parse(argv, { ...HELP, ...VERSION }, 0);
  return { name: values.help ? "help" : "version" };
}

function parseDispatch(args: readonly string[]): Command {
  const { values, positionals } = parse(args, { ...HELP, ...CONFIG, ...DISPATCH }, 1);
  if (values.help) return { name: "help" };
  if (values.confirm && values["dry-run"])
    throw new UsageError(shown`--dry-run runs nothing: there is nothing to --confirm`);
  return {
    name: "dispatch",
    file: positionals[0] ?? "-",
    config: required(values.config),
    format: oneOf(FORMAT_CHOICES, "--format", values.format) ?? "auto",
    output: oneOf(OUTPUTS, "--output", values.output) ?? "table",
    events: values.events === true,
    confirm: values.confirm === true,
    dryRun: values["dry-run"] === true,
  };
}

function parseConfirm(args: readonly string[]): Command {
  const { values, positionals } = parse(args, { ...HELP, ...CONFIRM }, 1);
  if (values.help) return { name: "help" };
  const [url] = positionals;
  if (url === undefined)
    throw new UsageError(shown`URL is missing: that of the server, such as http://127.0.0.1:7420`);
  return { name: "confirm", url, tokenFile: values["token-file"], watch: values.watch === true };
}

function parseCheck(args: readonly string[]): Command {
  const { values } = parse(args, { ...HELP, ...CONFIG }, 0);
  return values.help ? { name: "help" } : { name: "check", config: required(values.config) };
}

function parseDoctor(args: readonly string[]): Command {
  const { values } = parse(args, { ...HELP, ...CONFIG, ...JSON_OUTPUT }, 0);
  if (values.help) return { name: "help" };
  return { name: "doctor", config: values.config, json: values.json === true };
}

function parseServe(args: readonly string[]): Command {
  const { values } = parse(args, { ...HELP, ...CONFIG, ...LISTEN }, 0);
  if (values.help) return { name: "help" };
  return { name: "serve", config: required(values.config), listen: values.listen };
}
