import { compileNamePattern } from "./name-pattern.ts";

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
        if (!Array.isArray(value) || !value.every((item) => typeof item === "string")) {
          throw new TypeError(`capability '${name}' must be a list of names`);
        }
        if (value.length > 0) checked[name] = Object.freeze([...value]);
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
  const env = a.env?.filter((name) => b.env?.includes(name)) ?? [];
  const tools = commonNames(a.tools ?? [], b.tools ?? []);
  const frozenClock = a.frozenClock ?? b.frozenClock;
  const randomSeed = a.randomSeed ?? b.randomSeed;
  return {
    ...(env.length > 0 && { env }),
    ...(a.clock && b.clock && { clock: true }),
    ...(a.random && b.random && { random: true }),
    ...(tools.length > 0 && { tools }),
    ...(frozenClock !== undefined && { frozenClock }),
    ...(randomSeed !== undefined && { randomSeed }),
  };
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
