import fc from "fast-check";
import { expect, test } from "vitest";
import { parsePointer } from "../../../../src/json/pointer.ts";
import type { UntrustedResult } from "../../../../src/policy/rule/rule.ts";
import { MarkedFields } from "../../../../src/policy/rule/rule-flaws.ts";

const field = fc.array(fc.constantFrom("a", "b", "*", "0"), { maxLength: 4 }).map((steps) => {
  return steps.map((step) => `/${step}`).join("");
});
const result: fc.Arbitrary<UntrustedResult> = fc.record(
  { tool: fc.constantFrom("mail", "page"), fields: fc.array(field, { minLength: 1, maxLength: 3 }) },
  { requiredKeys: ["tool"] },
);

/** Compares each field with each other. */
function findOneByOne(
  untrusted: readonly UntrustedResult[],
  tool: string,
  wanted: string,
): string | undefined {
  const steps = (pointer: string): string[] =>
    parsePointer(pointer).filter((step) => step !== "*" && step !== "0");
  const b = steps(wanted);
  return untrusted
    .filter((each) => each.tool === tool)
    .flatMap(({ fields = [""] }) => fields)
    .find((marked) => {
      const a = steps(marked);
      return a.slice(0, b.length).every((step, index) => step === b[index]);
    });
}

test("the first marked field is found that a field is in, or that is in it", () => {
  fc.assert(
    fc.property(fc.array(result, { maxLength: 8 }), field, (untrusted, wanted) => {
      expect(new MarkedFields(untrusted).find("mail", wanted)).toBe(findOneByOne(untrusted, "mail", wanted));
    }),
  );
});
