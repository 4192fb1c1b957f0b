import type { Flaw } from "../../../config/shape.ts";
import { LIST_INDEX, parsePointer } from "../../../json/pointer.ts";
import type { PolicyRule, UntrustedResult } from "../rule.ts";
import { namedFields } from "./tracked-fields.ts";

/** Finds rules that have values come from results that the policy says outsiders can write. */
export function untrustedFlaws(
  rules: Iterable<readonly [index: number, rule: PolicyRule]>,
  untrusted: readonly UntrustedResult[] = [],
): Flaw[] {
  const flaws: Flaw[] = [];
  for (const [index, rule] of rules) {
    for (const { path, field, isSource } of namedFields(rule.when)) {
      if (!isSource || field === "user") continue;
      const tool = "lookup" in field ? field.lookup : field.tool;
      const marked = untrusted
        .filter((result) => result.tool === tool)
        .flatMap(({ fields = [""] }) => fields)
        .find((each) => overlap(each, field.field));
      if (marked === undefined) continue;
      const what = marked === "" ? `the results of '${tool}'` : `'${marked}' in the results of '${tool}'`;
      const message = `${what} cannot be a source: 'untrusted' says that outsiders write it`;
      flaws.push({ path: ["rules", String(index), "when", ...path, "field"], at: "value", message });
    }
  }
  return flaws;
}

/** Whether one field can be in the other. Elements of lists are not told apart. */
function overlap(one: string, other: string): boolean {
  const [a, b] = [one, other].map((field) =>
    parsePointer(field).filter((step) => step !== "*" && !LIST_INDEX.test(step)),
  ) as [string[], string[]];
  return a.slice(0, b.length).every((step, index) => step === b[index]);
}
