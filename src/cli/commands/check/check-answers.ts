import type { ConfigProblem } from "../../../config/problem.ts";
import type { Tool } from "../../../engine/tool.ts";
import { concernedTools } from "../../../policy/rule/concerned-tools.ts";
import { type BaseMode, type CallLevel, DEFAULT_CLASS_LEVELS, levelOf } from "../../../sessions/levels.ts";
import { sandboxesOf } from "../../../tool/implementations/implementations.ts";
import { UNDECLARED_SIDE_EFFECTS } from "../../../tool/side-effects.ts";
import type { Config } from "../../config/load-config.ts";
import type { SessionsConfig } from "../../config/load-sessions.ts";
import type { Answering } from "../../config/server/who-answers.ts";
import { grantsOf, type LocatedGrant } from "./located-grants.ts";

/** The most names of tools in a message. */
const MAX_NAMES = 5;
const MAX_NAMES_LENGTH = 80;

/**
 * Finds tools that are granted, and whose calls every client is denied: a person must be asked about each of them, and no one
 * can answer.
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
    // What to write instead must not be cut from a long line.
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
  return `write ${unasked} to have it run without a question, or ${person} to have a person asked`;
}

/** Whether a person is asked about every call, in every session and workspace. */
function alwaysAsks(tool: Tool, { source, use }: LocatedGrant, sessions: SessionsConfig): boolean {
  const asks = [source, use].some((part) => (part as { readonly effect?: string }).effect === "ask");
  return levelsOf(tool, asks, sessions).every((level) => level === "prompt");
}

/** Whether a person may be asked about some call, in the mode of the config. */
export function isEverAsked(tool: Tool, { locatedPolicies, sessions }: Config): boolean {
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
    canHold: true,
    configured: tools[tool.name],
    own: tool.confirm,
    alwaysConfirm: tool.alwaysConfirm === true || tool.submitsPlan === true,
    classes: { ...DEFAULT_CLASS_LEVELS, ...classes },
  };
  const workspaces = [undefined, ...(trustedWorkspaces.length > 0 ? [trustedWorkspaceOverrides] : [])];
  return workspaces.map((trusted) => levelOf({ ...basis, trusted }));
}
