import { compileShape } from "../../config/shape.ts";
import { copyJson } from "../../json/copy.ts";
import type { JsonValue } from "../../json/value.ts";
import type { PolicySubject } from "../policy.ts";
import type { RulePolicyOptions } from "../rule/rule.ts";
import { checkOptions } from "../rule/rule-options.ts";
import type { Invariant } from "./invariant.ts";
import { invariantFlaws } from "./invariant-flaws.ts";
import { INVARIANTS } from "./invariant-shape.ts";
import type { Proof } from "./proof.ts";
import { prove } from "./prove.ts";

/**
 * Decides which invariants hold for every call of these tools under rules in code, whatever the arguments, the principal,
 * the session and the time of the call are. `loadPolicyFile` does so for the `invariants` of a file.
 *
 * What is proved of a `RulePolicy` holds for `strictest` of it and any other policies, too. It does not hold for tools
 * that are registered or replaced later.
 *
 * @param tools Such as `registry.subjects`.
 * @returns One proof for each invariant, in their order.
 * @throws {TypeError} if the options or the invariants are invalid.
 */
export function proveInvariants(
  options: RulePolicyOptions,
  invariants: readonly Invariant[],
  tools: readonly PolicySubject[],
): readonly Proof[] {
  const checked = checkOptions(options);
  const copy = copyJson(invariants);
  const flaws = compileShape(INVARIANTS)(copy as JsonValue);
  const stated = copy as unknown as readonly Invariant[];
  const all = flaws.length > 0 ? flaws : invariantFlaws(stated);
  if (all.length > 0)
    throw new TypeError(all.map(({ path, message }) => `/${path.join("/")} ${message}`).join("; "));
  return prove(checked, stated, tools);
}
