import { guardFiles } from "../../base/guarded-files.ts";
import { formatMinutes } from "../../base/units.ts";
import type { ConfigProblem } from "../../config/problem.ts";
import { type CompiledShape, compileShape, described, FLAG, mapOf, PATH } from "../../config/shape.ts";
import { type ConfigSource, readConfigFile } from "../../config/source.ts";
import { DEFAULT_TIMEOUTS } from "../../engine/bounds.ts";
import type { JournalOptions } from "../../journal/options.ts";
import { isJsonObject } from "../../json/value.ts";
import type { LocatedPolicy } from "../../policy/file/checked-rule.ts";
import type { RuntimePolicy } from "../../policy/policy.ts";
import type { Notify } from "../../server/notifying/notify.ts";
import { guardOwnCode, guardPrograms, pathBeside } from "./guard-code.ts";
import { type ConfiguredAgents, loadAgents } from "./load-agents.ts";
import { type AllTools, loadAllTools } from "./load-all-tools.ts";
import { type ContextOptions, loadContext } from "./load-context.ts";
import { loadJournalOptions } from "./load-journal.ts";
import { type LogSettings, loadLog } from "./load-log.ts";
import type { ImportTools } from "./load-mcp.ts";
import { loadNotify } from "./load-notify.ts";
import { type LocatedProof, loadPolicy, loadShadow } from "./load-policy.ts";
import { loadSessions, type SessionsConfig } from "./load-sessions.ts";
import { loadTelemetry, type TelemetrySettings } from "./load-telemetry.ts";
import { type DurableConfig, loadDurable } from "./server/load-durable.ts";

/** The file beside a config with the cases of `sandgate policy test`. */
export const POLICY_CASES = "sandgate.policy-test.yaml";

/** The shape of `sandgate.yaml`. Each part is checked by its own loader. */
export const CONFIG_SHAPE: CompiledShape = compileShape({
  ...mapOf({
    tools: described(
      { type: "array" },
      "The tools, each with an implementation for every sandbox in which it can run. Required without `toolsets` and `mcp`.",
    ),
    toolsets: described(
      { type: "array" },
      "Ready-made tools, by the name of a toolset, or a map with its name and its options: see docs/toolsets.md.",
    ),
    mcp: described({}, "MCP servers, whose tools are imported: see docs/mcp.md."),
    policy: described(
      { type: ["object", "string", "array"], minItems: 1, items: { type: ["object", "string"] } },
      "The policy, the path of its file, or a list of both: see docs/policies.md. With `agents`, `sandgate supervise` does without it.",
    ),
    shadow: described(
      PATH,
      "The file of a candidate for the policy. `sandgate serve` logs the calls on which it decides differently. Default: no candidate.",
    ),
    lock: described(
      PATH,
      "The file with the definitions of tools that were approved, which must exist: see docs/pins.md. Default: `sandgate.lock` beside the config, if it exists.",
    ),
    requireSideEffects: described(
      FLAG,
      "Whether a tool without `sideEffects` is an error.",
      false,
      "; it counts as `destructive`",
    ),
    redaction: described(
      {},
      "Hides secrets in the messages of failures, as in tables and logs: see docs/configuration.md#redaction.",
    ),
    timeouts: described({}, "The wall time of calls for which nothing else sets one; `none` for no limit.", {
      quick: formatMinutes(DEFAULT_TIMEOUTS.quick),
      slow: formatMinutes(DEFAULT_TIMEOUTS.slow),
    }),
    unhandledErrors: described(
      {},
      "What the model reads if a host tool throws anything but a `ToolFailure`: a reference to the log, or its message.",
      "redacted",
    ),
    resultBudget: described({}, "How much of a result the model reads."),
    log: described({}, "The operator's log: see docs/operations.md."),
    telemetry: described(
      {},
      "Sends spans and metrics of calls over OTLP: see docs/telemetry.md#in-the-config. Default: nothing is sent.",
    ),
    sandboxes: described({}, "The sandboxes: threads, caches, stores, and credentials for executors."),
    server: described({}, "What `sandgate serve` needs: see docs/remote-protocol.md#in-the-config."),
    journal: described(
      {},
      "Records every call before it runs: see docs/journal.md. Default: calls are not recorded.",
    ),
    sessions: described({}, "The sessions of a server: see docs/sessions.md#in-the-config."),
    confirmations: described({}, "When sessions ask a person: see docs/confirmations.md#in-the-config."),
    durable: described(
      {},
      "Has sessions outlive any server, on several of them: see docs/scale-out.md. Default: they are those of one server.",
    ),
    agents: described(
      {},
      "What each agent of `sandgate supervise` may have done for it, by the name of the agent: see docs/supervisor.md.",
    ),
  }),
  // The capabilities of agents do not need a policy.
  if: { required: ["agents"] },
  else: { required: ["policy"] },
});

/** A loaded `sandgate.yaml`, without the parts that could not be loaded. */
export interface Config extends Omit<AllTools, "subjects" | "mcp"> {
  readonly source: ConfigSource;
  /** A config with errors cannot be used. Warnings are only reported. */
  readonly problems: readonly ConfigProblem[];
  /** `undefined` if it has errors, or is optional and absent. */
  readonly policy: RuntimePolicy | undefined;
  /** The candidate for the policy; `undefined` if the config names none, or it has errors. */
  readonly shadow: RuntimePolicy | undefined;
  /** The rules of each policy without errors. */
  readonly locatedPolicies: readonly LocatedPolicy[];
  /** The outcome of the invariants of the policies. */
  readonly proofs: readonly LocatedProof[];
  readonly sessions: SessionsConfig & { readonly notify?: Notify };
  /** `undefined` if sessions run in one process. */
  readonly durable: DurableConfig | undefined;
  readonly context: ContextOptions;
  readonly log: LogSettings;
  /** `undefined` if the config has none, or it has errors. */
  readonly telemetry: TelemetrySettings | undefined;
  /** The agents without errors. */
  readonly agents: ConfiguredAgents;
  /** `undefined` if the config has none, or it has errors. */
  readonly journalOptions: JournalOptions | undefined;
}

/** Options of {@link loadConfig}. */
interface LoadOptions {
  /** Whether a config with `agents` needs a policy as well. Default: it does. */
  readonly policy?: "required" | "optional";
  /** Connects to MCP servers. Default: `mcp` is checked, and its tools are missing. */
  readonly importTools?: ImportTools;
}

/**
 * Loads `sandgate.yaml` and the files that it names: schemas, host modules, the policy. It continues after a problem,
 * so that all problems are reported at once.
 *
 * @throws {ConfigError} if the file itself cannot be read or is not valid YAML.
 */
export async function loadConfig(
  file: string,
  { policy: need = "required", importTools }: LoadOptions = {},
): Promise<Config> {
  const source = await readConfigFile(file);
  guardFiles([{ path: pathBeside(file, POLICY_CASES), access: "read" }]);
  guardOwnCode();
  const problems = source.check(CONFIG_SHAPE);
  if (
    isJsonObject(source.value) &&
    !["tools", "toolsets", "mcp"].some((key) => source.at([key]) !== undefined)
  ) {
    problems.push(source.problem([], "tools, toolsets or mcp is missing"));
  }
  const hasPolicy = source.at(["policy"]) !== undefined;
  if (!hasPolicy && need === "required" && source.at(["agents"]) !== undefined)
    problems.push(source.problem([], "policy is missing: only sandgate supervise does without one"));
  const context = loadContext(source, problems);
  const log = loadLog(source, problems);
  const telemetry = await loadTelemetry(source, problems);
  const agents = loadAgents(source, problems);
  const sessions = loadSessions(source, problems);
  const notify = await loadNotify(source, problems);
  const durable = loadDurable(source, problems);
  const journalOptions = await loadJournalOptions(source, problems);
  // Its secrets are guarded for every command. Those that serve report its problems.
  if (source.at(["server"]) !== undefined) {
    const { loadServer } = await import("./server/load-server.ts");
    await loadServer(source, []);
  }
  const importAfter: ImportTools | undefined =
    importTools &&
    (async (given) => {
      await guardPolicies(given);
      return importTools(given);
    });
  const { subjects, mcp: _, ...tooling } = await loadAllTools(source, problems, importAfter);
  const { policy, located: locatedPolicies, proofs, ...loaded } = await loadPolicy(source, subjects);
  problems.push(...loaded.problems);
  guardPrograms(
    tooling.tools.map(({ tool }) => tool),
    locatedPolicies,
  );
  const shadow = await loadShadow(source, subjects, problems);
  const policies = { policy, locatedPolicies, proofs, shadow };
  return {
    source,
    problems,
    ...tooling,
    ...policies,
    agents,
    context,
    log,
    telemetry,
    sessions: { ...sessions, ...(notify && { notify }) },
    durable,
    journalOptions,
  };
}

/** Guards the files of policies, and the programs of tools, before servers of MCP are started that could replace them. */
async function guardPolicies({ source, mcp, registry }: Parameters<ImportTools>[0]): Promise<void> {
  if (Object.keys(mcp.servers).length === 0) return;
  const { located } = await loadPolicy(source, undefined);
  await loadShadow(source, [], []);
  guardPrograms(
    registry.names.flatMap((name) => registry.find(name)?.tool ?? []),
    located,
  );
}
