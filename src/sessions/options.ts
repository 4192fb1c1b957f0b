import { MAX_DELAY_MS } from "../base/timers.ts";
import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import { checkMembers, type DispatchContext, guardRedactions } from "../engine/call/context.ts";
import { SIDE_EFFECTS } from "../tool/side-effects.ts";
import type { DurableRuntime } from "./durable-runtime.ts";
import {
  type ClassLevels,
  DEFAULT_CLASS_LEVELS,
  type Level,
  SESSION_DEFAULTS,
  TOOL_LEVELS,
  type ToolLevel,
} from "./levels.ts";
import type { CustomMode } from "./modes/mode.ts";
import { Modes } from "./modes/modes.ts";
import type { SessionStore } from "./store/store.ts";
import { absolutePath } from "./trusted-workspaces.ts";

/**
 * Options of `openSessions`. Those of a {@link DispatchContext} have the same meaning and the same defaults.
 *
 * @typeParam Embedder The type of `embedder`, which is required if the tools of the registry need one. Default: any.
 */
export type SessionsOptions<Embedder = unknown> = Omit<DispatchContext<Embedder>, SessionMember> & {
  /** When a person is asked. */
  readonly confirmations?: ConfirmationOptions;
  readonly limits?: SessionLimits;
  /**
   * What survives a restart. The sessions close it. Default: confirmations and approvals are stored in memory, and calls are
   * not stored.
   */
  readonly store?: SessionStore;
  /**
   * Runs the calls on several processes, each of which can end at any moment: see `openRestate` of `sandgate/restate`. It has
   * a store of its own, so that `store` must be absent. The sessions close it. Default: calls run in this process.
   */
  readonly durable?: DurableRuntime;
};

/** The members of a context that the sessions set themselves. */
type SessionMember =
  | "sessionId"
  | "turnId"
  | "messageId"
  | "workspace"
  | "principal"
  | "confirm"
  | "ask"
  | "stageChanges"
  | "signal"
  | "partialOutput";

/** When a person is asked about a call. */
export interface ConfirmationOptions {
  /** Modes of your own, by name. Default: none. */
  readonly modes?: Readonly<Record<string, CustomMode>>;
  /** By class of tool. Default: `auto` for `none` and `read`, and `prompt` for the others. */
  readonly default?: Partial<ClassLevels>;
  /** By name of tool. Default: none. */
  readonly tools?: Readonly<Record<string, ToolLevel>>;
  /**
   * Workspaces in which calls run without a question, with everything below them; `~` is the home directory. Links are
   * resolved. Default: none.
   */
  readonly trustedWorkspaces?: readonly string[];
  /** The levels of classes in a trusted workspace. Default: `auto`. */
  readonly trustedWorkspaceOverrides?: Partial<ClassLevels>;
  /** Milliseconds for which a question waits for its answer: 1 to 2^31 - 1. Default: 300,000. */
  readonly timeoutMs?: number;
}

/** Limits of each session. */
export interface SessionLimits {
  /** How many calls run at once: 1 to 64. Default: 4. */
  readonly concurrency?: number;
  /** How many calls of a tool run at once, by its name. Default: the tool's own `maxConcurrent`. */
  readonly perTool?: Readonly<Record<string, number>>;
  /** How many calls the session can make. Invalid and denied calls do not count. Default: no limit. */
  readonly calls?: number;
  /** How many calls of a tool the session can make, by its name. Default: no limit. */
  readonly callsPerTool?: Readonly<Record<string, number>>;
  /**
   * How many calls are stored of each session and of each principal, for rules with conditions on earlier calls. All
   * together, ten times as many are stored. A condition that looks back further is unclear. Default: 100,000.
   */
  readonly ledgerEntries?: number;
}

/** The options, checked, with their defaults. */
export interface Settings {
  readonly context: Omit<DispatchContext, SessionMember>;
  readonly modes: Modes;
  readonly classes: ClassLevels;
  readonly tools: ReadonlyMap<string, ToolLevel>;
  readonly trustedWorkspaces: readonly string[];
  readonly trustedClasses: Partial<ClassLevels>;
  readonly timeoutMs: number;
  readonly concurrency: number;
  readonly perTool: ReadonlyMap<string, number>;
  readonly calls: number;
  readonly callsPerTool: ReadonlyMap<string, number>;
  readonly ledgerEntries: number;
}

const MAX_CONCURRENCY = 64;
const MAX_LEDGER_ENTRIES = 10_000_000;
const LEVELS: readonly Level[] = ["auto", "prompt", "deny"];

/** @throws {TypeError} if an option is invalid. */
export function checkOptions(options: SessionsOptions): Settings {
  const { confirmations = {}, limits = {}, store, durable, ...context } = options;
  if (store !== undefined && durable !== undefined) {
    throw new TypeError("a durable runtime has a store of its own: 'store' must be absent");
  }
  refuseUnknown(options, NAMES, "openSessions");
  checkMembers(context);
  refuseUnknown(confirmations, CONFIRMATION_NAMES, "confirmations");
  refuseUnknown(limits, SESSION_LIMIT_NAMES, "limits");
  const { default: classes = {}, tools = {}, trustedWorkspaces = [], timeoutMs } = confirmations;
  const { trustedWorkspaceOverrides = {} } = confirmations;
  const { concurrency = SESSION_DEFAULTS.concurrency, perTool = {}, calls, callsPerTool = {} } = limits;
  const { ledgerEntries = SESSION_DEFAULTS.ledgerEntries } = limits;
  checkClasses(classes, "confirmations.default");
  checkClasses(trustedWorkspaceOverrides, "confirmations.trustedWorkspaceOverrides");
  for (const [name, level] of Object.entries(tools)) {
    checkOneOf(level, TOOL_LEVELS, `confirmations.tools['${name}']`);
  }
  return {
    context: guardRedactions(context) as Settings["context"],
    modes: new Modes(confirmations.modes),
    classes: { ...DEFAULT_CLASS_LEVELS, ...classes },
    tools: new Map(Object.entries(tools)),
    trustedWorkspaces: trustedWorkspaces.map((path) => absolutePath(path, "a trusted workspace")),
    trustedClasses: trustedWorkspaceOverrides,
    timeoutMs: checkInteger(timeoutMs ?? SESSION_DEFAULTS.timeoutMs, MAX_DELAY_MS, "confirmations.timeoutMs"),
    concurrency: checkInteger(concurrency, MAX_CONCURRENCY, "limits.concurrency"),
    perTool: checkCounts(perTool, "limits.perTool"),
    calls: calls === undefined ? Number.POSITIVE_INFINITY : checkCount(calls, "limits.calls"),
    callsPerTool: checkCounts(callsPerTool, "limits.callsPerTool"),
    ledgerEntries: checkInteger(ledgerEntries, MAX_LEDGER_ENTRIES, "limits.ledgerEntries"),
  };
}

/** With what a server of sessions may have for its executor alone. */
const NAMES: OptionNames<SessionsOptions & Pick<DispatchContext, SessionMember>> = {
  registry: true,
  policy: true,
  sandboxes: true,
  sessionId: true,
  turnId: true,
  messageId: true,
  workspace: true,
  principal: true,
  agent: true,
  toolAlias: true,
  hooks: true,
  events: true,
  redaction: true,
  partialOutput: true,
  confirm: true,
  ask: true,
  stageChanges: true,
  journal: true,
  suspensions: true,
  tracer: true,
  idempotencyKey: true,
  signal: true,
  waitedMs: true,
  turn: true,
  decisionTimeoutMs: true,
  unhandledErrors: true,
  resultBudget: true,
  timeouts: true,
  upperBound: true,
  embedder: true,
  confirmations: true,
  limits: true,
  store: true,
  durable: true,
};
const CONFIRMATION_NAMES: OptionNames<ConfirmationOptions> = {
  modes: true,
  default: true,
  tools: true,
  trustedWorkspaces: true,
  trustedWorkspaceOverrides: true,
  timeoutMs: true,
};
const SESSION_LIMIT_NAMES: OptionNames<SessionLimits> = {
  concurrency: true,
  perTool: true,
  calls: true,
  callsPerTool: true,
  ledgerEntries: true,
};
const CLASSES = Object.fromEntries(SIDE_EFFECTS.map((name) => [name, true]));

function checkClasses(classes: Partial<ClassLevels>, what: string): void {
  refuseUnknown(classes, CLASSES, what);
  for (const [name, level] of Object.entries(classes)) checkOneOf(level, LEVELS, `${what}.${name}`);
}

function checkCounts(counts: Readonly<Record<string, number>>, what: string): ReadonlyMap<string, number> {
  for (const [name, count] of Object.entries(counts)) checkCount(count, `${what}['${name}']`);
  return new Map(Object.entries(counts));
}

function checkCount(count: number, what: string): number {
  return checkInteger(count, Number.MAX_SAFE_INTEGER, what);
}

function checkInteger(value: number, max: number, what: string): number {
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw new TypeError(`${what} must be an integer from 1 to ${max}, not ${String(value)}`);
}

function checkOneOf(value: unknown, allowed: readonly string[], what: string): void {
  if (allowed.includes(value as string)) return;
  throw new TypeError(`${what} must be one of ${allowed.join(", ")}, not ${String(value)}`);
}
