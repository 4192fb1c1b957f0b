import { parseOrigin } from "./grant/net-grant.ts";
import { NAME_PATTERN } from "./match/name-pattern.ts";

/** What a supervised agent may have done for it. Everything that is absent is refused. */
export interface AgentCapabilities {
  /** Names of tools, in which `*` matches any number of characters and `\*` is a star. Default: none. */
  readonly tools?: readonly string[];
  /** Files and folders with all that is below them. Default: none. */
  readonly fs?: readonly FsCapability[];
  /** Origins as in a `NetGrant`, such as `https://api.example.com` or `https://*.example.com`. Default: none. */
  readonly net?: readonly string[];
  /** How many calls it may make. Default: any number. */
  readonly limits?: AgentQuotas;
}

/**
 * Files that an agent may have read, or also written: a directory with all that is below it, or a file. The path is absolute and
 * canonical: without links, `.`, `..` and empty names.
 */
export type FsCapability =
  | { readonly directory: string; readonly write?: boolean }
  | { readonly file: string; readonly write?: boolean };

/** The path of a capability. */
export function pathOf(capability: FsCapability): string {
  return "file" in capability ? capability.file : capability.directory;
}

/** How many calls an agent may make. Those that tools make count; those that are denied do not. */
export interface AgentQuotas {
  /** Of all tools. Default: any number. */
  readonly calls?: number;
  /** By tool. Default: any number. */
  readonly callsPerTool?: Readonly<Record<string, number>>;
}

const NAME = new RegExp(NAME_PATTERN, "u");
const MAX_ENTRIES = 10_000;

/**
 * Checks capabilities, and returns a deeply frozen copy with all members.
 *
 * @throws {TypeError} if a member is unknown or invalid.
 */
export function checkAgentCapabilities({
  tools = [],
  fs = [],
  net = [],
  limits = {},
  ...others
}: AgentCapabilities): Required<AgentCapabilities> {
  refuseUnknown(others, "capabilities");
  for (const [name, list] of Object.entries({ tools, fs, net }))
    if (!Array.isArray(list) || list.length > MAX_ENTRIES)
      throw new TypeError(`the capability '${name}' must be a list of at most ${MAX_ENTRIES} entries`);
  for (const pattern of tools)
    if (typeof pattern !== "string" || !NAME.test(pattern))
      throw new TypeError(
        "the capability 'tools' must have names of tools, in which * matches any characters",
      );
  for (const origin of net) parseOrigin(String(origin));
  return Object.freeze({
    tools: Object.freeze([...tools]),
    fs: Object.freeze(fs.map(checkFsCapability)),
    net: Object.freeze([...net]),
    limits: checkQuotas(limits),
  });
}

/** What the capability `fs` must be. */
const FS_FORM =
  "an fs capability must be { directory, write } or { file, write }, such as { directory: '/srv/data', write: true }; 'mode: rw' is 'write: true'";

function checkFsCapability(given: FsCapability): FsCapability {
  const { directory, file, write = false, ...others } = given as Readonly<Record<string, unknown>>;
  const path = directory ?? file;
  const hasOne = (directory === undefined) !== (file === undefined);
  if (!hasOne || typeof write !== "boolean" || Object.keys(others).length > 0) throw new TypeError(FS_FORM);
  if (!isCanonicalPath(path))
    throw new TypeError("the path of an fs capability must be absolute and canonical, such as /srv/data");
  return Object.freeze(file === undefined ? { directory: path, write } : { file: path, write });
}

/** Whether a path is absolute, and no name in it is empty, `.` or `..`. */
export function isCanonicalPath(path: unknown): path is string {
  if (typeof path !== "string" || !path.startsWith("/") || path.includes("\0")) return false;
  if (path === "/") return true;
  return path
    .slice(1)
    .split("/")
    .every((name) => name !== "" && name !== "." && name !== "..");
}

function checkQuotas({ calls, callsPerTool = {}, ...others }: AgentQuotas): AgentQuotas {
  refuseUnknown(others, "limits");
  for (const [name, count] of [["calls", calls ?? 0] as const, ...Object.entries(callsPerTool)])
    if (!Number.isSafeInteger(count) || count < 0)
      throw new TypeError(`the limit of '${name}' must be a whole number of calls`);
  return Object.freeze({
    ...(calls !== undefined && { calls }),
    callsPerTool: Object.freeze({ ...callsPerTool }),
  });
}

function refuseUnknown(others: object, where: string): void {
  for (const name of Object.keys(others))
    throw new TypeError(`unknown member '${name}' in the ${where} of an agent`);
}
