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
}

/** The name of one capability. */
export type CapabilityName = keyof Capabilities;

/** Every {@link CapabilityName}. */
export const CAPABILITY_NAMES: readonly CapabilityName[] = Object.freeze(["env", "clock", "random"]);

/**
 * Checks capabilities that came from outside and returns a frozen copy that holds only what is granted.
 *
 * @throws {TypeError} when a capability is unknown or of the wrong shape.
 */
export function checkCapabilities(capabilities: Capabilities): Capabilities {
  const checked: { -readonly [Name in CapabilityName]?: Capabilities[Name] } = {};
  for (const [name, value] of Object.entries(capabilities)) {
    if (value === undefined || value === false) continue;
    if (name === "env") {
      if (!Array.isArray(value) || !value.every((item) => typeof item === "string")) {
        throw new TypeError("capability 'env' must be a list of names");
      }
      if (value.length > 0) checked.env = Object.freeze([...value]);
    } else if (name === "clock" || name === "random") {
      if (value !== true) throw new TypeError(`capability '${name}' must be true or false`);
      checked[name] = true;
    } else {
      throw new TypeError(`unknown capability '${name}'`);
    }
  }
  return Object.freeze(checked);
}

/** What both sets give. */
export function commonCapabilities(a: Capabilities, b: Capabilities): Capabilities {
  const env = a.env?.filter((name) => b.env?.includes(name)) ?? [];
  return {
    ...(env.length > 0 && { env }),
    ...(a.clock && b.clock && { clock: true }),
    ...(a.random && b.random && { random: true }),
  };
}
