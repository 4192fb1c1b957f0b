import { ConfigError, type ConfigProblem } from "../../../config/problem.ts";
import type { ConfigSource } from "../../../config/source.ts";
import type { ExecutorOptions } from "../../../executor/options.ts";
import type { JournalNotice, JournalOptions } from "../../../journal/options.ts";
import { canonicalText } from "../../../json/canonical.ts";
import { isJsonObject, type JsonValue } from "../../../json/value.ts";
import type { RuntimePolicy } from "../../../policy/policy.ts";
import { ShadowPolicy } from "../../../policy/shadow-policy.ts";
import type { SandboxesOptions } from "../../../sandboxes/open-sandboxes.ts";
import type { AdminEvent } from "../../../server/admin.ts";
import type { Log, LogEntry, LogFields } from "../../../telemetry/log.ts";
import { missingLock } from "../../config/load-all-tools.ts";
import { loadConfig } from "../../config/load-config.ts";
import type { ContextOptions } from "../../config/load-context.ts";
import type { LogSettings } from "../../config/load-log.ts";
import type { SessionsConfig } from "../../config/load-sessions.ts";
import type { TelemetrySettings } from "../../config/load-telemetry.ts";
import type { DurableConfig } from "../../config/server/load-durable.ts";
import { loadServer, type ServedConfig, type ServerConfig } from "../../config/server/load-server.ts";
import type { ConfiguredServers } from "../mcp/servers.ts";

/** The optional parts of a server. */
interface ServedParts {
  readonly executor?: boolean;
  readonly console?: object | undefined;
}

/** What a reload does not change, by its keys. */
type FixedEntries = ReadonlyMap<string, string>;

const FIXED_ENTRIES = [
  "journal",
  "sessions",
  "durable",
  "sandboxes",
  "redaction",
  "telemetry",
  "timeouts",
  "unhandledErrors",
  "resultBudget",
];

/** Entries of which a reload changes these members, or refuses to change them. */
const RELOADED_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  confirmations: ["modes"],
  log: ["level"],
  server: [
    "keys",
    "token",
    "tokenName",
    "certificates",
    "credentials",
    "tls",
    "sessions",
    "executor",
    "console",
  ],
};

type Tools = Pick<ExecutorOptions, "registry" | "policy">;

/** What the command needs of a config. */
export interface LoadedConfig {
  readonly tools: Tools;
  readonly shadow: RuntimePolicy | undefined;
  readonly context: Omit<ContextOptions, "resultBudget">;
  readonly log: LogSettings;
  readonly telemetry: TelemetrySettings | undefined;
  readonly options: ServerConfig["options"];
  readonly dropsNetwork: boolean;
  /** `undefined` unless the config has sessions served. */
  readonly served: ServedConfig | undefined;
  readonly sessions: SessionsConfig & Pick<ContextOptions, "resultBudget">;
  /** `undefined` if sessions run in this process. */
  readonly durable: DurableConfig | undefined;
  readonly sandboxOptions: SandboxesOptions;
  readonly journalOptions: JournalOptions | undefined;
  /** What a reload does not change. */
  readonly fixed: FixedEntries;
  readonly warnings: readonly ConfigProblem[];
}

/**
 * @param servers Connects to the MCP servers of the config.
 * @param before What the server runs with; `undefined` if it does not run yet.
 * @throws {ConfigError} if the config has errors, or changes what only a restart can change.
 */
export async function load(
  file: string,
  servers: ConfiguredServers,
  before?: Pick<LoadedConfig, "served" | "options" | "fixed">,
  hasConsole = false,
): Promise<LoadedConfig> {
  const { source, problems, registry, policy, context, log, ...loaded } = await loadConfig(file, servers);
  const { sandboxOptions, journalOptions, sessions, durable, shadow, telemetry } = loaded;
  const warnings = [...problems, ...missingLock(source, loaded.lock)];
  const { options, dropsNetwork, served } = await loadServer(source, warnings);
  if (!hasConsole && before !== undefined) warnings.push(...reloadProblems(source, before.served, served));
  if (before !== undefined) warnings.push(...unchangedEntries(source, before.fixed));
  // Invalid TLS settings were reported already, and do not count as removed.
  const hasTls = source.at(["server", "tls"]) !== undefined;
  if (before !== undefined && (before.options.tls !== undefined) !== hasTls) {
    const message = "a reload cannot begin or cease to use TLS: restart the server";
    warnings.push(source.problem(["server"], message));
  }
  if (policy === undefined || warnings.some(({ severity }) => severity === "error")) {
    throw new ConfigError(warnings);
  }
  // An executor returns whole outputs: what the model reads of them is up to its clients. Sessions write a provider's messages.
  const { resultBudget, ...ownContext } = context;
  const tools = { registry, policy };
  const budgeted = { ...sessions, ...(resultBudget && { resultBudget }) };
  const own = { options, telemetry, dropsNetwork, served, sessions: budgeted, durable, shadow };
  const fixed = fixedEntries(source);
  return { tools, context: ownContext, log, ...own, sandboxOptions, journalOptions, fixed, warnings };
}

export function toolsOf({ tools: { registry, policy }, shadow }: LoadedConfig, log: Log): Tools {
  return { registry, policy: withShadow(policy, shadow, log) };
}

/**
 * Returns a policy that logs what the candidate would decide differently; without a candidate, the policy
 * itself.
 */
function withShadow(policy: RuntimePolicy, candidate: RuntimePolicy | undefined, log: Log): RuntimePolicy {
  if (candidate === undefined) return policy;
  const { revision: candidateRevision } = candidate;
  return new ShadowPolicy(policy, candidate, (difference) => {
    const { request, active, candidate: other, change, changes, failure } = difference;
    const { callId, sessionId, tool, canonical } = request;
    const fields = {
      callId,
      sessionId,
      toolName: tool.name,
      argumentDigest: canonical.digest,
      change,
      changes,
      decision: active.decision,
      rules: active.rules,
      candidateDecision: other?.decision,
      candidateRules: other?.rules,
      candidateRevision,
      failure,
    };
    log.write({ level: "info", event: "policy.difference", fields });
  });
}

/** Returns what a reload does not change, with its texts. */
function fixedEntries(source: ConfigSource): FixedEntries {
  const found = new Map<string, string>();
  const add = (path: readonly string[], value: JsonValue | undefined): void => {
    if (value !== undefined) found.set(path.join("."), canonicalText(value));
  };
  for (const name of FIXED_ENTRIES) add([name], source.at([name]));
  for (const [name, reloaded] of Object.entries(RELOADED_MEMBERS)) {
    const entry = source.at([name]);
    if (!isJsonObject(entry)) continue;
    for (const [key, value] of Object.entries(entry)) if (!reloaded.includes(key)) add([name, key], value);
  }
  return found;
}

/**
 * Warns of changes in a config that take effect only after a restart.
 *
 * @param before What the server runs with.
 */
function unchangedEntries(source: ConfigSource, before: FixedEntries): readonly ConfigProblem[] {
  const now = fixedEntries(source);
  return [...new Set([...before.keys(), ...now.keys()])]
    .filter((path) => before.get(path) !== now.get(path))
    .map((path) =>
      source.problem(path.split("."), `a reload does not change '${path}': restart the server`, "warning"),
    );
}

/**
 * Finds what a reload cannot do: it switches neither the sessions nor the executor beside them, which is an error, nor the
 * console on or off.
 *
 * @param before What the server serves; `undefined` if it has no sessions.
 */
function reloadProblems(
  source: ConfigSource,
  before: ServedParts | undefined,
  served: ServedParts | undefined,
): readonly ConfigProblem[] {
  if ((before === undefined) !== (served === undefined)) {
    const message = "a reload cannot switch the sessions on or off: restart the server";
    return [source.problem(["server", "sessions"], message)];
  }
  if (before?.executor !== served?.executor) {
    const message = "a reload cannot switch the executor on or off: restart the server";
    return [source.problem(["server", "executor"], message)];
  }
  if ((before?.console === undefined) === (served?.console === undefined)) return [];
  const message = "a reload cannot switch the console on or off: restart the server";
  return [source.problem(["server", "console"], message, "warning")];
}

export function noticeEntry({ kind, message }: JournalNotice): LogEntry {
  const level = kind === "healthy" ? "info" : kind === "unhealthy" || kind === "changed" ? "error" : "warn";
  return { level, event: `journal.${kind}`, fields: { message } };
}

export function adminEntry({ action, principal, policyRevision }: AdminEvent): LogEntry {
  const by = principal === undefined ? {} : { principal: principal.id };
  const fields = { ...by, ...(policyRevision !== undefined && { policyRevision }) };
  const event = action === "policy-replaced" ? "policy.replaced" : `server.${action}`;
  return { level: action === "paused" ? "warn" : "info", event, fields };
}

export function fieldsOf({ registry, policy }: Tools): LogFields {
  return { tools: registry.size, policyRevision: policy.revision };
}
