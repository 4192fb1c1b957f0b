import type { Flaw } from "../../../config/shape.ts";
import type { PolicyRule, UntrustedResult } from "../rule.ts";
import { MarkedFields } from "./marked-fields.ts";
import { namedFields } from "./tracked-fields.ts";

/** Finds rules that have values come from results that the policy says outsiders can write. */
export function untrustedFlaws(
  rules: Iterable<readonly [index: number, rule: PolicyRule]>,
  untrusted: readonly UntrustedResult[] = [],
): Flaw[] {
  const flaws: Flaw[] = [];
  const markedFields = new MarkedFields(untrusted);
  for (const [index, rule] of rules) {
    for (const { path, field, isSource } of namedFields(rule.when)) {
      if (!isSource || field === "user") continue;
      const tool = "lookup" in field ? field.lookup : field.tool;
      const marked = markedFields.find(tool, field.field);
      if (marked === undefined) continue;
      const what = marked === "" ? `the results of '${tool}'` : `'${marked}' in the results of '${tool}'`;
      const message = `${what} cannot be a source: 'untrusted' says that outsiders write it`;
      flaws.push({ path: ["rules", String(index), "when", ...path, "field"], at: "value", message });
    }
  }
  return flaws;
}
