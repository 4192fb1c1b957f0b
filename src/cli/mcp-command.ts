import { shown } from "../rendering/shown.ts";
import { UsageError } from "./errors.ts";
import { CONFIG, HELP, parse, required } from "./parse-options.ts";

/** A command on what MCP servers and a config define. */
export type McpCommand =
  | { readonly name: "mcp pin"; readonly config: string }
  | {
      readonly name: "mcp login" | "mcp logout";
      readonly config: string;
      /** The name of the MCP server in the config. */
      readonly server: string;
    }
  | {
      readonly name: "mcp serve";
      readonly config: string;
      /** The folder in which the tools work. Default: there is none. */
      readonly workspace: string | undefined;
    }
  | {
      readonly name: "mcp diff";
      readonly config: string;
      /** Whether the lock is written anew with what is shown. */
      readonly accepts: boolean;
    };

const SUBCOMMANDS = {
  pin: parsePin,
  diff: parseDiff,
  serve: parseServe,
  login: parseLogin,
  logout: parseLogout,
};

/**
 * Parses the arguments after `mcp`. Returns `undefined` if they ask for help.
 *
 * @throws {UsageError} if they are invalid.
 */
export function parseMcp([name = "", ...args]: readonly string[]): McpCommand | undefined {
  if (name === "--help" || name === "-h") return undefined;
  if (Object.hasOwn(SUBCOMMANDS, name)) return SUBCOMMANDS[name as keyof typeof SUBCOMMANDS](args);
  const names = Object.keys(SUBCOMMANDS).join(", ");
  throw new UsageError(shown`'mcp' must be followed by one of ${names}, not '${name}'`);
}

function parsePin(args: readonly string[]): McpCommand | undefined {
  const { values } = parse(args, { ...HELP, ...CONFIG }, 0);
  return values.help ? undefined : { name: "mcp pin", config: required(values.config) };
}

function parseDiff(args: readonly string[]): McpCommand | undefined {
  const { values } = parse(args, { ...HELP, ...CONFIG, accept: { type: "boolean" } }, 0);
  if (values.help) return undefined;
  return { name: "mcp diff", config: required(values.config), accepts: values.accept === true };
}

function parseServe(args: readonly string[]): McpCommand | undefined {
  const { values } = parse(args, { ...HELP, ...CONFIG, workspace: { type: "string" } }, 0);
  if (values.help) return undefined;
  return { name: "mcp serve", config: required(values.config), workspace: values.workspace };
}

function parseLogin(args: readonly string[]): McpCommand | undefined {
  return parseServer("mcp login", args);
}

function parseLogout(args: readonly string[]): McpCommand | undefined {
  return parseServer("mcp logout", args);
}

function parseServer(name: "mcp login" | "mcp logout", args: readonly string[]): McpCommand | undefined {
  const { values, positionals } = parse(args, { ...HELP, ...CONFIG }, 1);
  if (values.help) return undefined;
  const [server] = positionals;
  if (server === undefined) throw new UsageError(shown`'${name}' needs the name of an MCP server`);
  return { name, config: required(values.config), server };
}
