import type { ConfigProblem } from "../../config/problem.ts";
import { canonicalText } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import { SOME_SESSION_ID, SOMEONE_ID } from "../proof/calls/call-variables.ts";
import type { Proof, ProofFailure, Witness } from "../proof/invariant.ts";
import { type Invariant, kindOf, selectionOf } from "../proof/invariant.ts";
import type { LocatedPolicy, PolicyTool } from "./checked-rule.ts";
import { unknownNames } from "./name-checks.ts";

const MAX_SHOWN_TOOLS = 5;

const MAX_INPUT_LENGTH = 200;

/** A witness this close to the present holds at any time. */
const PRESENT_MS = 60_000;

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

/**
 * Describes what rules do to an invariant, for operators, in one line. It has texts of the tools' schemas, which may
 * come from elsewhere.
 *
 * @param subject Stands for the first of the rules, such as `this rule`.
 */
function describeFailure({ name }: Proof, failure: ProofFailure, subject: string): string {
  const others = failure.rules.slice(1).map((rule) => `'${rule}'`);
  const rules = others.length === 0 ? subject : `${subject}, together with ${others.join(", ")},`;
  if (failure.witness !== undefined) return `${rules} breaks '${name}': ${describeWitness(failure.witness)}`;
  const tools = failure.tools.slice(0, MAX_SHOWN_TOOLS).map((tool) => `'${tool}'`);
  if (failure.tools.length > tools.length) tools.push("others");
  return (
    `whether ${rules} breaks '${name}' could not be decided: no call of ${tools.join(", ")} was found that does. ` +
    "What these conditions depend on cannot be compared: change what the rule grants, or deny without conditions"
  );
}

/** Describes a call and what was decided on it. */
function describeWitness({ tool, input, principal, sessionId, at, decision, assumed = [] }: Witness): string {
  const text = canonicalText(input);
  const args = text.length > MAX_INPUT_LENGTH ? `${text.slice(0, MAX_INPUT_LENGTH)}…` : text;
  const { id, roles, attributes } = principal ?? {};
  const isAnyone = id === SOMEONE_ID && roles === undefined && attributes === undefined;
  const caller = isAnyone
    ? ""
    : principal === undefined
      ? " by an unknown caller"
      : ` by ${textOf(principal)}`;
  const session = sessionId === SOME_SESSION_ID ? "" : ` in the session ${JSON.stringify(sessionId)}`;
  const isPresent = Math.abs(at - Date.now()) < PRESENT_MS;
  const time = isPresent ? "" : ` at ${new Date(at).toISOString()}`;
  const accepted = decision.sandboxes ?? [decision.grant?.sandbox];
  const capabilities = Object.keys(decision.grant?.capabilities ?? {});
  const grant = `${accepted.join(" or ")}${capabilities.length === 0 ? "" : `, with ${capabilities.join(", ")}`}`;
  const outcome = decision.decision === "allow" ? "is allowed in" : "can run, once it is confirmed, in";
  const assuming = assumed.length === 0 ? "" : `, if what came before gives ${assumed.join(", ")}`;
  return `${tool} ${args}${caller}${session}${time} ${outcome} ${grant}${assuming}`;
}

function textOf(value: object): string {
  return canonicalText(value as JsonValue);
}
