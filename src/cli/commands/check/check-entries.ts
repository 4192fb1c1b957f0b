import { existsSync } from "node:fs";
import type { ConfigProblem } from "../../../config/problem.ts";
import type { ConfigPath } from "../../../config/source.ts";
import { ToolRegistry } from "../../../engine/registry.ts";
import { isJsonObject } from "../../../json/value.ts";
import { pathOf } from "../../../policy/agent-capabilities.ts";
import { unregistered } from "../../../policy/file/name-checks.ts";
import { repeatedItems } from "../../../policy/file/shadowed-rules.ts";
import { compileNamePattern } from "../../../policy/match/name-pattern.ts";
import { alwaysAsks } from "../../../sessions/levels.ts";
import { absolutePath } from "../../../sessions/trusted-workspaces.ts";
import { isHostModule } from "../../../tool/implementations/implementations.ts";
import { whyUnreachable } from "../../config/grants-without-effect.ts";
import { registerOffers } from "../../config/load-all-tools.ts";
import type { Config } from "../../config/load-config.ts";
import type { ServerConfig } from "../../config/server/load-server.ts";
import { whoAnswers } from "../../config/server/who-answers.ts";

/** Finds entries of a config that have no effect: names that do not exist, and members that depend on missing ones. */
export async function checkEntries(config: Config, server: ServerConfig): Promise<readonly ConfigProblem[]> {
  const check = new EntryCheck(config, server, await toolNames(config));
  check.confirmations();
  check.limits();
  check.agents();
  check.repeated();
  check.shadow();
  check.classes();
  check.tools();
  check.server();
  return check.problems;
}

/** The names of all tools, including those that read the offers of MCP servers. */
async function toolNames({ source, registry }: Config): Promise<readonly string[]> {
  const offers = new ToolRegistry();
  if (source.at(["mcp"]) !== undefined) await registerOffers(offers);
  return [...registry.subjects, ...offers.subjects].map(({ name }) => name);
}

class EntryCheck {
  readonly problems: ConfigProblem[] = [];
  readonly #config: Config;
  readonly #server: ServerConfig;
  readonly #names: readonly string[];

  constructor(config: Config, server: ServerConfig, names: readonly string[]) {
    this.#config = config;
    this.#server = server;
    this.#names = names;
  }

  /** Levels and modes of tools that do not exist, levels that a tool always raises, and workspaces that do not exist. */
  confirmations(): void {
    const { modes = {}, tools = {}, ...others } = this.#config.sessions.confirmations;
    const { trustedWorkspaces = [], trustedWorkspaceOverrides } = others;
    const levels = [
      { path: ["confirmations", "tools"], base: undefined, tools },
      ...Object.entries(modes).map(([name, mode]) => ({
        path: ["confirmations", "modes", name, "tools"],
        base: mode.base,
        tools: mode.tools ?? {},
      })),
    ];
    for (const { path, base, tools } of levels) {
      this.#checkNames(tools, path);
      for (const [name, level] of Object.entries(tools)) {
        if (level !== "auto" && level !== "prompt_once") continue;
        const why = base === "manual" ? "the base 'manual' asks" : this.#alwaysAsks(name);
        if (why === undefined) continue;
        this.#warn([...path, name], `'${level}' has no effect, as ${why} about every call: remove it`);
      }
    }
    for (const [index, path] of trustedWorkspaces.entries())
      this.#checkFolder(path, ["confirmations", "trustedWorkspaces", index]);
    if (trustedWorkspaceOverrides !== undefined && trustedWorkspaces.length === 0)
      this.#warn(
        ["confirmations", "trustedWorkspaceOverrides"],
        "there are no trusted workspaces: add 'trustedWorkspaces', or write the levels under 'confirmations.default'",
      );
  }

  #alwaysAsks(name: string): string | undefined {
    const confirm = this.#config.registry.find(name)?.tool.confirm;
    return alwaysAsks(confirm) ? `a tool with 'confirm: ${confirm}' asks` : undefined;
  }

  /** Limits of tools that do not exist, and limits above those of all tools. */
  limits(): void {
    const {
      perTool = {},
      callsPerTool = {},
      concurrency = 4,
      calls = Infinity,
    } = this.#config.sessions.limits;
    const path = ["sessions", "limits"];
    for (const [member, counts, all, most] of [
      ["perTool", perTool, "concurrency", concurrency],
      ["callsPerTool", callsPerTool, "calls", calls],
    ] as const) {
      this.#checkNames(counts, [...path, member]);
      for (const [name, count] of Object.entries(counts)) {
        if (count <= most) continue;
        const message = `has no effect, as '${all}' allows ${most} calls of all tools: write less, or raise '${all}'`;
        this.#warn([...path, member, name], message);
      }
    }
  }

  /** Duplicates in the lists of these entries. */
  repeated(): void {
    for (const path of [["agents"], ["toolsets"], ["server"], ...(this.#hasPolicies ? [["policy"]] : [])]) {
      const value = this.#config.source.at(path);
      for (const part of value === undefined ? [] : repeatedItems(value, path))
        this.#warn(part.path, part.message, "value");
    }
  }

  /** Whether there is a list of policies. What is in a policy was checked with it. */
  get #hasPolicies(): boolean {
    const policy = this.#config.source.at(["policy"]);
    return Array.isArray(policy) && policy.every((each) => typeof each === "string");
  }

  agents(): void {
    for (const [agent, { tools = [], fs = [], net = [], limits = {} }] of this.#config.agents) {
      const path = ["agents", agent];
      for (const [index, origin] of net.entries()) {
        const message = whyUnreachable(origin, false);
        if (message !== undefined) this.#warn([...path, "net", index], message, "value");
      }
      for (const [index, pattern] of tools.entries()) {
        if (this.#matching(pattern).length === 0)
          this.#warn([...path, "tools", index], this.#unknown(pattern));
      }
      for (const [index, capability] of fs.entries()) {
        const member = "file" in capability ? "file" : "directory";
        this.#checkFolder(pathOf(capability), [...path, "fs", index, member]);
      }
      this.#checkNames(limits.callsPerTool ?? {}, [...path, "limits", "callsPerTool"]);
      for (const [name, count] of Object.entries(limits.callsPerTool ?? {})) {
        if (count > (limits.calls ?? Infinity))
          this.#warn(
            [...path, "limits", "callsPerTool", name],
            `has no effect, as 'calls' is ${limits.calls}`,
          );
      }
      if (limits.calls === 0)
        this.#warn([...path, "limits", "calls"], "no call is allowed: write how many the agent may make");
    }
  }

  shadow(): void {
    const { policy, shadow } = this.#config;
    if (shadow?.revision !== undefined && shadow.revision === policy?.revision)
      this.#warn(["shadow"], "this is the policy itself, which never decides differently: name another file");
  }

  /** Classes of imported tools that do not exist, or that earlier patterns match, too. */
  classes(): void {
    const classes = this.#config.source.at(["mcp", "classes"]);
    if (!isJsonObject(classes)) return;
    const earlier = new Set<string>();
    for (const pattern of Object.keys(classes)) {
      const matched = this.#matching(pattern);
      const path = ["mcp", "classes", pattern];
      if (matched.length === 0) this.#warn(path, this.#unknown(pattern));
      else if (matched.every((name) => earlier.has(name)))
        this.#warn(path, "earlier patterns match all tools that this one matches: write it before them");
      for (const name of matched) earlier.add(name);
    }
  }

  /** Members that only concern the host, and changes that its threads cannot stage. */
  tools(): void {
    for (const { tool, path } of this.#config.tools) {
      if (tool.host !== undefined) {
        if (tool.usesFiles === "staged" && isHostModule(tool.host))
          this.#warn(
            [...path, "usesFiles"],
            "changes of a module in a thread cannot be staged: write 'thread: false' below 'host', or 'usesFiles: true'",
            "value",
          );
        continue;
      }
      for (const member of ["usesFiles", "logFileAccess", "unhandledErrors"]) {
        if (this.#config.source.at([...path, member]) === undefined) continue;
        this.#warn(
          [...path, member],
          `'${member}' only concerns 'host', which this tool does not have: remove it`,
        );
      }
    }
  }

  /** Notifications whose links lead nowhere, or name no approver. */
  #checkNotify(): void {
    const { notify } = this.#config.sessions;
    const { served } = this.#server;
    if (notify === undefined) return;
    const path = ["confirmations", "notify"];
    if (served === undefined) {
      if (this.#config.source.at(["server"]) !== undefined)
        this.#warn(path, "nobody is notified without 'sessions: true' under 'server': add it");
      return;
    }
    const { consoleUrl, approver } = notify;
    if (consoleUrl !== undefined && served.console === undefined)
      this.#warn(
        [...path, "consoleUrl"],
        "links lead nowhere without 'console: true' under 'server': add it",
      );
    const isApprover = served.credentials.some(
      ({ id, roles }) => id === approver && roles.includes("approver"),
    );
    if (approver !== undefined && !isApprover)
      this.#warn(
        [...path, "approver"],
        "no credential with the role 'approver' has this id: links answer nothing",
      );
  }

  server(): void {
    const { source } = this.#config;
    const { served, mcp, options } = this.#server;
    if (source.at(["server", "tokenName"]) !== undefined && options.token === undefined)
      this.#warn(["server", "tokenName"], "names the principal of 'token', which is missing: add it");
    if (source.at(["server"]) !== undefined && served === undefined) {
      for (const path of [["sessions", "store"], ["sessions", "programs"], ["durable"]]) {
        if (source.at(path) !== undefined)
          this.#warn(path, "the server has no sessions: write 'sessions: true' under 'server'");
      }
      const overHttp = ["oauth", "approvalUrl"].map((member): ConfigPath => ["server", "mcp", member]);
      // Without anything else, the server is that of 'sandgate mcp serve'.
      const isServed = ["listen", "token", "keys", "certificates"].some(
        (member) => source.at(["server", member]) !== undefined,
      );
      const found = overHttp.filter((path) => source.at(path) !== undefined);
      if (found.length === 0 && isServed && mcp !== undefined) found.push(["server", "mcp"]);
      for (const path of found)
        this.#warn(path, "MCP is served over HTTP only with 'server.sessions: true': add it");
    }
    this.#checkNotify();
    if (served === undefined) return;
    const answered = new Set(whoAnswers(this.#server).flatMap(({ approvers }) => approvers));
    const { credentials } = served;
    for (const [index, { id, roles }] of credentials.entries()) {
      if (roles.join() !== "approver" || answered.has(id)) continue;
      const message = "this approver answers for no caller: write the ids of callers as 'approves'";
      this.#warn(["server", "credentials", index], message);
    }
    // The guard of coding agents opens their sessions itself.
    const hasCallers = mcp?.oauth !== undefined || this.#config.registry.has("use_unknown_tool");
    if (!hasCallers && !credentials.some(({ roles }) => roles.includes("caller")))
      this.#warn(["server", "sessions"], "no credential has the role 'caller', so no one can open a session");
    if (served.console && !credentials.some(({ roles }) => roles.some((role) => role !== "client")))
      this.#warn(
        ["server", "console"],
        "no credential can use it: add one with the role 'approver' or 'reader'",
      );
    for (const [index, path] of served.workspaces.entries())
      this.#checkFolder(path, ["server", "workspaces", index]);
  }

  #checkNames(named: Readonly<Record<string, unknown>>, path: ConfigPath): void {
    for (const name of Object.keys(named)) {
      if (!this.#names.includes(name)) this.#warn([...path, name], this.#unknown(name));
    }
  }

  #checkFolder(path: string, at: ConfigPath): void {
    if (!existsSync(absolutePath(path, "a path")))
      this.#warn(at, "there is no such file or folder, so this has no effect until it exists", "value");
  }

  #matching(pattern: string): readonly string[] {
    const { matches } = compileNamePattern(pattern);
    return this.#names.filter((name) => matches(name));
  }

  #unknown(name: string): string {
    return unregistered(name, this.#names);
  }

  #warn(path: ConfigPath, message: string, at: "key" | "value" = "key"): void {
    this.problems.push(this.#config.source.problem(path, message, "warning", at));
  }
}
