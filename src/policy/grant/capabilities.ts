import { compileNamePattern } from "../match/name-pattern.ts";
import { checkDirectoryGrants, commonDirectoryGrants, type DirectoryGrant } from "./directory-grant.ts";
import { checkNetGrant, commonNetGrants, type NetGrant } from "./net-grant.ts";

/**
 * What a call may reach beyond its input. Everything is absent unless granted. A capability that the
 * sandbox cannot give makes the call fail (`sandbox_unavailable`); it is never silently left out.
 */
export interface Capabilities {
  /** Names of the environment variables of this process that the tool may read. */
  readonly env?: readonly string[];
  /** Whether the tool may read clocks. */
  readonly clock?: boolean;
  /** Whether the tool may draw random bytes. */
  readonly random?: boolean;
  /** Names of the tools that the tool may call, in which `*` stands for any run of characters. */
  readonly tools?: readonly string[];
  /** Directories that the tool may use. */
  readonly fs?: readonly DirectoryGrant[];
  /** Where the tool may send HTTP requests. */
  readonly net?: readonly NetGrant[];
  /** Names of the secrets that the tool's requests may carry. The tool itself never sees their values. */
  readonly secrets?: readonly string[];
  /** Names of the key-value stores that the tool may read and write. */
  readonly keyValue?: readonly string[];
  /** Calls of a session share one instance of the tool, and whatever an earlier one left in it. */
  readonly reuse?: "instance";
  /** The one time that every clock shows, in ms since the epoch: for replays. It restricts. */
  readonly frozenClock?: number;
  /** What the tool's random numbers are made of, instead of chance: for replays. It restricts. */
  readonly randomSeed?: string;
}

/** The name of one capability. */
export type CapabilityName = keyof Capabilities;

/** Every {@link CapabilityName}. */
export const CAPABILITY_NAMES: readonly CapabilityName[] = Object.freeze([
  "env",
  "clock",
  "random",
  "tools",
  "fs",
  "net",
  "secrets",
  "keyValue",
  "reuse",
  "frozenClock",
  "randomSeed",
]);

/**
 * Checks capabilities that came from outside and returns a frozen copy that holds only what is granted.
 *
 * @throws {TypeError} when a capability is unknown or of the wrong shape.
 */
export function checkCapabilities(capabilities: Capabilities): Capabilities {
  const checked: { -readonly [Name in CapabilityName]?: Capabilities[Name] } = {};
  for (const [name, value] of Object.entries(capabilities)) {
    if (value === undefined || value === false) continue;
    switch (name) {
      case "env":
      case "tools":
      case "secrets":
      case "keyValue":
        if (!Array.isArray(value) || !value.every((item) => typeof item === "string")) {
          throw new TypeError(`capability '${name}' must be a list of names`);
        }
        if (value.length > 0) checked[name] = Object.freeze([...value]);
        break;
      case "fs": {
        const directories = checkDirectoryGrants(value);
        if (directories.length > 0) checked.fs = directories;
        break;
      }
      case "net":
        if (!Array.isArray(value)) {
          throw new TypeError("capability 'net' must be a list of origins, or of { origin, addresses }");
        }
        if (value.length > 0) checked.net = Object.freeze(value.map(checkNetGrant));
        break;
      case "reuse":
        if (value !== "instance") throw new TypeError("capability 'reuse' must be 'instance'");
        checked.reuse = value;
        break;
      case "clock":
      case "random":
        if (value !== true) throw new TypeError(`capability '${name}' must be true or false`);
        checked[name] = true;
        break;
      case "frozenClock":
        if (!Number.isSafeInteger(value)) {
          throw new TypeError("capability 'frozenClock' must be a whole number of ms since the epoch");
        }
        checked.frozenClock = value;
        break;
      case "randomSeed":
        if (typeof value !== "string") throw new TypeError("capability 'randomSeed' must be a string");
        checked.randomSeed = value;
        break;
      default:
        throw new TypeError(`unknown capability '${name}'`);
    }
  }
  return Object.freeze(checked);
}

/** What both sets give, under the restrictions of both; of two frozen clocks or seeds, the first one's. */
export function commonCapabilities(a: Capabilities, b: Capabilities): Capabilities {
  const env = inBoth(a.env, b.env);
  const secrets = inBoth(a.secrets, b.secrets);
  const keyValue = inBoth(a.keyValue, b.keyValue);
  const fs = commonDirectoryGrants(a.fs ?? [], b.fs ?? []);
  const net = commonNetGrants(a.net ?? [], b.net ?? []);
  const tools = commonNames(a.tools ?? [], b.tools ?? []);
  const frozenClock = a.frozenClock ?? b.frozenClock;
  const randomSeed = a.randomSeed ?? b.randomSeed;
  return {
    ...(env.length > 0 && { env }),
    ...(a.clock && b.clock && { clock: true }),
    ...(a.random && b.random && { random: true }),
    ...(tools.length > 0 && { tools }),
    ...(fs.length > 0 && { fs }),
    ...(net.length > 0 && { net }),
    ...(secrets.length > 0 && { secrets }),
    ...(keyValue.length > 0 && { keyValue }),
    ...(a.reuse && b.reuse && { reuse: a.reuse }),
    ...(frozenClock !== undefined && { frozenClock }),
    ...(randomSeed !== undefined && { randomSeed }),
  };
}

function inBoth(a: readonly string[] = [], b: readonly string[] = []): readonly string[] {
  return a.filter((name) => b.includes(name));
}

/** The patterns of each list that lie within the other's. Two that merely overlap give nothing. */
function commonNames(a: readonly string[], b: readonly string[]): readonly string[] {
  const within = (names: readonly string[], others: readonly string[]): string[] =>
    names.filter((name) => others.some((other) => isWithin(name, other)));
  return [...new Set([...within(a, b), ...within(b, a)])];
}

/** Whether every name of one pattern is a name of the other: `*` in the one is a character like others. */
function isWithin(name: string, other: string): boolean {
  return compileNamePattern(other).matches(name);
}
