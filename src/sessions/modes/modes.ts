import { BASE_MODES, type BaseMode, type Level } from "../levels.ts";
import { type CustomMode, type ModeState, readStoredMode, type SessionMode } from "./mode.ts";

/** Maximum number of tools that a mode names, and of modes. */
const MAX_TOOLS = 1_000;
const MAX_MODES = 100;
const MAX_TOOL_NAME = 128;
const NAME = /^[A-Za-z][\w-]{0,63}$/;
const LEVELS: readonly Level[] = ["auto", "prompt", "deny"];
const NO_TOOLS: ReadonlyMap<string, Level> = new Map();

/** Says what names of modes must be like. */
export const MODE_NAME_FORM = "1 to 64 letters, digits and characters of _-, of which the first is a letter";

/** Whether a mode can have this name. */
export function isModeName(name: string): boolean {
  return NAME.test(name) && !isBaseMode(name);
}

/** The modes that sessions can have: those that there always are, and those of a configuration. */
export class Modes {
  #named: ReadonlyMap<string, ModeState>;

  /** @throws {TypeError} if a mode is invalid. */
  constructor(named: Readonly<Record<string, CustomMode>> = {}) {
    this.#named = namedModes(named);
  }

  /**
   * Replaces the modes of the configuration.
   *
   * @throws {TypeError} if a mode is invalid. Nothing is replaced then.
   */
  replace(named: Readonly<Record<string, CustomMode>>): void {
    this.#named = namedModes(named);
  }

  /**
   * Returns a mode that is set now, in which no plan is approved.
   *
   * @throws {TypeError} if there is no such mode, or it is invalid.
   */
  resolve(mode: unknown): ModeState {
    const known = typeof mode === "string" ? this.#find(mode) : undefined;
    if (known !== undefined) return known;
    if (typeof mode === "object" && mode !== null) return stateOf(mode as CustomMode, "the mode");
    const names = [...BASE_MODES, ...this.#named.keys()];
    throw new TypeError(`the mode must be one of ${names.join(", ")}, or { base, tools }`);
  }

  /** Returns a mode of a store. `manual` stands for one that is unknown: a later version may know it. */
  restore(text: string): ModeState {
    try {
      const { mode, isPlanApproved } = readStoredMode(text);
      const state = this.resolve(mode);
      return isPlanApproved ? approvePlanIn(state) : state;
    } catch {
      return this.resolve("manual");
    }
  }

  #find(name: string): ModeState | undefined {
    if (!isBaseMode(name)) return this.#named.get(name);
    return Object.freeze({ mode: name, base: name, tools: NO_TOOLS, isPlanApproved: false });
  }
}

/** @throws {TypeError} if a mode is invalid. */
function namedModes(named: Readonly<Record<string, CustomMode>>): ReadonlyMap<string, ModeState> {
  const entries = Object.entries(named);
  if (entries.length > MAX_MODES) throw new TypeError(`there can be ${MAX_MODES} modes at most`);
  return new Map(
    entries.map(([name, custom]) => {
      if (isBaseMode(name)) throw new TypeError(`the mode '${name}' cannot be defined again`);
      if (!isModeName(name)) throw new TypeError(`the name of a mode must be ${MODE_NAME_FORM}`);
      return [name, { ...stateOf(custom, `the mode '${name}'`), mode: name }];
    }),
  );
}

/** Returns the mode with its plan approved; the same if it awaits none. */
export function approvePlanIn(state: ModeState): ModeState {
  return state.base === "plan" ? Object.freeze({ ...state, isPlanApproved: true }) : state;
}

function isBaseMode(mode: unknown): mode is BaseMode {
  return BASE_MODES.some((each) => each === mode);
}

/** @throws {TypeError} if the mode is invalid. */
function stateOf(custom: CustomMode, what: string): ModeState {
  const { base, tools = {}, ...others } = custom;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new TypeError(`unknown member '${unknown}' in ${what}`);
  if (!isBaseMode(base)) throw new TypeError(`the base of ${what} must be one of ${BASE_MODES.join(", ")}`);
  if (typeof tools !== "object" || tools === null || Array.isArray(tools))
    throw new TypeError(`the tools of ${what} must be an object of levels by names of tools`);
  const levels = Object.entries(tools);
  if (levels.length > MAX_TOOLS) throw new TypeError(`${what} can name ${MAX_TOOLS} tools at most`);
  for (const [name, level] of levels) {
    if (name.length === 0 || name.length > MAX_TOOL_NAME)
      throw new TypeError(`the names of tools in ${what} must have 1 to ${MAX_TOOL_NAME} characters`);
    if (!LEVELS.includes(level)) throw new TypeError(`the levels in ${what} must be auto, prompt or deny`);
  }
  const mode: SessionMode = Object.freeze({ base, tools: Object.freeze(Object.fromEntries(levels)) });
  return Object.freeze({ mode, base, tools: new Map(levels), isPlanApproved: false });
}
