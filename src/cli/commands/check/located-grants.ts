import type { ConfigPath } from "../../../config/source.ts";
import type { Tool } from "../../../engine/tool.ts";
import type { LocatedPolicy } from "../../../policy/file/located-policy.ts";
import { namedBy } from "../../../policy/file/tool-checks.ts";
import { type Capabilities, commonCapabilities } from "../../../policy/grant/capabilities.ts";
import { mostOf } from "../../../policy/grant/grant-template.ts";
import { type ResourceLimits, strictestLimits } from "../../../policy/grant/limits.ts";
import { concernedTools } from "../../../policy/rule/concerned-tools.ts";
import { type AllowedUse, isConditional, type PolicyRule, usedBy } from "../../../policy/rule/rule.ts";
import { sandboxesOf } from "../../../tool/implementations/implementations.ts";
import type { SandboxMode } from "../../../tool/sandbox-mode.ts";

/** What a part of a policy grants to a tool's calls, together with the rules that always apply to them. */
export interface LocatedGrant {
  readonly policy: LocatedPolicy;
  /** The rule or default. */
  readonly source: object;
  /** The path of the rule or default from the policy. */
  readonly path: ConfigPath;
  readonly isNamed: boolean;
  /** What the part itself grants. */
  readonly use: AllowedUse;
  /** `undefined` if the rules that apply have no sandbox in common in which the tool can run. */
  readonly sandbox: SandboxMode | undefined;
  readonly limits: ResourceLimits;
  readonly capabilities: Capabilities;
}

/** A rule or default that grants something to a tool's calls. */
type Part = Pick<LocatedGrant, "policy" | "source" | "path" | "isNamed" | "use"> & {
  readonly isAlways: boolean;
};

/** Returns what the policies grant to calls of a tool, by the rule. Empty if a rule denies all its calls. */
export function grantsOf(policies: readonly LocatedPolicy[], tool: Tool): readonly LocatedGrant[] {
  const concerned = (rule: PolicyRule): boolean =>
    concernedTools(rule, [{ ...tool, sandboxes: sandboxesOf(tool) }]).length > 0;
  const rules = policies.flatMap((policy) => policy.rules.filter(concerned));
  if (rules.some((rule) => rule.effect === "deny" && !isConditional(rule))) return [];
  const parts = policies.flatMap((policy) => partsOf(policy, tool, concerned));
  const always = parts.filter(({ isAlways }) => isAlways);
  return parts.map((part) => combine(part, always.includes(part) ? always : [...always, part], tool));
}

function partsOf(
  policy: LocatedPolicy,
  tool: Tool,
  concerned: (rule: PolicyRule) => boolean,
): readonly Part[] {
  const parts: Part[] = [];
  for (const [index, rule] of policy.rules.entries()) {
    const use = usedBy(rule);
    if (use === undefined || !concerned(rule)) continue;
    const isNamed = namedBy(rule)({ ...tool, sandboxes: [] });
    const isAlways = !isConditional(rule);
    parts.push({ policy, source: rule, path: ["rules", index], isNamed, use, isAlways });
  }
  const { default: use } = policy;
  if (use !== "deny" && !parts.some(({ isAlways }) => isAlways)) {
    parts.push({ policy, source: use, path: ["default"], isNamed: false, use, isAlways: false });
  }
  return parts;
}

function combine(part: Part, applied: readonly Part[], tool: Tool): LocatedGrant {
  const [first = part.use, ...others] = applied.map(({ use }) => use);
  const sandbox = first.sandboxes.find(
    (mode) => tool[mode] !== undefined && others.every(({ sandboxes }) => sandboxes.includes(mode)),
  );
  const uses = [first, ...others];
  const limits = uses.map((use) => use.limits ?? {}).reduce(strictestLimits);
  const capabilities = uses.map((use) => mostOf(use.capabilities ?? {})).reduce(commonCapabilities);
  return { ...part, sandbox, limits, capabilities };
}
