import type { Case, Question } from "../harness/case.ts";
import { openCheck } from "./check.ts";
import { openDiff, openParsing } from "./diff.ts";
import { openEvaluation, openExplain } from "./explain.ts";
import { ledger } from "./ledger.ts";
import { prove } from "./prove.ts";
import { provenance } from "./provenance.ts";
import type { RuleSpread } from "./requests.ts";

const SPREADS: readonly RuleSpread[] = ["tools", "folders", "principals"];
const CALLS = 100_000;

/** What explaining costs, besides evaluating every rule that names the tool. */
const explain: Question = {
  name: "policy-explain",
  scale: "rules that name the tool",
  cases: [4, 20, 1_000].flatMap((at): Case[] => {
    const floor = `each of ${at} rules, evaluated once`;
    return [
      { name: floor, at, floor, open: () => openEvaluation(at) },
      { name: `explain, ${at} rules`, at, floor, open: () => openExplain(at) },
    ];
  }),
};

/** Whether deciding takes longer with more rules. */
const rules: Question = {
  name: "policy-rules",
  cases: SPREADS.flatMap((spread): Case[] => {
    const floor = `check, 20 rules for different ${spread}`;
    return [
      { name: floor, floor, open: () => openCheck(20, spread) },
      { name: `check, 10000 rules for different ${spread}`, floor, open: () => openCheck(10_000, spread) },
    ];
  }),
};

/** Comparing two policies by a journal, in all threads. The journal has the end of each call, too. */
const diff: Question = {
  name: "policy-diff",
  cases: [
    { name: "parsing each line, in this thread", calls: CALLS, open: () => openParsing(CALLS) },
    { name: "diffPolicies", calls: CALLS, open: () => openDiff(CALLS) },
  ],
};

/** The questions about policies. */
export const questions: readonly Question[] = [explain, rules, diff, ledger, provenance, prove];
