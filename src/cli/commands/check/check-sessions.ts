import type { ConfigProblem } from "../../../config/problem.ts";
import type { ConfigPath } from "../../../config/source.ts";
import type { HistoryCondition } from "../../../policy/history/history-condition.ts";
import { toolsOf } from "../../../policy/rule/compile-history.ts";
import { concernedTools } from "../../../policy/rule/concerned-tools.ts";
import { namedFields } from "../../../policy/rule/conditions/tracked-fields.ts";
import type { PolicyRule } from "../../../policy/rule/rule.ts";
import { sandboxesOf } from "../../../tool/implementations/implementations.ts";
import type { Config } from "../../config/load-config.ts";
import type { ServerConfig } from "../../config/server/load-server.ts";
import { isEverAsked } from "./check-answers.ts";

interface Found {
  readonly path: ConfigPath;
  readonly message: string;
}

/** Finds parts of rules that depend on sessions, and that no session of the config can meet, or that meet no session at all. */
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
    message: `only sessions know ${known}, and the server has none, so that this is always unclear, and ${consequence}: ${remedy}`,
  }));
  if (effect !== "ask") return unclear;
  const message = `a call without a session asks no one, so that calls that this rule asks about are denied: ${remedy}`;
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
  return `no rule and no level has a person asked about calls of ${names}, so that none is approved: remove 'approved', or ask about them`;
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
