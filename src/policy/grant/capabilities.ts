import { isWithinNamePattern } from "../match/name-pattern.ts";
import { checkFsGrants, commonFsGrants, type FsGrant } from "./fs-grant.ts";
import { checkNetGrant, commonNetGrants, type NetGrant } from "./net-grant.ts";

/**
 * What a call may access besides its input. A call has only the capabilities that are granted. If the sandbox
 * does not support one of them, the call fails with `sandbox_unavailable`; a capability is never silently
 * left out.
 */
export interface Capabilities {
  /** Names of the environment variables of this process that the tool may read. */
  readonly env?: readonly string[];
  /** Whether the tool may read clocks. */
  readonly clock?: boolean;
  /** Whether the tool may draw random bytes. */
  readonly random?: boolean;
  /**
   * Names of the tools that the tool may call, in which `*` matches any number of characters and `\*` is a
   * star.
   */
  readonly tools?: readonly string[];
  /** Directories and files that the tool may access. */
  readonly fs?: readonly FsGrant[];
  /** Origins to which the tool may send HTTP requests. */
  readonly net?: readonly NetGrant[];
  /** Names of the secrets that the tool's requests may carry. The tool itself never sees their values. */
  readonly secrets?: readonly string[];
  /** Names of the key-value stores that the tool may read and write. */
  readonly keyValue?: readonly string[];
  /** Calls of a session share one instance of the tool, including state that earlier calls left in it. */
  readonly reuse?: "instance";
  /**
   * The tool may run in this engine: `"jco"`, for tools whose implementation names it. It bounds less than Sandgate's
   * own, and is for components that are trusted. Tools that do not name it run in Sandgate's own.
   */
  readonly engine?: "jco";
  /** Constant time of all clocks, in ms since the epoch, for replays. A restriction: it grants nothing. */
  readonly frozenClock?: number;
  /** Seed of the tool's random numbers, for replays. A restriction: it grants nothing. */
  readonly randomSeed?: string;
}

/** The name of a capability. */
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
  "engine",
  "frozenClock",
  "randomSeed",
]);

/**
 * Checks capabilities, and returns a frozen copy without those that grant nothing.
 *
 * @throws {TypeError} if a capability is unknown or has an invalid value.
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
        const grants = checkFsGrants(value);
        if (grants.length > 0) checked.fs = grants;
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
      case "engine":
        if (value !== "jco") throw new TypeError("capability 'engine' must be 'jco'");
        checked.engine = value;
        break;
      case "clock":
      case "random":
        if (value !== true) throw new TypeError(`capability '${name}' must be true or false`);
        checked[name] = true;
        break;
      case "frozenClock":
        if (!Number.isSafeInteger(value)) {
          throw new TypeError("capability 'frozenClock' must be an integer number of ms since the epoch");
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

/**
 * Returns the capabilities that both sets grant, with the restrictions of both. If both have a frozen clock
 * or a seed, that of `a` is used.
 */
export function commonCapabilities(a: Capabilities, b: Capabilities): Capabilities {
  const env = inBoth(a.env, b.env);
  const secrets = inBoth(a.secrets, b.secrets);
  const keyValue = inBoth(a.keyValue, b.keyValue);
  const fs = commonFsGrants(a.fs ?? [], b.fs ?? []);
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
    ...(a.engine && b.engine && { engine: a.engine }),
    ...(frozenClock !== undefined && { frozenClock }),
    ...(randomSeed !== undefined && { randomSeed }),
  };
}

function inBoth(a: readonly string[] = [], b: readonly string[] = []): readonly string[] {
  const names = new Set(b);
  return a.filter((name) => names.has(name));
}

/**
 * Returns the patterns of each list that are covered by a pattern of the other. Patterns that only overlap
 * are not.
 */
function commonNames(a: readonly string[], b: readonly string[]): readonly string[] {
  const within = (names: readonly string[], others: readonly string[]): string[] => {
    const same = new Set(others);
    // Without a star and a backslash, a pattern covers only itself.
    const wide = others.filter((other) => /[*\\]/.test(other));
    return names.filter((name) => same.has(name) || wide.some((other) => isWithinNamePattern(name, other)));
  };
  return [...new Set([...within(a, b), ...within(b, a)])];
}
