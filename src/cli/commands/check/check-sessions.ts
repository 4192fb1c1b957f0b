import type { ConfigProblem } from "../../../config/problem.ts";
import type { ConfigPath } from "../../../config/source.ts";
import type { Tool } from "../../../engine/tool.ts";
import { namedFields } from "../../../policy/rule/conditions/tracked-fields.ts";
import { toolsOf } from "../../../policy/rule/history-conditions.ts";
import type { HistoryCondition, PolicyRule } from "../../../policy/rule/rule.ts";
import { concernedTools } from "../../../policy/rule/rule-matcher.ts";
import { type BaseMode, type CallLevel, DEFAULT_CLASS_LEVELS, levelOf } from "../../../sessions/levels.ts";
import { sandboxesOf } from "../../../tool/implementations/implementations.ts";
import { UNDECLARED_SIDE_EFFECTS } from "../../../tool/side-effects.ts";
import type { Config } from "../../config/load-config.ts";
import type { SessionsConfig } from "../../config/load-sessions.ts";
import type { ServerConfig } from "../../config/server/load-server.ts";
import type { Answering } from "../../config/server/who-answers.ts";
import { grantsOf, type LocatedGrant } from "./check-grants.ts";

/** Maximum number of tool names in a message. */
const MAX_NAMES = 5;

const MAX_NAMES_LENGTH = 80;

interface Found {
  readonly path: ConfigPath;
  readonly message: string;
}

/**
 * Finds parts of rules that depend on sessions, but that no session of the config can meet, or for which the
 * config has no sessions at all.
 */
export function checkSessions(config: Config, server: ServerConfig): readonly ConfigProblem[] {
  const { source, locatedPolicies } = config;
  const hasSessions =
    source.at(["server"]) === undefined || server.served !== undefined || server.mcp !== undefined;
  return locatedPolicies.flatMap(({ rules, problem }) =>
    rules.flatMap((rule, index) => {
      const found = hasSessions ? historyProblems(rule, config) : outsideOfSessions(rule);
      return found.map(({ path, message }) => problem(["rules", index, ...path], message, "warning"));
    }),
  );
}

/** What is unclear about every call without a session. */
function outsideOfSessions(rule: PolicyRule): readonly Found[] {
  const { effect, asked, history = [], when } = rule;
  const [source] = namedFields(when);
  const parts: readonly (readonly [path: ConfigPath, known: string])[] = [
    ...(asked === undefined ? [] : ([[["asked"], "the user's words"]] as const)),
    ...(history.length === 0 ? [] : ([[["history"], "earlier calls"]] as const)),
    ...(source === undefined ? [] : ([[["when", ...source.path], "where values came from"]] as const)),
  ];
  const consequence = {
    allow: "the rule allows nothing",
    ask: "the rule asks about all other calls that it matches",
    deny: "the rule denies all other calls that it matches",
  }[effect];
  const remedy = "write 'sessions: true' under 'server', or remove this";
  const unclear = parts.map(([path, known]) => ({
    path,
    message: `only sessions know ${known}, and the server has none, so this is always unclear, and ${consequence}: ${remedy}`,
  }));
  if (effect !== "ask") return unclear;
  const message = `a call without a session asks no one, so calls that this rule asks about are denied: ${remedy}`;
  return [...unclear, { path: ["effect"], message }];
}

function historyProblems({ history = [] }: PolicyRule, config: Config): readonly Found[] {
  return history.flatMap((condition, index) => {
    const message = whyNeverApproved(condition, config) ?? whyNotCounted(condition, config);
    return message === undefined ? [] : [{ path: ["history", index], message }];
  });
}

function whyNeverApproved(condition: HistoryCondition, config: Config): string | undefined {
  if (!("after" in condition) || condition.approved !== true) return undefined;
  const tools = config.registry.tools.filter(
    (tool) =>
      concernedTools({ tools: condition.after }, [{ ...tool, sandboxes: sandboxesOf(tool) }]).length > 0,
  );
  if (tools.length === 0 || tools.some((tool) => isEverAsked(tool, config))) return undefined;
  const names = tools.map(({ name }) => `'${name}'`).join(", ");
  return `no rule and no level asks a person about calls of ${names}, so none is approved: remove 'approved', or ask about them`;
}

/** Compares a number of calls of a session with those that a session can make. */
function whyNotCounted(condition: HistoryCondition, { registry, sessions }: Config): string | undefined {
  if (!("count" in condition) || ("by" in condition && condition.by === "principal")) return undefined;
  const { calls = Number.POSITIVE_INFINITY, callsPerTool = {} } = sessions.limits;
  const counted = registry.tools.filter(
    (tool) =>
      concernedTools({ tools: toolsOf(condition) }, [{ ...tool, sandboxes: sandboxesOf(tool) }]).length > 0,
  );
  const each = counted.reduce((sum, { name }) => sum + (callsPerTool[name] ?? Number.POSITIVE_INFINITY), 0);
  const most = Math.min(calls, each);
  const bounds = condition as { readonly atLeast?: number; readonly lessThan?: number };
  const [count = 0, consequence] =
    bounds.atLeast === undefined ? [bounds.lessThan, "always"] : [bounds.atLeast, "never"];
  if (count <= most) return undefined;
  return `this is ${consequence} met, as 'sessions.limits' allows ${most} such calls of a session: write at most ${most}`;
}

/**
 * Finds granted tools whose calls are denied to every client, as each of them needs a person's confirmation
 * and no one can answer.
 */
export function checkAnswers(
  { source, registry, locatedPolicies, sessions }: Config,
  answering: readonly Answering[],
): readonly ConfigProblem[] {
  const isServed = source.at(["server"]) !== undefined;
  // Without a server, imported tools are for the client of `sandgate mcp serve`.
  const isDenied = isServed
    ? answering.length > 0 && answering.every(isUnanswered)
    : source.at(["mcp"]) !== undefined;
  if (!isDenied) return [];
  const found = new Map<object, { readonly located: LocatedGrant; readonly names: string[] }>();
  for (const tool of registry.tools) {
    for (const located of grantsOf(locatedPolicies, tool)) {
      if (!alwaysAsks(tool, located, sessions)) continue;
      const { names } = found.get(located.source) ?? { names: [] };
      found.set(located.source, { located, names: [...names, tool.name] });
    }
  }
  return Array.from(found.values(), ({ located, names }) => {
    const shown = names.slice(0, MAX_NAMES).map((name) => `'${name}'`);
    // The remedy must not be cut off at the end of a long line.
    while (shown.length > 1 && shown.join().length > MAX_NAMES_LENGTH) shown.pop();
    const more = names.length > shown.length ? ` and ${names.length - shown.length} more` : "";
    const who = isServed ? "every client" : "every client of 'sandgate mcp serve'";
    const message =
      `${who} is denied calls of ${shown.join(", ")}${more}, as a person must be asked and no one can answer: ` +
      `${remedyOf(names[0] ?? "", isServed)}`;
    return located.policy.problem(located.path, message, "warning");
  });
}

function isUnanswered({ door, approvers, ownClient }: Answering): boolean {
  return door !== "executor" && approvers.length === 0 && !ownClient;
}

function remedyOf(name: string, isServed: boolean): string {
  const unasked = `'confirmations: { tools: { ${name}: auto } }', or the class of the tool (under 'mcp.classes', if it is imported)`;
  const person = isServed
    ? "a credential with the role 'approver' that approves the caller (and 'server.mcp.approvalUrl' for clients of MCP)"
    : "'server: { mcp: { confirm: elicitation } }'";
  return `write ${unasked} to run it without asking, or ${person} to ask a person`;
}

/** Whether a person is asked about every call, in every session and workspace. */
function alwaysAsks(tool: Tool, { source, use }: LocatedGrant, sessions: SessionsConfig): boolean {
  const asks = [source, use].some((part) => (part as { readonly effect?: string }).effect === "ask");
  return levelsOf(tool, asks, sessions).every((level) => level === "prompt");
}

/** Whether a person may be asked about some call, in the mode of the config. */
function isEverAsked(tool: Tool, { locatedPolicies, sessions }: Config): boolean {
  const subject = { ...tool, sandboxes: sandboxesOf(tool) };
  const asks = locatedPolicies.some(
    ({ rules, default: byDefault }) =>
      rules.some((rule) => rule.effect === "ask" && concernedTools(rule, [subject]).length > 0) ||
      (byDefault as { readonly effect?: string }).effect === "ask",
  );
  return levelsOf(tool, asks, sessions).includes("prompt");
}

/** The levels of calls of a tool in workspaces that are trusted or not. */
function levelsOf(tool: Tool, asks: boolean, { confirmations, mode }: SessionsConfig): readonly CallLevel[] {
  const { modes = {}, tools = {}, default: classes = {}, trustedWorkspaces = [] } = confirmations;
  const { trustedWorkspaceOverrides = {} } = confirmations;
  const custom = typeof mode === "string" ? modes[mode] : mode;
  const basis = {
    policy: asks ? ("ask" as const) : ("allow" as const),
    remember: false,
    approved: false,
    mode: custom?.base ?? (mode as BaseMode),
    modeLevel: custom?.tools?.[tool.name],
    sideEffects: tool.sideEffects ?? UNDECLARED_SIDE_EFFECTS,
    canStage: true,
    configured: tools[tool.name],
    own: tool.confirm,
    classes: { ...DEFAULT_CLASS_LEVELS, ...classes },
  };
  const workspaces = [undefined, ...(trustedWorkspaces.length > 0 ? [trustedWorkspaceOverrides] : [])];
  return workspaces.map((trusted) => levelOf({ ...basis, trusted }));
}
