import { TOKEN_ID_PREFIX } from "../../../access-tokens/token-principal.ts";
import type { ConfigProblem } from "../../../config/problem.ts";
import type { ConfigPath, ConfigSource } from "../../../config/source.ts";
import type { ToolRegistry } from "../../../engine/registry.ts";
import { DEFAULT_TOKEN_NAME, LOCAL_ID } from "../../../http/authentication.ts";
import { escapePointer } from "../../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import type { LocatedPolicy } from "../../../policy/file/checked-rule.ts";
import { principalProblems, uncheckableKeys } from "../../../policy/file/condition-checks.ts";
import { compileNamePattern } from "../../../policy/match/name-pattern.ts";
import { type AllowedUse, usedBy } from "../../../policy/rule/rule.ts";
import { escapeText } from "../../../rendering/escape.ts";
import { joinShown, shown, toPrintableJson } from "../../../rendering/shown.ts";
import { openSandboxes, type Sandboxes } from "../../../sandboxes/open-sandboxes.ts";
import { type HostModule, isHostModule, sandboxesOf } from "../../../tool/implementations/implementations.ts";
import { unapprovedTools } from "../../config/load-all-tools.ts";
import { type Config, loadConfig } from "../../config/load-config.ts";
import { loadServer, type ServerConfig } from "../../config/server/load-server.ts";
import { describeAnswering, sharedIds, whoAnswers } from "../../config/server/who-answers.ts";
import { loadExport } from "../../config/tools/load-tool.ts";
import type { ConfiguredTool } from "../../config/tools/load-tools.ts";
import {
  EXIT_BAD_INPUT,
  EXIT_INTERRUPTED,
  EXIT_OK,
  type ExitCode,
  print,
  showProblems,
  type Terminal,
} from "../../terminal.ts";
import { ConfiguredServers, registerPinned } from "../mcp/servers.ts";
import { checkEntries } from "./check-entries.ts";
import { checkGrants } from "./check-grants.ts";
import { checkGuarded } from "./check-guarded.ts";
import { checkOptions } from "./check-options.ts";
import { checkAnswers, checkSessions } from "./check-sessions.ts";

/** What access tokens give their principals; `undefined` if the server accepts none. */
type Tokens = NonNullable<NonNullable<ServerConfig["mcp"]>["oauth"]>["principal"];

/** The prefix of the roles that every access token gives for its scopes. */
const SCOPE = "scope:";

/** Returns the ids of all principals that a server authenticates by its own credentials. */
function principalIds({ options, served }: ServerConfig): readonly string[] {
  const { keys = new Map(), token, tokenName = DEFAULT_TOKEN_NAME, certificates = [], listen } = options;
  const callers = (served?.credentials ?? []).filter(({ roles }) =>
    roles.some((role) => role === "caller" || role === "client"),
  );
  const ids = [
    ...keys.keys(),
    ...(token === undefined ? [] : [tokenName]),
    ...[...certificates, ...callers].map(({ id }) => id),
  ];
  return ids.length === 0 && listen.startsWith("unix:") ? [LOCAL_ID] : ids;
}

/** Finds principals, roles and conditions of rules that no caller of the server can match. */
function checkPrincipals(policies: readonly LocatedPolicy[], server: ServerConfig): readonly ConfigProblem[] {
  const ids = principalIds(server);
  const hasTokens = server.served !== undefined && server.mcp?.oauth !== undefined;
  const tokens = hasTokens ? (server.mcp?.oauth?.principal ?? {}) : undefined;
  const schema = principalSchema(ids, tokens);
  return policies.flatMap((policy) =>
    policy.rules.flatMap(({ principals = [], roles = [], when, effect }, rule) => [
      ...principals.flatMap((pattern, index) => {
        const { matches } = compileNamePattern(pattern);
        if (ids.some((id) => matches(id)) || (hasTokens && canBeToken(pattern))) return [];
        const message = `no key or token of the server has the id '${pattern}'`;
        return [policy.problem(["rules", rule, "principals", index], message, "warning")];
      }),
      ...roles.flatMap((role, index) => {
        const message = whyNoRole(role, tokens);
        if (message === undefined || /[*?]/.test(role)) return [];
        return [policy.problem(["rules", rule, "roles", index], message, "warning")];
      }),
      ...principalProblems(when, effect, schema).map(({ path, message }) =>
        policy.problem(["rules", rule, ...path], message, "warning"),
      ),
    ]),
  );
}

/** Whether a pattern may match the id of a principal with an access token. */
function canBeToken(pattern: string): boolean {
  return pattern.startsWith("*") || pattern.startsWith(TOKEN_ID_PREFIX.slice(0, pattern.indexOf("*")));
}

function whyNoRole(role: string, tokens: Tokens | undefined): string | undefined {
  if (tokens === undefined)
    return (
      `callers of the server have no roles, so none has '${role}': name them by their ids ('principals'), or accept ` +
      "access tokens whose claim 'server.mcp.oauth.principal.roles' maps to roles"
    );
  if (role.startsWith(SCOPE) || tokens.roles !== undefined) return undefined;
  return (
    `access tokens only give roles that begin with '${SCOPE}', so no caller has '${role}': map the claim with the roles ` +
    "('server.mcp.oauth.principal.roles')"
  );
}

/** The schema of all principals of a server. */
function principalSchema(ids: readonly string[], tokens: Tokens | undefined): JsonObject {
  const own = {
    type: "object",
    additionalProperties: false,
    properties: { id: { enum: ids }, kind: { const: "service" } },
  };
  if (tokens === undefined) return own;
  const mapped = Object.fromEntries(Object.keys(tokens?.attributes ?? {}).map((name) => [name, {}]));
  const attributes = {
    type: "object",
    additionalProperties: false,
    properties: { ...mapped, issuer: {}, scopes: {}, clientId: { type: "string" } },
  };
  const role = { type: "string", ...(tokens.roles === undefined && { pattern: `^${SCOPE}` }) };
  const ofToken = {
    type: "object",
    additionalProperties: false,
    properties: {
      id: { type: "string", pattern: `^${TOKEN_ID_PREFIX}` },
      kind: { enum: ["user", "service"] },
      roles: { type: "array", items: role },
      attributes,
    },
  };
  return { anyOf: [own, ofToken] };
}

/** Maximum number of places named in a warning. */
const MAX_PLACES = 3;

/** Options of `sandgate check`. */
interface CheckOptions {
  readonly config: string;
  readonly isJson: boolean;
}

/**
 * Loads everything that a config names, prepares each tool in each of its sandboxes, checks what the policy grants it,
 * and prints every problem and a summary. MCP servers are started and list their tools. No tool runs.
 *
 * @throws {ConfigError} if the config's file cannot be read.
 */
export async function check({ config: file, isJson }: CheckOptions, terminal: Terminal): Promise<ExitCode> {
  await using servers = new ConfiguredServers("error");
  const config = await loadConfig(file, {
    policy: "optional",
    importTools: async (given) => {
      const problems = await servers.importTools(given);
      // An unreachable server is one problem: rules about its tools are not reported as well.
      return [...problems, ...(await registerPinned(given, servers.unreached))];
    },
  });
  const { lock, registry, source, tools } = config;
  const problems = [...config.problems, ...(await checkTools(config, terminal))];
  if (lock.lock !== undefined) problems.push(...unapprovedTools(source, registry, tools));
  problems.push(...checkTexts(source, registry, tools, servers.definitions()));
  const server = await loadServer(config.source, problems);
  const { served } = server;
  problems.push(...sharedIds(source, server));
  const answering = whoAnswers(server);
  if (served === undefined) {
    // The callers of sessions have workspaces.
    problems.push(...checkWorkspaces(config.locatedPolicies));
  }
  problems.push(...checkGuarded(config.source, config.locatedPolicies, served?.workspaces ?? []));
  // A config without a server is not for callers.
  if (source.at(["server"]) !== undefined) problems.push(...checkPrincipals(config.locatedPolicies, server));
  // Entries that could not be loaded were reported already.
  if (problems.every(({ severity }) => severity === "warning"))
    problems.push(
      ...checkAnswers(config, answering),
      ...(await checkEntries(config, server)),
      ...checkOptions(config, server),
      ...checkSessions(config, server),
    );
  problems.sort(byPosition);
  const notCheckable = uncheckableKeys(config.locatedPolicies);
  const errors = problems.filter(({ severity }) => severity === "error").length;
  if (terminal.signal?.aborted) return EXIT_INTERRUPTED;
  if (isJson) {
    const counts = { tools: config.toolCount, errors, warnings: problems.length - errors };
    const found = {
      ...(answering.length > 0 && { answering }),
      ...(notCheckable.length > 0 && { notCheckable }),
    };
    const report = { file, ...counts, problems, ...found };
    await print(terminal.stdout, toPrintableJson(report));
    return errors === 0 ? EXIT_OK : EXIT_BAD_INPUT;
  }
  await print(terminal.stderr, showProblems(problems));
  const counts = [
    count(config.toolCount, "tool"),
    count(errors, "error"),
    count(problems.length - errors, "warning"),
  ];
  await print(terminal.stdout, shown`${file}: ${counts.join(", ")}`);
  if (answering.length > 0) {
    const lines = [shown`who answers for whom:`, ...describeAnswering(answering)];
    await print(terminal.stdout, joinShown(lines, "\n"));
  }
  if (notCheckable.length > 0)
    await print(terminal.stdout, shown`not checkable, as callers supply them: ${notCheckable.join(", ")}`);
  return errors === 0 ? EXIT_OK : EXIT_BAD_INPUT;
}

/** Prepares the tools, and checks that their sandboxes can enforce what the policies grant. */
async function checkTools(config: Config, { signal }: Terminal): Promise<readonly ConfigProblem[]> {
  await using sandboxes = await openSandboxes(config.sandboxOptions);
  sandboxes.ensureExit();
  const problems: ConfigProblem[] = [];
  for (const configured of config.tools) {
    if (signal?.aborted) break;
    problems.push(...(await prepareTool(configured, config, sandboxes)));
  }
  problems.push(...(await checkGrants(config.locatedPolicies, config.registry.tools, sandboxes)));
  return problems;
}

/** Prepares a tool in each sandbox separately, so that each problem is reported with its position. */
async function prepareTool(
  { tool, path }: ConfiguredTool,
  { source }: Config,
  sandboxes: Sandboxes,
): Promise<readonly ConfigProblem[]> {
  const problems: ConfigProblem[] = [];
  for (const mode of sandboxesOf(tool)) {
    try {
      const sandbox = await sandboxes.route(mode);
      await sandbox?.prepare(tool);
      if (mode === "host" && isHostModule(tool.host)) await checkExport(tool.host);
    } catch (error) {
      problems.push(source.problem([...path, mode], messageOf(error), "error", "key"));
    }
  }
  return problems;
}

/** Imports a module, which the sandbox would only do with the first call, in a thread. */
async function checkExport({ module, export: name }: HostModule): Promise<void> {
  const exported = await loadExport(String(module), name);
  if (typeof exported !== "function") throw new Error("the export of the module is not a function");
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** Sorts problems by file and position. */
function byPosition(a: ConfigProblem, b: ConfigProblem): number {
  return a.file.localeCompare(b.file) || a.line - b.line || a.column - b.column;
}

function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? "" : "s"}`;
}

/** Finds grants of the session's workspace, for configs under which no session has one. */
function checkWorkspaces(policies: readonly LocatedPolicy[]): readonly ConfigProblem[] {
  return policies.flatMap((policy) => {
    const { default: byDefault } = policy;
    return [
      ...policy.rules.flatMap((rule, index) => problemsOf(policy, ["rules", index], usedBy(rule))),
      ...problemsOf(policy, ["default"], byDefault === "deny" ? undefined : byDefault),
    ];
  });
}

function problemsOf(
  policy: LocatedPolicy,
  path: ConfigPath,
  use: AllowedUse | undefined,
): readonly ConfigProblem[] {
  const { fs = [] } = use?.capabilities ?? {};
  return fs.flatMap((grant, index) => {
    if (!("workspace" in grant)) return [];
    const message = "nothing provides a workspace here, so calls that need this grant are denied";
    return [policy.problem([...path, "capabilities", "fs", index, "workspace"], message, "warning")];
  });
}

/**
 * Returns a warning for each tool, and for the instructions of each MCP server, with a text that a model
 * reads differently from a person: it has characters that are invisible, change the order of the text or look
 * like different ones.
 *
 * @param instructions The instructions of MCP servers.
 */
function checkTexts(
  source: ConfigSource,
  registry: ToolRegistry,
  tools: readonly ConfiguredTool[],
  instructions: ReadonlyMap<string, JsonObject>,
): readonly ConfigProblem[] {
  const paths = new Map(tools.map(({ tool: { name }, path }) => [name, path]));
  const warn = (
    what: string,
    path: readonly (string | number)[],
    definition: JsonObject,
  ): ConfigProblem[] => {
    const places = [...placesIn(definition, "")];
    if (places.length === 0) return [];
    const more = places.length > MAX_PLACES ? ` and ${places.length - MAX_PLACES} more places` : "";
    const message =
      `${what} has characters that are invisible or look like others, at ${places.slice(0, MAX_PLACES).join(", ")}${more}: ` +
      "'sandgate mcp diff' writes them out";
    return [source.problem(path, message, "warning")];
  };
  const ofTools = registry.definitions().flatMap(({ name, description, inputSchema }) => {
    return warn(`the definition of tool '${name}'`, paths.get(name) ?? ["mcp"], {
      name,
      description,
      inputSchema,
    });
  });
  const ofServers = [...instructions].flatMap(([name, definition]) => {
    const [server = name, ...offer] = name.split("/");
    const what = offer.length === 0 ? "what the MCP server says to the model" : `'${offer.join("/")}'`;
    return warn(what, ["mcp", "servers", server], definition);
  });
  return [...ofTools, ...ofServers];
}

/** The JSON pointers of texts, and of members whose names are such texts. */
function* placesIn(value: JsonValue, pointer: string): Generator<string> {
  if (typeof value === "string") {
    if (isMisleading(value)) yield pointer;
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* placesIn(item, `${pointer}/${index}`);
  } else if (isJsonObject(value)) {
    for (const [name, member = null] of Object.entries(value)) {
      if (isMisleading(name)) yield pointer;
      else yield* placesIn(member, `${pointer}/${escapePointer(name)}`);
    }
  }
}

function isMisleading(text: string): boolean {
  const plain = text.replaceAll("\t", " ").replaceAll("\r\n", "\n");
  return escapeText(plain, { keepsLines: true }).some(({ kind }) => kind === "escape");
}
