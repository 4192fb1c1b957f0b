import { formatDuration } from "../../../base/units.ts";
import type { ConfigProblem } from "../../../config/problem.ts";
import type { ConfigPath } from "../../../config/source.ts";
import { DEFAULT_TIMEOUTS } from "../../../engine/bounds.ts";
import { EXECUTOR_DEFAULT_LIMITS } from "../../../executor/limits.ts";
import { equalJson, isJsonObject, type JsonValue } from "../../../json/value.ts";
import { compileNamePattern } from "../../../policy/match/name-pattern.ts";
import { usedBy } from "../../../policy/rule/rule.ts";
import { Redaction } from "../../../redaction/redaction.ts";
import { sandboxesOf } from "../../../tool/implementations/implementations.ts";
import type { SandboxMode } from "../../../tool/sandbox-mode.ts";
import type { Config } from "../../config/load-config.ts";
import type { ServerConfig } from "../../config/server/load-server.ts";

/** Finds options that have no effect, since a feature is off or another option has a lower bound. */
export function checkOptions(config: Config, server: ServerConfig): readonly ConfigProblem[] {
  const check = new OptionCheck(config, server);
  check.sandboxes();
  check.redaction();
  check.server();
  check.sessions();
  return check.problems;
}

/** The memory of one machine. */
const MACHINE_BYTES = 224 * 1_048_576;

class OptionCheck {
  readonly problems: ConfigProblem[] = [];
  readonly #config: Config;
  readonly #server: ServerConfig;

  constructor(config: Config, server: ServerConfig) {
    this.#config = config;
    this.#server = server;
  }

  /** Options of sandboxes that no tool uses. */
  sandboxes(): void {
    const { registry, source, locatedPolicies, sandboxOptions } = this.#config;
    const used = new Set<SandboxMode>(registry.tools.flatMap((tool) => [...sandboxesOf(tool)]));
    const servers = source.at(["mcp", "servers"]);
    const isStarted = (entry: JsonValue | undefined): boolean =>
      isJsonObject(entry) && entry["command"] !== undefined;
    if (isJsonObject(servers) && Object.values(servers).some(isStarted)) used.add("process");
    for (const mode of ["wasm", "process", "microvm"] as const) {
      if (used.has(mode)) continue;
      this.#ifThere(["sandboxes", mode], `no tool runs in '${mode}': add one, or remove this`);
    }
    if (!registry.tools.some(({ remote }) => remote !== undefined && "executor" in remote))
      this.#ifThere(["sandboxes", "remote"], "no tool has 'remote.executor': add one, or remove this");
    const grantsStores = locatedPolicies.some(({ rules, default: byDefault }) =>
      [byDefault === "deny" ? undefined : byDefault, ...rules.map(usedBy)].some(
        (use) => (use?.capabilities?.keyValue ?? []).length > 0,
      ),
    );
    if (!grantsStores)
      this.#ifThere(
        ["sandboxes", "keyValue"],
        "no rule grants 'capabilities.keyValue': add it to one, or remove this",
      );
    const { ready = 1, memoryBytes } = sandboxOptions.microvm ?? {};
    if (memoryBytes !== undefined && memoryBytes < ready * MACHINE_BYTES) {
      const most = Math.floor(memoryBytes / MACHINE_BYTES);
      const message = `${ready} machines do not fit into 'memoryBytes', of which one takes 224 MiB or more: write at most ${most}, or more memory`;
      this.#warn(["sandboxes", "microvm", ready === 1 ? "memoryBytes" : "ready"], message);
    }
  }

  /** Names that are found anyway. */
  redaction(): void {
    const names = this.#config.source.at(["redaction", "names"]);
    if (!Array.isArray(names)) return;
    const earlier: string[] = [];
    for (const [index, name] of names.entries()) {
      if (typeof name !== "string") continue;
      const value = { [name]: "a plain word" };
      const hidden = (found: Redaction): boolean => !equalJson(found.json(value), value);
      const path = ["redaction", "names", index];
      if (hidden(new Redaction())) this.#warn(path, `'${name}' is always a secret: remove it`, "value");
      else if (earlier.length > 0 && hidden(new Redaction({ names: earlier })))
        this.#warn(path, `an earlier name finds '${name}', too: remove it`, "value");
      earlier.push(name);
    }
  }

  /** Warns of limits of an executor that is off, and of limits that exceed another one. */
  server(): void {
    const { source } = this.#config;
    if (source.at(["server"]) === undefined) return;
    const { options, served } = this.#server;
    const { limits = EXECUTOR_DEFAULT_LIMITS } = options;
    this.#clients();
    this.#certificates();
    if (served === undefined) {
      this.#callTimes(limits.callMs ?? EXECUTOR_DEFAULT_LIMITS.callMs);
    } else if (!served.executor) {
      for (const name of ["callTime", "remember"])
        this.#ifThere(
          ["server", "limits", name],
          "only concerns calls without a session, which 'executor: true' serves: remove it, or write the limits of tools as 'timeout'",
        );
    }
  }

  #clients(): void {
    const limits = this.#config.source.at(["server", "limits"]);
    if (!isJsonObject(limits)) return;
    const { connections = EXECUTOR_DEFAULT_LIMITS.connections, connectionsPerAddress = 0 } = limits;
    if (Number(connectionsPerAddress) > Number(connections)) {
      const message = `has no effect, as 'connections' allows ${String(connections)} of all addresses: write less, or raise 'connections'`;
      this.#warn(["server", "limits", "connectionsPerAddress"], message);
    }
  }

  /** Certificates that clients may show, and that give them nothing. */
  #certificates(): void {
    const { options, served } = this.#server;
    if (options.tls?.clientCertificates !== "optional") return;
    const isNamed = (served?.credentials ?? []).some(({ certificate }) => certificate !== undefined);
    if (isNamed || (options.certificates ?? []).length > 0) return;
    const message =
      "has no effect, as no certificate has an id: list certificates with their ids, or write 'required'";
    this.#warn(["server", "tls", "clientCertificates"], message);
  }

  /** Times that the wall time of any call cuts short. */
  #callTimes(most: number): void {
    const { source, tools, locatedPolicies } = this.#config;
    const why = `has no effect, as 'server.limits.callTime' ends every call after ${formatDuration(most)}: write less, or raise that`;
    const { timeouts = DEFAULT_TIMEOUTS } = this.#config.context;
    for (const pace of ["quick", "slow"] as const) {
      if (timeouts === "none" || source.at(["timeouts", pace]) === undefined) continue;
      if (timeouts[pace] > most) this.#warn(["timeouts", pace], why);
    }
    for (const { tool, path } of tools) {
      if ((tool.timeoutMs ?? 0) > most && source.at([...path, "timeout"]) !== undefined)
        this.#warn([...path, "timeout"], why);
    }
    for (const { rules, problem } of locatedPolicies) {
      for (const [index, rule] of rules.entries()) {
        if ((usedBy(rule)?.limits?.wallTimeMs ?? 0) <= most) continue;
        this.problems.push(problem(["rules", index, "limits", "wallTime"], why, "warning"));
      }
    }
  }

  sessions(): void {
    const { source, locatedPolicies, sessions, registry, agents } = this.#config;
    if (!locatedPolicies.some(({ rules }) => rules.some(({ history }) => history !== undefined)))
      this.#ifThere(
        ["sessions", "limits", "ledgerEntries"],
        "no rule has a condition on earlier calls ('history'), for which calls are stored: remove it",
      );
    const {
      tools: levels = {},
      trustedWorkspaces = [],
      trustedWorkspaceOverrides = {},
    } = sessions.confirmations;
    const { perTool = {}, callsPerTool = {} } = sessions.limits;
    for (const [name, level] of Object.entries(levels)) {
      if (level !== "deny") continue;
      for (const [member, counts] of Object.entries({ perTool, callsPerTool })) {
        if (counts[name] === undefined) continue;
        const message = `has no effect, as 'confirmations.tools' denies every call of '${name}': remove it`;
        this.#warn(["sessions", "limits", member, name], message);
      }
    }
    for (const [name, level] of Object.entries(trustedWorkspaceOverrides)) {
      if (level !== "auto" || trustedWorkspaces.length === 0) continue;
      this.#warn(
        ["confirmations", "trustedWorkspaceOverrides", name],
        "'auto' is what holds in trusted workspaces without it: remove it",
      );
    }
    if (
      source.at(["confirmations", "mode"]) === "plan" &&
      !registry.tools.some(({ confirm }) => confirm === "plan")
    )
      this.#warn(
        ["confirmations", "mode"],
        "no tool submits a plan, so that only reading is ever allowed: add the toolset 'plan'",
        "value",
      );
    // What is the default, too, is harmless.
    if (
      source.at(["unhandledErrors"]) === "message" &&
      !registry.tools.some(({ host }) => host !== undefined)
    )
      this.#warn(["unhandledErrors"], "only concerns tools with 'host', of which there are none: remove it");
    for (const [agent, { tools = [], limits = {} }] of agents) {
      const path = ["agents", agent];
      if (
        tools.length === 0 &&
        registry.tools.every(({ requiresCapability }) => requiresCapability !== false)
      )
        this.#warn(path, "the agent can call no tool: list some as 'tools'");
      for (const name of Object.keys(limits.callsPerTool ?? {})) {
        if (!registry.has(name) || tools.some((pattern) => compileNamePattern(pattern).matches(name)))
          continue;
        const message = `has no effect, as the agent cannot call '${name}': add it to 'tools', or remove this`;
        this.#warn([...path, "limits", "callsPerTool", name], message);
      }
    }
  }

  /** Warns of an entry if it is present. */
  #ifThere(path: ConfigPath, message: string): void {
    if (this.#config.source.at(path) !== undefined) this.#warn(path, message);
  }

  #warn(path: ConfigPath, message: string, at: "key" | "value" = "key"): void {
    this.problems.push(this.#config.source.problem(path, message, "warning", at));
  }
}
