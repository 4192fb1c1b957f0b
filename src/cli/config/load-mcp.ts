import type { ConfigProblem } from "../../config/problem.ts";
import { type CompiledShape, compileShape, mapOf, TEXT } from "../../config/shape.ts";
import type { ConfigEntry, ConfigPath, ConfigSource } from "../../config/source.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import type { JsonObject } from "../../json/value.ts";
import {
  ASKS,
  checkServer,
  type ImportedServerOptions,
  type StdioServerOptions,
} from "../../mcp/import/server-options.ts";
import type { ToolClasses } from "../../mcp/import/tool-class.ts";
import type { FsGrant } from "../../policy/grant/fs-grant.ts";
import type { SandboxesOptions } from "../../sandboxes/open-sandboxes.ts";
import { SIDE_EFFECTS } from "../../tool/side-effects.ts";
import { absolutePathBeside } from "./config-path.ts";
import { loadOAuth, OAUTH, type OAuthEntry, ORIGINS } from "./load-oauth.ts";
import { readToken, TOKEN, type TokenEntry } from "./server/token.ts";

const COUNT: JsonObject = { type: "integer", minimum: 1 };
const TEXTS: JsonObject = { type: "array", items: { type: "string" } };

/** The JSON Schema of a value that may be a secret: named, or written down if it is none. */
const NAMED: JsonObject = {
  type: "object",
  properties: { env: TEXT, file: TEXT, value: { type: "string" } },
  additionalProperties: false,
  oneOf: [{ required: ["env"] }, { required: ["file"] }, { required: ["value"] }],
  message: "must have one of env, file and value: a secret itself does not belong here",
};
const VALUES: JsonObject = { type: "object", additionalProperties: NAMED };

/** The shape of `mcp`. */
export const MCP_SHAPE: CompiledShape = compileShape(
  mapOf(
    {
      servers: {
        type: "object",
        additionalProperties: mapOf({
          command: TEXT,
          args: TEXTS,
          env: VALUES,
          cwd: TEXT,
          fs: {
            type: "array",
            items: mapOf({ directory: TEXT, file: TEXT, at: TEXT, write: { type: "boolean" } }),
          },
          net: ORIGINS,
          limits: mapOf({
            memoryBytes: COUNT,
            processes: COUNT,
            processMemoryBytes: COUNT,
            cpuMs: COUNT,
            netBytes: COUNT,
          }),
          url: TEXT,
          headers: VALUES,
          bearer: TOKEN,
          addresses: TEXTS,
          oauth: OAUTH,
          asks: { type: "array", items: { type: "string", enum: [...ASKS] } },
          keepsNames: { type: "boolean" },
        }),
      },
      classes: { type: "object", additionalProperties: { type: "string", enum: [...SIDE_EFFECTS] } },
    },
    ["servers"],
  ),
);

interface NamedValue extends TokenEntry {
  readonly value?: string;
}

interface ServerEntry extends Omit<StdioServerOptions, "env" | "command"> {
  readonly command?: string;
  readonly env?: Readonly<Record<string, NamedValue>>;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, NamedValue>>;
  readonly bearer?: TokenEntry;
  readonly addresses?: readonly string[];
  readonly oauth?: OAuthEntry;
}

interface McpEntry {
  readonly servers: Readonly<Record<string, ServerEntry>>;
  readonly classes?: ToolClasses;
}

/** The MCP servers of a config, with their secrets. */
export interface McpConfig {
  readonly servers: Readonly<Record<string, ImportedServerOptions>>;
  readonly classes: ToolClasses;
}

/** Connects to the servers of a config, and registers their tools. Returns what is wrong. */
export type ImportTools = (given: {
  readonly source: ConfigSource;
  readonly mcp: McpConfig;
  readonly sandboxOptions: SandboxesOptions;
  readonly registry: ToolRegistry;
}) => Promise<readonly ConfigProblem[]>;

/**
 * Loads `mcp` of a config. Paths of files are relative to the config. A server with an error is left out.
 *
 * @param problems Receives every problem.
 */
export async function loadMcp(source: ConfigSource, problems: ConfigProblem[]): Promise<McpConfig> {
  if (source.at(["mcp"]) === undefined) return { servers: {}, classes: {} };
  const entry = source.read<McpEntry>(MCP_SHAPE, problems, ["mcp"]);
  const servers: Record<string, ImportedServerOptions> = {};
  for (const [name, server] of Object.entries(entry?.value.servers ?? {})) {
    if (entry === undefined) break;
    const options = await loadServer(name, server, entry, problems);
    try {
      checkServer(name, options);
      servers[name] = options;
    } catch (error) {
      problems.push(source.problem(["mcp", "servers", name], (error as TypeError).message));
    }
  }
  return { servers, classes: entry?.value.classes ?? {} };
}

async function loadServer(
  name: string,
  { env = {}, headers = {}, bearer, fs, url, addresses, oauth, ...program }: ServerEntry,
  entry: ConfigEntry<McpEntry>,
  problems: ConfigProblem[],
): Promise<ImportedServerOptions> {
  const path = ["servers", name];
  const beside = (grant: FsGrant): FsGrant =>
    "file" in grant
      ? { ...grant, file: absolutePathBeside(entry.file, grant.file) }
      : { ...grant, directory: absolutePathBeside(entry.file, grant.directory) };
  if (url === undefined) {
    const variables = await readValues(env, entry, [...path, "env"], problems);
    return { ...(program as StdioServerOptions), env: variables, ...(fs && { fs: fs.map(beside) }) };
  }
  const token = bearer && (await readToken(bearer, entry, [...path, "bearer"], problems));
  const sent = await readValues(headers, entry, [...path, "headers"], problems);
  return {
    ...(program as object),
    url,
    headers: { ...sent, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    ...(addresses && { addresses }),
    ...(oauth && { oauth: await loadOAuth(oauth, entry, [...path, "oauth"], problems) }),
  };
}

async function readValues(
  named: Readonly<Record<string, NamedValue>>,
  entry: ConfigEntry<unknown>,
  path: ConfigPath,
  problems: ConfigProblem[],
): Promise<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const [name, { value, ...place }] of Object.entries(named)) {
    const read = value ?? (await readToken(place, entry, [...path, name], problems));
    if (read !== undefined) values[name] = read;
  }
  return values;
}
