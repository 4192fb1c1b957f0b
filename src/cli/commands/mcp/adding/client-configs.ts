import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { parseJson } from "../../../../json/parse.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../../json/value.ts";
import { joinShown, type ShownText, shown } from "../../../../rendering/shown.ts";
import type { FoundServer } from "./new-server.ts";
import { secretArguments } from "./secret-files.ts";
import { parseToml, TomlError } from "./toml.ts";

/** Where a client's config has its servers. */
export type ClientFormat = "mcpServers" | "servers" | "opencode" | "codex";

/** The config of a client of MCP. */
export interface ClientConfig {
  /** An absolute path. */
  readonly file: string;
  readonly text: string;
  readonly format: ClientFormat;
  readonly servers: readonly ClientServer[];
}

/** A server in the config of a client. */
export interface ClientServer extends FoundServer {
  /** Its name in the client's config, of which `name` has only the characters that a config of Sandgate allows. */
  readonly original: string;
  /** Why it cannot be imported; `undefined` if it may be. */
  readonly problem?: string;
}

/** Why a client's config cannot be read. */
export class ClientConfigError extends Error {
  override readonly name = "ClientConfigError";
}

/** The member that has the servers. */
const MEMBERS: Readonly<Record<ClientFormat, string>> = {
  mcpServers: "mcpServers",
  servers: "servers",
  opencode: "mcp",
  codex: "mcp_servers",
};

const MAX_BYTES = 4 * 1_024 * 1_024;
const BOUNDS = { length: MAX_BYTES, values: 500_000, members: 500_000 };

const STRING_OR = String.raw`"(?:\\.|[^"\\])*"`;
const COMMENTS = new RegExp(`(${STRING_OR})|//[^\\n]*|/\\*[\\s\\S]*?\\*/`, "g");
const TRAILING_COMMAS = new RegExp(`(${STRING_OR})|,(?=\\s*[}\\]])`, "g");

/** A value that is a variable of the client's environment, as the clients write it. */
const VARIABLE = /^(?:\$\{(?:env:)?([A-Za-z_]\w*)\}|\{env:([A-Za-z_]\w*)\})$/;
/** Another placeholder, which only the client can replace. */
const PLACEHOLDER = /\$\{[^}]*\}|\{(?:env|file):[^}]*\}/;

/**
 * Returns the user's own configs of clients that exist. Configs of projects are written by others, and have
 * to be named.
 */
export function ownClientConfigs(): readonly string[] {
  const home = homedir();
  const configured = process.env["XDG_CONFIG_HOME"] ?? "";
  const config = isAbsolute(configured) ? configured : join(home, ".config");
  return [
    join(config, "Claude/claude_desktop_config.json"),
    join(home, "Library/Application Support/Claude/claude_desktop_config.json"),
    join(home, ".claude.json"),
    join(home, ".cursor/mcp.json"),
    join(config, "Code/User/mcp.json"),
    join(home, "Library/Application Support/Code/User/mcp.json"),
    join(home, ".codex/config.toml"),
    join(config, "opencode/opencode.json"),
  ].filter((file) => existsSync(file));
}

/**
 * Reads the config of a client. Its content may be hostile.
 *
 * @throws {ClientConfigError} if it cannot be read, or has no servers where a client would look for them.
 */
export async function readClientConfig(path: string): Promise<ClientConfig> {
  const file = resolve(path);
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new ClientConfigError(`${path} cannot be read: ${error.code ?? error.message}`);
  });
  if (text.length > MAX_BYTES) throw new ClientConfigError(`${path} is longer than 4 MiB`);
  const { format, servers } = readServers(text, path);
  const names = new Set<string>();
  const read = Object.entries(servers).map(([original, entry]) => {
    const name = nameFor(original, names);
    names.add(name);
    return readServer(original, name, isJsonObject(entry) ? entry : {});
  });
  return { file, text, format, servers: read };
}

/** Returns the value of a client's config. */
export function parseClientConfig(text: string, isToml: boolean, path: string): JsonObject {
  try {
    const value = isToml ? parseToml(text) : parseJsonWithComments(text);
    if (isJsonObject(value)) return value;
    throw new ClientConfigError(`${path} has no object`);
  } catch (error) {
    if (error instanceof TomlError) throw new ClientConfigError(`${path}: ${error.message}`);
    if (error instanceof SyntaxError)
      throw new ClientConfigError(`${path} is not valid JSON: ${error.message}`);
    throw error;
  }
}

/** The member of a config that has the servers. */
export function memberOf(format: ClientFormat): string {
  return MEMBERS[format];
}

function readServers(
  text: string,
  path: string,
): { readonly format: ClientFormat; readonly servers: JsonObject } {
  const isToml = path.endsWith(".toml");
  const value = parseClientConfig(text, isToml, path);
  const formats = (isToml ? ["codex"] : ["mcpServers", "servers", "opencode"]) as readonly ClientFormat[];
  for (const format of formats) {
    const servers = value[MEMBERS[format]];
    if (servers !== undefined && isJsonObject(servers)) return { format, servers };
  }
  const members = formats.map((format) => `'${MEMBERS[format]}'`).join(", ");
  throw new ClientConfigError(`${path} has no servers of MCP: none of ${members} is there`);
}

function parseJsonWithComments(text: string): JsonValue {
  const clean = text
    .replace(/^\ufeff/, "")
    .replace(COMMENTS, (all, string?: string) => string ?? all.replace(/[^\n]/g, " "))
    .replace(TRAILING_COMMAS, (_all, string?: string) => string ?? " ");
  const parsed = parseJson(clean, BOUNDS);
  if ("value" in parsed) return parsed.value;
  throw new SyntaxError(parsed.reason);
}

/** A name that a config of Sandgate allows, and that no other server has. */
function nameFor(original: string, taken: ReadonlySet<string>): string {
  const plain = original.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, 32) || "server";
  if (!taken.has(plain)) return plain;
  return `${plain.slice(0, 23)}_${createHash("sha256").update(original).digest("hex").slice(0, 8)}`;
}

function readServer(original: string, name: string, entry: JsonObject): ClientServer {
  const {
    command: started,
    args,
    env,
    environment,
    url,
    cwd,
    serverUrl,
    headers,
    http_headers: httpHeaders,
  } = entry;
  const [command, ...more] = Array.isArray(started) ? textsOf(started) : [started];
  const address = typeof url === "string" ? url : serverUrl;
  const token = entry["bearer_token_env_var"];
  const server = {
    original,
    name,
    ...(typeof command === "string" && {
      command,
      args: [...more.map(String), ...textsOf(args)].map((argument) => relativeTo(cwd, argument)),
    }),
    ...variablesOf(valuesOf(env ?? environment)),
    ...(typeof address === "string" && { url: address, headers: valuesOf(headers ?? httpHeaders) }),
    ...(typeof token === "string" && { bearer: token }),
  };
  const problem = problemOf(server, entry);
  return problem === undefined ? server : { ...server, problem };
}

/** Resolves a path against the working directory that a client gives the server. */
function relativeTo(cwd: JsonValue | undefined, argument: string): string {
  return typeof cwd === "string" && /^\.{1,2}(?:\/|$)/.test(argument) ? resolve(cwd, argument) : argument;
}

function problemOf(
  server: Omit<ClientServer, "problem">,
  { type, disabled, enabled }: JsonObject,
): string | undefined {
  const { command, url, args = [], env = {}, headers = {} } = server;
  if (disabled === true || enabled === false) return "it is switched off";
  if (type === "sse") return "it speaks the transport HTTP+SSE of 2024, which is not supported";
  if (command === undefined && url === undefined) return "it has neither a command nor a URL";
  const texts = [...args, ...Object.values(env), ...Object.values(headers), url ?? ""];
  const placeholder = texts.map((text) => PLACEHOLDER.exec(text)?.[0]).find((text) => text !== undefined);
  if (placeholder === undefined) return undefined;
  return `only the client can replace '${placeholder}': write the value in its place, or add the server with 'sandgate mcp add'`;
}

function textsOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function valuesOf(value: JsonValue | undefined): Readonly<Record<string, string>> {
  if (value === undefined || !isJsonObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      typeof each === "string" ? each : JSON.stringify(each),
    ]),
  );
}

/** Variables that are passed on from the client's own environment are named in place of their values. */
function variablesOf(values: Readonly<Record<string, string>>): Pick<FoundServer, "env" | "passed"> {
  const env: Record<string, string> = {};
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(values)) {
    const [, one, other] = VARIABLE.exec(value) ?? [];
    const variable = one ?? other;
    if (variable === undefined) env[name] = value;
    else passed[name] = variable;
  }
  return { env, ...(Object.keys(passed).length > 0 && { passed }) };
}

/** Shows the servers of a config: what would be started, and the names of what is given to it. */
export function showClientConfig({ file, servers }: ClientConfig): ShownText {
  const lines = servers.flatMap((server) => {
    const { name, command, args = [], env = {}, passed = {}, url, headers = {}, problem } = server;
    const areSecret = secretArguments(args);
    const words = [
      command ?? "",
      ...args.map((argument, index) => (areSecret[index] ? "[secret]" : argument)),
    ];
    const variables = [...Object.keys(env), ...Object.keys(passed)];
    return [
      shown`  ${name}: ${url === undefined ? words.join(" ") : withoutQuery(url)}`,
      ...(variables.length > 0 ? [shown`    variables: ${variables.join(", ")}`] : []),
      ...(Object.keys(headers).length > 0 ? [shown`    headers: ${Object.keys(headers).join(", ")}`] : []),
      ...(problem === undefined ? [] : [shown`    cannot be imported: ${problem}`]),
    ];
  });
  return joinShown([shown`${file}:`, ...(lines.length > 0 ? lines : [shown`  no servers`])], "\n");
}

/** A query can be a key. */
function withoutQuery(url: string): string {
  return url.replace(/\?.*$/s, "?…").replace(/\/\/[^/@]*@/, "//…@");
}
