import { deepStrictEqual } from "node:assert";
import { RulePolicy } from "sandgate";
import { RuleMatcher } from "../../src/policy/rule/rule-matcher.ts";
import type { OpenCase } from "../harness/case.ts";
import { INPUT, requestFor, rulesFor } from "./requests.ts";

/** Opens a case that evaluates each rule that names the tool once. */
export function openEvaluation(count: number): OpenCase {
  const matchers = rulesFor(count, "folders").map((rule) => new RuleMatcher(rule, Date.now));
  const call = requestFor(INPUT);
  return {
    run: () => {
      let matched = 0;
      for (const matcher of matchers) if (matcher.match(call) === "yes") matched++;
      return matched;
    },
    check: (matched) => deepStrictEqual(matched, 1),
  };
}

/** Opens a case that explains a decision, for which all rules name the tool. */
export function openExplain(count: number): OpenCase {
  const policy = new RulePolicy({ rules: rulesFor(count, "folders") });
  const call = requestFor(INPUT);
  return {
    run: () => policy.explain(call),
    check: (answer) => {
      const { decision, rules } = answer as ReturnType<RulePolicy["explain"]>;
      deepStrictEqual([decision.decision, rules.length, rules[1]?.matched], ["allow", count, "yes"]);
    },
  };
}
