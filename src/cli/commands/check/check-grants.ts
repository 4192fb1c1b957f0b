import { formatDuration } from "../../../base/units.ts";
import type { ConfigProblem } from "../../../config/problem.ts";
import type { ConfigPath } from "../../../config/source.ts";
import type { Tool } from "../../../engine/tool.ts";
import type { LocatedPolicy } from "../../../policy/file/checked-rule.ts";
import { namedBy } from "../../../policy/file/tool-checks.ts";
import { WRITTEN_NAMES } from "../../../policy/file/written-limits.ts";
import {
  type Capabilities,
  type CapabilityName,
  commonCapabilities,
} from "../../../policy/grant/capabilities.ts";
import { isOriginTemplate, mostOf } from "../../../policy/grant/execution-grant.ts";
import { type LimitName, type ResourceLimits, strictestLimits } from "../../../policy/grant/limits.ts";
import { isWithinOrigin, originOf, parseOrigin } from "../../../policy/grant/net-grant.ts";
import { type AllowedUse, isConditional, type PolicyRule, usedBy } from "../../../policy/rule/rule.ts";
import { concernedTools } from "../../../policy/rule/rule-matcher.ts";
import type { Sandbox, SandboxRouter } from "../../../sandboxes/contract/sandbox.ts";
import { sandboxesOf } from "../../../tool/implementations/implementations.ts";
import { remoteNeeds } from "../../../tool/implementations/remote-implementation.ts";
import type { SandboxMode } from "../../../tool/sandbox-mode.ts";
import { workspaceIsSupported } from "../../../workspace/paths.ts";
import { whyElsewhere, whyMissing, whyNotShown, whyUnreachable } from "../../config/grants-without-effect.ts";

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

/** Why calls of a tool fail under a grant. */
interface GrantFlaw {
  /** The path from the rule to the part that is wrong, or where one is missing. */
  readonly path: ConfigPath;
  readonly message: string;
  /** Whether calls run, and a part of the grant is of no use to them. Default: they fail. */
  readonly isUseless?: true;
  /** Whether this is a flaw only if all tools of the rule have it. */
  readonly isOfAll?: true;
}

/**
 * Finds rules whose calls must all fail: their grant has a limit or a capability that the tool's sandbox does not
 * support, or lacks what the tool needs; and parts of grants that no call can use. A failure is an error if it concerns a tool
 * that the rule names, or all its tools, and otherwise a warning.
 *
 * @param tools The registered tools.
 */
export async function checkGrants(
  policies: readonly LocatedPolicy[],
  tools: readonly Tool[],
  sandboxes: SandboxRouter,
): Promise<readonly ConfigProblem[]> {
  const found = new Map<string, FoundFlaw>();
  const reach = new Map<object, number>();
  for (const tool of tools) {
    for (const located of grantsOf(policies, tool)) {
      reach.set(located.source, (reach.get(located.source) ?? 0) + 1);
      const sandbox = located.sandbox && (await openOrNothing(sandboxes, located.sandbox));
      for (const flaw of grantFlaws(located, tool, sandbox)) {
        const key = JSON.stringify([policies.indexOf(located.policy), located.path, flaw.path, flaw.message]);
        const { flawed } = found.get(key) ?? { flawed: [] };
        found.set(key, { located, flaw, flawed: [...flawed, { name: tool.name, isNamed: located.isNamed }] });
      }
    }
  }
  return [...found.values()].flatMap(({ located, flaw, flawed }) => {
    const isEvery = flawed.length === reach.get(located.source);
    if (flaw.isOfAll && !isEvery) return [];
    const severity = isEvery || flawed.some(({ isNamed }) => isNamed) ? "error" : "warning";
    const names = flawed.map(({ name }) => `'${name}'`).join(", ");
    if (flaw.isUseless) {
      return located.policy.problem([...located.path, ...flaw.path], `${flaw.message} (${names})`, "warning");
    }
    const message = `${flaw.message}: calls of ${names} fail`;
    return located.policy.problem([...located.path, ...flaw.path], message, severity);
  });
}

interface FoundFlaw {
  readonly located: LocatedGrant;
  readonly flaw: GrantFlaw;
  readonly flawed: readonly { readonly name: string; readonly isNamed: boolean }[];
}

/** A sandbox that cannot be opened was reported when the tools were prepared. */
async function openOrNothing(
  sandboxes: SandboxRouter,
  mode: NonNullable<LocatedGrant["sandbox"]>,
): Promise<Awaited<ReturnType<SandboxRouter["route"]>>> {
  try {
    return await sandboxes.route(mode);
  } catch {
    return undefined;
  }
}

/** @param sandbox `undefined` if it could not be opened: nothing is reported then. */
function grantFlaws(located: LocatedGrant, tool: Tool, sandbox: Sandbox | undefined): readonly GrantFlaw[] {
  // The policy's own checks report a rule without any of the tool's sandboxes.
  const { sandboxes } = located.use;
  if (located.sandbox === undefined && sandboxes.some((mode) => tool[mode] !== undefined)) {
    const message = "this rule has no sandbox in common with the other rules that apply to the same calls";
    return [{ path: ["sandboxes"], message }];
  }
  if (sandbox === undefined) return [];
  return [
    ...isolationFlaws(located, sandbox),
    ...limitFlaws(located, tool, sandbox),
    ...capabilityFlaws(located, tool, sandbox),
    ...(sandbox.mode === "remote" ? needFlaws(located, tool) : []),
    ...placeFlaws(located, sandbox),
    ...missingFlaws(located, sandbox),
    ...originFlaws(located, sandbox),
  ];
}

function isolationFlaws({ use }: LocatedGrant, { isolation }: Sandbox): readonly GrantFlaw[] {
  if (use.isolation === undefined || use.isolation === isolation) return [];
  const message = `the isolation '${use.isolation}' is not available on this machine`;
  return [{ path: ["isolation"], message }];
}

function limitFlaws({ use, limits }: LocatedGrant, tool: Tool, sandbox: Sandbox): readonly GrantFlaw[] {
  return Object.entries(use.limits ?? {}).flatMap(([key, value]) => {
    const name = key as LimitName;
    const { timeoutMs } = tool;
    if (name === "wallTimeMs" && timeoutMs !== undefined && timeoutMs < value) {
      const own = formatDuration(timeoutMs);
      const message = `has no effect, as the tool's own 'timeout' is ${own}: write less, or raise that`;
      return [{ path: ["limits", "wallTime"], message, isUseless: true }];
    }
    // Another rule has a lower limit, and is reported instead.
    if (value !== limits[name] || sandbox.unenforceable({ [name]: value }, tool) === undefined) return [];
    const message = `the '${sandbox.mode}' sandbox cannot enforce this limit`;
    return [{ path: ["limits", WRITTEN_NAMES[name]], message }];
  });
}

function capabilityFlaws(
  { use, capabilities }: LocatedGrant,
  tool: Tool,
  sandbox: Sandbox,
): readonly GrantFlaw[] {
  const given = sandbox.capabilitiesFor?.(tool) ?? sandbox.capabilities;
  return Object.keys(capabilities).flatMap((key) => {
    const name = key as CapabilityName;
    const own = use.capabilities?.[name];
    if (given.has(name) || own === undefined || own === false) return [];
    // An empty list grants nothing.
    if (Array.isArray(own) && own.length === 0) return [];
    const message = remedyOf(name, sandbox) ?? `the '${sandbox.mode}' sandbox cannot give this capability`;
    return [{ path: ["capabilities", name], message }];
  });
}

/** Returns why a sandbox that could give a capability does not, and what to do. */
function remedyOf(name: CapabilityName, { mode, isolation }: Sandbox): string | undefined {
  if (name === "net" && isolation === "landlock") {
    return "programs on Landlock have no network: 'net' needs namespaces, which are not available here";
  }
  if (name === "keyValue" && mode === "wasm") {
    return "there are no key-value stores: add 'keyValue' to 'sandboxes'";
  }
  if (name === "fs" && mode === "host" && workspaceIsSupported()) {
    return "the 'host' sandbox gives files only to tools that declare 'usesFiles: true'";
  }
  return undefined;
}

/** An HTTP tool needs its origin and its secrets. */
function needFlaws({ use, capabilities }: LocatedGrant, { remote }: Tool): readonly GrantFlaw[] {
  const needs = remoteNeeds(remote);
  if (needs === undefined) return [];
  const flaws: GrantFlaw[] = [];
  const origin = parseOrigin(needs.origin);
  const grants = capabilities.net ?? [];
  if (!grants.some((grant) => isWithinOrigin(origin, parseOrigin(originOf(grant))))) {
    const message = `the tool needs 'net: ["${needs.origin}"]', which the matching rules do not all grant`;
    flaws.push({ path: ["capabilities", "net"], message });
  }
  for (const [index, grant] of (use.capabilities?.net ?? []).entries()) {
    if (isOriginTemplate(grant) || isWithinOrigin(origin, parseOrigin(originOf(grant)))) continue;
    const message = "has no effect, as no tool of this rule sends requests there: remove it";
    flaws.push({ path: ["capabilities", "net", index], message, isUseless: true, isOfAll: true });
  }
  const own = use.capabilities?.secrets ?? [];
  for (const [index, name] of own.entries()) {
    if (needs.secrets.includes(name)) continue;
    const message = "has no effect, as no tool of this rule sends this secret: remove it";
    flaws.push({ path: ["capabilities", "secrets", index], message, isUseless: true, isOfAll: true });
  }
  for (const name of needs.secrets) {
    if (!capabilities.secrets?.includes(name)) {
      const message = `the tool needs 'secrets: [${name}]', which the matching rules do not all grant`;
      flaws.push({ path: ["capabilities", "secrets"], message });
    } else if (own.includes(name) && (process.env[name] ?? "") === "") {
      const message = "there is no such secret: the environment variable is not set";
      flaws.push({ path: ["capabilities", "secrets", own.indexOf(name)], message });
    }
  }
  return flaws;
}

/** Files, directories and variables that do not exist. */
function missingFlaws({ use }: LocatedGrant, { mode }: Sandbox): readonly GrantFlaw[] {
  const { fs = [], env = [] } = use.capabilities ?? {};
  return [
    ...fs.flatMap((grant, index): readonly GrantFlaw[] => {
      const message = whyMissing(grant);
      return message === undefined ? [] : [{ path: ["capabilities", "fs", index], message, isUseless: true }];
    }),
    ...env.flatMap((name, index): readonly GrantFlaw[] => {
      if (mode !== "process" || process.env[name] !== undefined) return [];
      const message =
        "the variable is not set where this runs, so programs do not get it: set it, or remove this";
      return [{ path: ["capabilities", "env", index], message, isUseless: true }];
    }),
  ];
}

/** Files and directories that a program does not see where it looks for them. */
function placeFlaws({ use }: LocatedGrant, { mode, isolation }: Sandbox): readonly GrantFlaw[] {
  if (mode !== "process") return [];
  return (use.capabilities?.fs ?? []).flatMap((grant, index): readonly GrantFlaw[] => {
    const path = ["capabilities", "fs", index];
    const message = whyNotShown(grant);
    if (message !== undefined) return [{ path: [...path, "at"], message }];
    // On Landlock, a program uses everything at its own path.
    const elsewhere = isolation === "namespaces" ? whyElsewhere(grant) : undefined;
    return elsewhere === undefined ? [] : [{ path, message: elsewhere, isUseless: true }];
  });
}

/** Origins that no request can reach. */
function originFlaws({ use }: LocatedGrant, { mode, capabilities }: Sandbox): readonly GrantFlaw[] {
  if (!capabilities.has("net")) return [];
  return (use.capabilities?.net ?? []).flatMap((grant, index): readonly GrantFlaw[] => {
    if (isOriginTemplate(grant)) return [];
    const message = whyUnreachable(grant, mode === "process");
    return message === undefined ? [] : [{ path: ["capabilities", "net", index], message, isUseless: true }];
  });
}

/**
 * Returns what the policies grant to calls of a tool, for each rule. Empty if a rule denies all its calls.
 */
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
    const isNamed = namedBy(rule)(tool);
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
