import { deepStrictEqual } from "node:assert";
import { RulePolicy } from "sandgate";
import type { OpenCase } from "../harness/case.ts";
import { INPUT, type RuleSpread, requestFor, rulesFor } from "./requests.ts";

/** Opens a case that has a policy decide. */
export function openCheck(count: number, spread: RuleSpread): OpenCase {
  const policy = new RulePolicy({ rules: rulesFor(count, spread) });
  const call = requestFor(INPUT);
  return {
    run: () => policy.check(call),
    check: (answer) => deepStrictEqual((answer as ReturnType<RulePolicy["check"]>).decision, "allow"),
  };
}
