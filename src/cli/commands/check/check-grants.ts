import type { ConfigProblem } from "../../../config/problem.ts";
import type { Tool } from "../../../engine/tool.ts";
import type { LocatedPolicy } from "../../../policy/file/located-policy.ts";
import type { SandboxRouter } from "../../../sandboxes/contract/sandbox.ts";
import { type GrantFlaw, grantFlaws } from "./grant-flaws.ts";
import { grantsOf, type LocatedGrant } from "./located-grants.ts";

/**
 * Finds rules whose calls must all fail: their grant has a limit or a capability that the tool's sandbox does not
 * support, or lacks what the tool needs; and parts of grants that no call can use. A failure is an error if this holds for a tool that the rule names, or for all its
 * tools, and otherwise a warning.
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

/** A sandbox that does not open has been reported when the tools were prepared. */
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
