import { ConfigError, type ConfigProblem } from "../../../config/problem.ts";
import { readConfigFile } from "../../../config/source.ts";
import { logIn, logOut, type OAuthServerOptions } from "../../../mcp/import/open-connection.ts";
import { shown } from "../../../rendering/shown.ts";
import { loadMcp } from "../../config/load-mcp.ts";
import {
  EXIT_INTERRUPTED,
  EXIT_OK,
  EXIT_TOOL_FAILED,
  type ExitCode,
  link,
  print,
  type Terminal,
} from "../../terminal.ts";

/** Options of `sandgate mcp login` and `sandgate mcp logout`. */
interface LoginCommand {
  readonly config: string;
  /** The name of the MCP server in the config. */
  readonly server: string;
}

/**
 * Prints the page on which a person gives access to an MCP server, waits for the browser's answer on a loopback address, and
 * stores the tokens.
 *
 * @throws {ConfigError} if the config is invalid, or has no such server with `oauth`.
 */
export async function login(command: LoginCommand, { stdout, stderr, signal }: Terminal): Promise<ExitCode> {
  const server = await findServer(command);
  const onAuthorize = (page: string): void =>
    void print(stdout, shown`Open this page in a browser on this machine:`).then(() =>
      print(stdout, link(page)),
    );
  try {
    const oauth = { ...server.oauth, onAuthorize };
    const file = await logIn(command.server, { ...server, oauth }, { signal });
    await print(
      stdout,
      file === undefined
        ? shown`the MCP server '${command.server}' wants no login`
        : shown`logged in to the MCP server '${command.server}': ${file}`,
    );
    return EXIT_OK;
  } catch (error) {
    if (signal?.aborted) return EXIT_INTERRUPTED;
    await print(stderr, shown`sandgate: ${error instanceof Error ? error.message : String(error)}`);
    return EXIT_TOOL_FAILED;
  }
}

/**
 * Deletes the tokens for an MCP server. They stay valid at the authorization server until they expire there.
 *
 * @throws {ConfigError} if the config is invalid, or has no such server with `oauth`.
 */
export async function logout(command: LoginCommand, { stdout }: Terminal): Promise<ExitCode> {
  const had = await logOut(command.server, await findServer(command));
  await print(
    stdout,
    had ? shown`logged out of the MCP server '${command.server}'` : shown`there were no tokens`,
  );
  return EXIT_OK;
}

async function findServer({ config, server: name }: LoginCommand): Promise<OAuthServerOptions> {
  const source = await readConfigFile(config);
  const problems: ConfigProblem[] = [];
  const { servers } = await loadMcp(source, problems);
  const server = Object.hasOwn(servers, name) ? servers[name] : undefined;
  if (server === undefined || !("url" in server) || server.oauth === undefined) {
    problems.push(source.problem(["mcp"], `there is no MCP server '${name}' with oauth`));
    throw new ConfigError(problems);
  }
  return { ...server, oauth: server.oauth };
}
