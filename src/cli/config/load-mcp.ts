import { join } from "node:path";
import { guardFiles } from "../../base/guarded-files.ts";
import { MAX_DELAY_MS } from "../../base/timers.ts";
import type { ConfigProblem } from "../../config/problem.ts";
import {
  type CompiledShape,
  choice,
  compileShape,
  described,
  FLAG,
  mapOf,
  PATH,
  STRINGS,
  TEXT,
} from "../../config/shape.ts";
import type { ConfigEntry, ConfigPath, ConfigSource } from "../../config/source.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import {
  anyOf,
  integer,
  list,
  record,
  string,
  type Shape as Typed,
  type TypeOf,
  typed,
} from "../../json/shape.ts";
import {
  ASKS,
  checkServer,
  type ImportedServerOptions,
  type StdioServerOptions,
} from "../../mcp/import/server-options.ts";
import type { ToolClasses } from "../../mcp/import/tool-name.ts";
import type { DefinitionLock } from "../../pins/lock-file.ts";
import type { FsGrant } from "../../policy/grant/fs-grant.ts";
import type { SandboxesOptions } from "../../sandboxes/open-sandboxes.ts";
import { PROCESS_DEFAULTS } from "../../sandboxes/process/process-limits.ts";
import { MCP_LOAD_DEFAULTS } from "../../sandboxes/remote/mcp-client/server-load.ts";
import { SIDE_EFFECTS } from "../../tool/side-effects.ts";
import { whyElsewhere, whyNotShown, whyUnreachable } from "./grants-without-effect.ts";
import { absolutePathBeside, guardConfined } from "./guard-code.ts";
import { loadOAuth, OAUTH, ORIGINS } from "./load-oauth.ts";
import {
  type InstalledPackage,
  installationOf,
  isInstalled,
  PACKAGE_FORM,
  PackageProblem,
  parsePackage,
  programOf,
} from "./server-package.ts";
import { readToken, TOKEN } from "./token.ts";

const COUNT: Typed<number> = integer({ minimum: 1 });
const BYTES: Typed<number> = typed({ ...COUNT, title: "bytes" });

const PLACES = mapOf({
  env: described(TEXT, "The environment variable that has the value."),
  file: described(PATH, "The file that has the value."),
  value: described(
    string(),
    "The value itself, if it is not secret. Exactly one of `env`, `file` and `value` must be set.",
  ),
});
type NamedValue = TypeOf<typeof PLACES>;
/** The values that may be secrets: named, or written down if they are none. */
const VALUES = record(
  typed<NamedValue>({
    ...PLACES,
    oneOf: [{ required: ["env"] }, { required: ["file"] }, { required: ["value"] }],
    message: "must have one of env, file and value: a secret itself does not belong here",
  }),
);

/** The schemas of the members of a server that is a program. */
const PROGRAM = {
  command: described(
    TEXT,
    "A program that speaks over its standard streams: a path in the sandbox `process`, or a name that is looked up in `/usr/bin` and `/bin`.",
  ),
  package: described(
    TEXT,
    "In place of `command`: a package of npm that is installed, as `npm:NAME@VERSION`. `sandgate mcp add` writes it, `sandgate mcp install` installs it elsewhere: see docs/mcp.md#packages.",
  ),
  bin: described(
    TEXT,
    "Which program of the package. Default: the only one, or the one with the package's name.",
  ),
  args: described(
    list(anyOf([string(), TOKEN])),
    "Its arguments; a secret is named: `{ file: PATH }` or `{ env: NAME }`. Default: none.",
  ),
  env: described(VALUES, "All its variables besides `PATH`, `HOME` and `LANG`. Default: none."),
  cwd: described(
    TEXT,
    "Its working directory, relative to the first directory of `fs`. Default: the first one with `write`, or else the first one that does not hold packages; `/tmp` without one.",
  ),
  fs: described(
    typed<readonly FsGrant[]>({
      type: "array",
      items: mapOf({
        directory: described(
          PATH,
          "A directory that it sees. Exactly one of `directory` and `file` must be set.",
        ),
        file: described(PATH, "A file that it sees."),
        at: described(
          TEXT,
          "The absolute path at which it sees it. Default: `/`, and for a file its name after `/`.",
        ),
        write: described(FLAG, "Whether it may write there.", false),
      }),
    }),
    "Files and directories that it sees besides the system's. Default: none.",
  ),
  net: described(ORIGINS, "Origins that it can reach. Default: none."),
  limits: described(
    mapOf({
      memoryBytes: described(BYTES, "The memory of all its processes. Default: no limit."),
      processes: described(COUNT, "Processes and threads at once. Default: no limit."),
      processMemoryBytes: described(BYTES, "The address space of each process. Default: no limit."),
      cpuMs: described(
        typed<number>({ ...COUNT, title: "milliseconds" }),
        "The CPU time of each process. Default: no limit.",
      ),
      netBytes: described(BYTES, "The bytes of all its connections.", PROCESS_DEFAULTS.netBytes),
    }),
    "What it may use up.",
  ),
};

/** The schemas of the members of a server that is spoken to over HTTP. */
const HTTP_SERVER = {
  url: described(
    TEXT,
    "The address of a server that is spoken to over HTTP: an `http:` or `https:` URL without credentials.",
  ),
  headers: described(VALUES, "Headers of each request to it. Default: none."),
  bearer: described(TOKEN, "The token that each request to it carries. Default: none."),
  addresses: described(
    STRINGS,
    "Address ranges that are not public and that its host may have, such as `127.0.0.1/32`. Default: none.",
  ),
  oauth: described(OAUTH, "How tokens for it are got: see docs/mcp.md#oauth. Default: it gets none."),
};

const MILLISECONDS: Typed<number> = typed({ ...COUNT, maximum: MAX_DELAY_MS, title: "milliseconds" });

const CALLS = mapOf({
  maxConcurrent: described(
    COUNT,
    "How many calls it runs at once. Those that wait for a person do not count.",
    MCP_LOAD_DEFAULTS.maxConcurrent,
  ),
  maxWaiting: described(
    integer({ minimum: 0 }),
    "How many more wait for their turn; others fail at once.",
    MCP_LOAD_DEFAULTS.maxWaiting,
  ),
  maxWaitMs: described(
    MILLISECONDS,
    "How long a call waits for its turn at most.",
    MCP_LOAD_DEFAULTS.maxWaitMs,
  ),
  maxFaults: described(
    COUNT,
    "After how many calls in a row without an answer it gets none for a while.",
    MCP_LOAD_DEFAULTS.maxFaults,
  ),
});

const SERVER = mapOf({
  ...PROGRAM,
  ...HTTP_SERVER,
  asks: described(
    list(choice(ASKS)),
    "What the server may ask of the client of a call, if that is a client of MCP.",
    ["elicitation"],
  ),
  keepsNames: described(
    FLAG,
    "Whether its tools and prompts keep their own names, in place of `mcp_<server>_<name>`.",
    false,
  ),
  calls: described(
    CALLS,
    "How many calls it gets at once, and when it gets none for a while: see docs/mcp.md#slow-servers.",
  ),
});
type ServerEntry = TypeOf<typeof SERVER>;

const MCP = mapOf(
  {
    servers: record(SERVER, {
      description:
        "The servers by name: 1 to 32 letters, digits, `_` and `-`. Each has one of `command`, `package` and `url`.",
    }),
    classes: described(
      record(choice(SIDE_EFFECTS)),
      "The side effects of imported tools, by patterns of their names, such as `mcp_github_*`. The first match holds. Default: `destructive`.",
    ),
  },
  ["servers"],
);
type McpEntry = TypeOf<typeof MCP>;

/** The shape of `mcp`. */
export const MCP_SHAPE: CompiledShape = compileShape(MCP);

/** The MCP servers of a config, with their secrets. */
export interface McpConfig {
  readonly servers: Readonly<Record<string, ImportedServerOptions>>;
  readonly classes: ToolClasses;
  /** The packages of servers that have one, by the names of the servers. */
  readonly packages: Readonly<Record<string, InstalledPackage>>;
}

/** Connects to the servers of a config, and registers their tools. Returns what is wrong. */
export type ImportTools = (given: {
  readonly source: ConfigSource;
  readonly mcp: McpConfig;
  readonly sandboxOptions: SandboxesOptions;
  readonly registry: ToolRegistry;
  /** The definitions that were approved; `undefined` if there is no lock. */
  readonly lock: DefinitionLock | undefined;
}) => Promise<readonly ConfigProblem[]>;

/**
 * Loads `mcp` of a config. Paths of files are relative to the config. A server with an error is left out.
 *
 * @param problems Receives every problem.
 */
export async function loadMcp(source: ConfigSource, problems: ConfigProblem[]): Promise<McpConfig> {
  if (source.at(["mcp"]) === undefined) return { servers: {}, classes: {}, packages: {} };
  const entry = source.read<McpEntry>(MCP_SHAPE, problems, ["mcp"]);
  const servers: Record<string, ImportedServerOptions> = {};
  const packages: Record<string, InstalledPackage> = {};
  for (const [name, server] of Object.entries(entry?.value.servers ?? {})) {
    if (entry === undefined) break;
    const installed = server.package === undefined ? undefined : findPackage(name, server, entry, problems);
    if (server.package !== undefined && installed === undefined) continue;
    try {
      const options = await loadServer(name, withProgram(server, installed), entry, problems);
      checkServer(name, options);
      if (installed !== undefined) packages[name] = installed;
      servers[name] = options;
      if ("command" in options) problems.push(...programFlaws(options, entry, ["servers", name]));
    } catch (error) {
      problems.push(source.problem(["mcp", "servers", name], (error as Error).message));
    }
  }
  return { servers, classes: entry?.value.classes ?? {}, packages };
}

/** Finds the package of a server, or adds to `problems` why it cannot be started. */
function findPackage(
  name: string,
  { package: written = "", command, url }: ServerEntry,
  entry: ConfigEntry<McpEntry>,
  problems: ConfigProblem[],
): InstalledPackage | undefined {
  const refuse = (message: string): undefined => {
    problems.push(entry.problem(["servers", name, "package"], message));
  };
  const version = parsePackage(written);
  if (version === undefined) return refuse(`must be ${PACKAGE_FORM}`);
  if (command !== undefined || url !== undefined)
    return refuse(`the MCP server '${name}' must have one of command, package and url`);
  const installed = installationOf(version);
  // No tool may write there, whether it is installed yet or not.
  guardFiles([
    { path: join(installed.folder, "node_modules"), access: "read", isFolder: true },
    { path: join(installed.folder, "package-lock.json"), access: "read" },
  ]);
  if (isInstalled(installed)) return installed;
  return refuse(`${written} is not installed on this machine: 'sandgate mcp install' installs it`);
}

/** Adds to a server with a package how that is started. The first of its own grants remains the first one. */
function withProgram(
  { package: _, bin, ...server }: ServerEntry,
  installed: InstalledPackage | undefined,
): ServerEntry {
  if (installed === undefined) {
    if (bin !== undefined)
      throw new PackageProblem("'bin' names a program of a 'package', and there is none");
    return server;
  }
  const { command, script, fs } = programOf(installed, bin);
  return { ...server, command, args: [script, ...(server.args ?? [])], fs: [...(server.fs ?? []), ...fs] };
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
    const { cwd } = program;
    const args: string[] = [];
    for (const [index, argument] of (program.args ?? []).entries()) {
      const at = [...path, "args", index];
      args.push(
        typeof argument === "string" ? argument : ((await readToken(argument, entry, at, problems)) ?? ""),
      );
    }
    const grants = fs?.map(beside);
    const command = program.command as string;
    guardConfined([command, ...args].map(String), grants, cwd);
    return { ...program, command, args, env: variables, ...(grants && { fs: grants }) };
  }
  for (const member of Object.keys(PROGRAM).filter((name) => !["command", "package"].includes(name))) {
    if (entry.value.servers[name]?.[member as keyof ServerEntry] === undefined) continue;
    const instead = INSTEAD[member] ?? "it is for a server with 'command'";
    const message = `'${member}' has no effect beside 'url', since no program is started here: ${instead}`;
    problems.push(entry.problem([...path, member], message, "warning", "key"));
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

/** Grants of a program that have no effect. */
function programFlaws(
  { net = [], fs = [] }: Pick<StdioServerOptions, "net" | "fs">,
  entry: ConfigEntry<McpEntry>,
  path: ConfigPath,
): readonly ConfigProblem[] {
  const found = [
    ...net.map((grant, index) => ({ at: ["net", index], message: whyUnreachable(grant, true) })),
    ...fs.map((grant, index) => ({
      at: ["fs", index],
      message: whyNotShown(grant) ?? whyElsewhere(grant),
    })),
  ];
  return found.flatMap(({ at, message }) =>
    message === undefined ? [] : [entry.problem([...path, ...at], message, "warning")],
  );
}

/** What to write for members that only concern programs. */
const INSTEAD: Readonly<Record<string, string>> = {
  net: "requests go to the origin of 'url' only, and 'addresses' allows ranges that are not public",
  env: "send values with 'headers' or 'bearer'",
  fs: "the server sees the files of its own machine",
};

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
