import { MAX_DELAY_MS } from "../../../base/timers/deadline-timer.ts";
import { DURATION_FORM, formatDuration, parseDuration, parseSize, SIZE_FORM } from "../../../base/units.ts";
import { type CompiledShape, compileShape, type Flaw, mapOf, TEXT } from "../../../config/shape.ts";
import { EXECUTOR_DEFAULT_LIMITS, type ExecutorLimits } from "../../../executor/load/limits.ts";
import type { JsonObject } from "../../../json/value.ts";
import { CREDENTIAL, type CredentialEntry } from "./load-credentials.ts";
import { MCP, type McpEntry } from "./load-mcp.ts";
import { TOKEN, type TokenEntry } from "./token.ts";

const AMOUNT: JsonObject = { type: ["string", "number"] };
const COUNT: JsonObject = {
  type: "integer",
  minimum: 1,
  maximum: 10_000_000,
  message: "must be from 1 to 10000000",
};

/** The shape of `server`: what `sandgate serve` needs besides tools and policy. */
export const SERVER_SHAPE: CompiledShape = compileShape(
  mapOf({
    listen: TEXT,
    hosts: { type: "array", items: TEXT },
    keys: { type: "object", additionalProperties: TEXT },
    token: TOKEN,
    tokenName: TEXT,
    dropNetwork: { type: "boolean" },
    sessions: { type: "boolean" },
    credentials: { type: "array", items: CREDENTIAL },
    origins: { type: "array", items: TEXT },
    workspaces: { type: "array", items: TEXT },
    mcp: MCP,
    limits: mapOf({
      inFlight: COUNT,
      queued: COUNT,
      body: AMOUNT,
      requestTime: AMOUNT,
      callTime: AMOUNT,
      drainDelay: AMOUNT,
      drainTime: AMOUNT,
      remember: mapOf({ calls: COUNT, size: AMOUNT, time: AMOUNT }),
    }),
  }),
);

/** A value of the {@link SERVER_SHAPE}. Paths are relative to the file. */
export interface ServerEntry {
  readonly listen?: string;
  readonly hosts?: readonly string[];
  /** The paths of public keys in PEM, by key id. */
  readonly keys?: Readonly<Record<string, string>>;
  readonly token?: TokenEntry;
  /** The id of the principal for callers with the token. Default: `"token"`. */
  readonly tokenName?: string;
  /**
   * Whether this process drops the network as soon as it listens, so that its tools have no network. Default: `false`.
   */
  readonly dropNetwork?: boolean;
  /** Whether this process serves sessions. Default: `false`. */
  readonly sessions?: boolean;
  /** Only with `sessions`, like the members below. */
  readonly credentials?: readonly CredentialEntry[];
  /** The origins of pages that may use the sessions from a browser. */
  readonly origins?: readonly string[];
  /** The paths of the workspaces that callers can choose, with everything below them. */
  readonly workspaces?: readonly string[];
  /** How MCP is served; at `/mcp` only with `sessions`. */
  readonly mcp?: McpEntry;
  readonly limits?: WrittenExecutorLimits;
}

/** Limits with units: `body: 4MiB`, `drainTime: 10s`. */
export interface WrittenExecutorLimits {
  readonly inFlight?: number;
  readonly queued?: number;
  readonly body?: string | number;
  readonly requestTime?: string | number;
  readonly callTime?: string | number;
  readonly drainDelay?: string | number;
  readonly drainTime?: string | number;
  readonly remember?: {
    readonly calls?: number;
    readonly size?: string | number;
    readonly time?: string | number;
  };
}

/** Parses limits, and adds their flaws to `flaws`. */
export function readExecutorLimits(written: WrittenExecutorLimits, flaws: Flaw[]): ExecutorLimits {
  const {
    inFlight = EXECUTOR_DEFAULT_LIMITS.inFlight,
    queued = EXECUTOR_DEFAULT_LIMITS.queued,
    remember = {},
  } = written;
  const { window } = EXECUTOR_DEFAULT_LIMITS;
  const refuse = (path: readonly string[], form: string): void => {
    flaws.push({ path, at: "value", message: `must be ${form}` });
  };
  const size = (path: readonly string[], text: string | number | undefined, fallback: number): number => {
    if (text === undefined) return fallback;
    const bytes = parseSize(text);
    if (bytes === undefined) refuse(path, SIZE_FORM);
    return bytes ?? fallback;
  };
  const time = (path: readonly string[], text: string | number | undefined, fallback: number): number => {
    if (text === undefined) return fallback;
    const ms = parseDuration(text);
    if (ms === undefined) refuse(path, DURATION_FORM);
    else if (ms > MAX_DELAY_MS) refuse(path, `at most ${formatDuration(MAX_DELAY_MS)}`);
    return ms ?? fallback;
  };
  return {
    inFlight,
    queued,
    bodyBytes: size(["body"], written.body, EXECUTOR_DEFAULT_LIMITS.bodyBytes),
    requestMs: time(["requestTime"], written.requestTime, EXECUTOR_DEFAULT_LIMITS.requestMs),
    callMs: time(["callTime"], written.callTime, EXECUTOR_DEFAULT_LIMITS.callMs),
    drainDelayMs: time(["drainDelay"], written.drainDelay, EXECUTOR_DEFAULT_LIMITS.drainDelayMs),
    drainMs: time(["drainTime"], written.drainTime, EXECUTOR_DEFAULT_LIMITS.drainMs),
    window: {
      calls: remember.calls ?? window.calls,
      bytes: size(["remember", "size"], remember.size, window.bytes),
      ageMs: time(["remember", "time"], remember.time, window.ageMs),
    },
  };
}
