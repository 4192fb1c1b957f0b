import type { ConfigProblem } from "../../config/problem.ts";
import { describeFailure } from "../proof/describe-proof.ts";
import { type Invariant, kindOf, selectionOf } from "../proof/invariant.ts";
import type { Proof } from "../proof/proof.ts";
import type { LocatedPolicy } from "./located-policy.ts";
import { unknownNames } from "./name-checks.ts";
import type { PolicyTool } from "./policy-tool.ts";

/** Returns warnings for names and tags of invariants that no tool has: the invariants say nothing about them. */
export function invariantWarnings(
  invariants: readonly Invariant[],
  tools: readonly PolicyTool[],
  { problem }: LocatedPolicy,
): readonly ConfigProblem[] {
  return invariants.flatMap((invariant, index) =>
    unknownNames(selectionOf(invariant), tools).map(({ path, message }) =>
      problem(["invariants", index, kindOf(invariant), ...path], message, "warning"),
    ),
  );
}

/** Returns an error for each rule that may violate an invariant, at the rule. */
export function proofProblems(
  proofs: readonly Proof[],
  { problem }: LocatedPolicy,
): readonly ConfigProblem[] {
  return proofs.flatMap((proof) => {
    const further = proof.furtherFailures === 0 ? "" : ` (and ${proof.furtherFailures} more)`;
    return proof.failures.map((failure) => {
      const { place } = failure;
      const [path, subject] =
        place === undefined ? [["default"], "the default"] : [["rules", place], "this rule"];
      return problem(path, `${describeFailure(proof, failure, subject)}${further}`, "error");
    });
  });
}
