import { TOKEN_ID_PREFIX } from "../../../access-tokens/token-principal.ts";
import type { ConfigProblem } from "../../../config/problem.ts";
import type { ConfigSource } from "../../../config/source.ts";
import { LOCAL_ID } from "../../../http/authentication.ts";
import type { Credential } from "../../../http/clients.ts";
import { compileNamePattern } from "../../../policy/match/name-pattern.ts";
import { type ShownText, shown } from "../../../rendering/shown.ts";
import type { ServerConfig } from "./load-server.ts";

/** Who can answer the confirmations of a principal's calls. */
export interface Answering {
  /** The id of the principal; `oauth:*` stands for all that have access tokens. */
  readonly caller: string;
  /** Over which door its calls come. `executor`: no person is asked about them. */
  readonly door: "sessions" | "mcp" | "executor";
  /** The ids of the approvers. */
  readonly approvers: readonly string[];
  /** Whether the client that makes the calls passes answers on, too. */
  readonly ownClient: boolean;
}

const ACCESS_TOKENS = `${TOKEN_ID_PREFIX}*`;

/** Returns who can answer whom on a server, and in `sandgate mcp serve`. Empty for an executor alone. */
export function whoAnswers({ served, mcp, options }: ServerConfig): readonly Answering[] {
  const ownClient = mcp?.confirm === "elicitation";
  if (served === undefined)
    return mcp === undefined ? [] : [{ caller: LOCAL_ID, door: "mcp", approvers: [], ownClient }];
  const { credentials, executor } = served;
  const ids = new Set(credentials.flatMap(({ id, roles }) => (roles.includes("caller") ? [id] : [])));
  const approversOf = (caller: string): readonly string[] =>
    credentials.flatMap((each) => (approves(each, caller) ? [each.id] : []));
  const answering: Answering[] = [];
  for (const caller of ids) {
    const approvers = approversOf(caller);
    answering.push({ caller, door: "sessions", approvers, ownClient: false });
    if (mcp !== undefined) answering.push({ caller, door: "mcp", approvers: reached(approvers), ownClient });
  }
  if (mcp?.oauth !== undefined) {
    const approvers = reached(approversOf(ACCESS_TOKENS));
    answering.push({ caller: ACCESS_TOKENS, door: "mcp", approvers, ownClient });
  }
  if (executor) {
    const { keys = new Map(), token, tokenName = "token", certificates = [] } = options;
    const clients = [
      ...keys.keys(),
      ...(token === undefined ? [] : [tokenName]),
      ...certificates.map(({ id }) => id),
      ...credentials.flatMap(({ id, roles }) => (roles.includes("client") ? [id] : [])),
    ];
    for (const caller of new Set(clients.length === 0 ? [LOCAL_ID] : clients))
      answering.push({ caller, door: "executor", approvers: [], ownClient: false });
  }
  return answering;

  /** Without an address for people, calls of MCP clients wait for no approver. */
  function reached(approvers: readonly string[]): readonly string[] {
    return mcp?.approvalUrl === undefined && !ownClient ? [] : approvers;
  }
}

function approves({ id, roles, approves: patterns = [id] }: Credential, caller: string): boolean {
  if (!roles.includes("approver")) return false;
  return patterns.some((pattern) =>
    caller === ACCESS_TOKENS
      ? pattern.startsWith("*") || pattern.startsWith(TOKEN_ID_PREFIX)
      : compileNamePattern(pattern).matches(caller),
  );
}

/** Describes who can answer whom, in lines. */
export function describeAnswering(answering: readonly Answering[]): readonly ShownText[] {
  return answering.map(({ caller, door, approvers, ownClient }) => {
    if (door === "executor") return shown`  ${caller}, at the executor: no person is asked`;
    const by = [
      ...approvers,
      ...(ownClient ? ["its own client, which can answer without a person (confirm: elicitation)"] : []),
    ];
    const none =
      door === "mcp"
        ? "no approver: calls that need an answer are denied at once (see server.mcp.approvalUrl)"
        : "no approver: calls that need an answer time out";
    return shown`  ${caller}, ${door === "mcp" ? "over MCP" : "in sessions"}: ${by.join(", ") || none}`;
  });
}

/** Finds approvers with the id of a caller for which they answer: records could not distinguish the agent from the person. */
export function sharedIds(source: ConfigSource, { served }: ServerConfig): readonly ConfigProblem[] {
  const credentials = served?.credentials ?? [];
  return credentials.flatMap(({ id, roles, approves: patterns = [id] }, index) => {
    if (!roles.includes("approver") || !patterns.some((pattern) => compileNamePattern(pattern).matches(id)))
      return [];
    const isShared = credentials.some(
      (other, at) => at !== index && other.id === id && other.roles.includes("caller"),
    );
    if (!isShared) return [];
    const message =
      `an approver has the id '${id}' of a caller for which it answers, so that records cannot tell them apart: ` +
      `give the approver an id of its own, and 'approves: [${id}]'`;
    return [source.problem(["server", "credentials", index, "id"], message, "warning")];
  });
}
