import { canonicalText } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import type { Proof, ProofFailure, Witness } from "./proof.ts";
import { SOME_SESSION_ID, SOMEONE_ID } from "./witness/sketch-calls.ts";

const MAX_SHOWN_TOOLS = 5;
const MAX_INPUT_LENGTH = 200;
/** A witness this close to the present is one at any time. */
const PRESENT_MS = 60_000;

/**
 * Describes what rules do to an invariant, for operators, in one line. It has texts of the tools' schemas, which may
 * come from elsewhere.
 *
 * @param subject Stands for the first of the rules, such as `this rule`.
 */
export function describeFailure({ name }: Proof, failure: ProofFailure, subject: string): string {
  const others = failure.rules.slice(1).map((rule) => `'${rule}'`);
  const rules = others.length === 0 ? subject : `${subject}, together with ${others.join(", ")},`;
  if (failure.witness !== undefined) return `${rules} breaks '${name}': ${describeWitness(failure.witness)}`;
  const tools = failure.tools.slice(0, MAX_SHOWN_TOOLS).map((tool) => `'${tool}'`);
  if (failure.tools.length > tools.length) tools.push("others");
  return (
    `whether ${rules} breaks '${name}' could not be decided: no call of ${tools.join(", ")} was found that does. ` +
    "Conditions are not compared with each other: change what the rule grants, or deny without conditions"
  );
}

/** Describes a call and what was decided on it. */
export function describeWitness({ tool, input, principal, sessionId, at, decision }: Witness): string {
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
  return `${tool} ${args}${caller}${session}${time} ${outcome} ${grant}`;
}

function textOf(value: object): string {
  return canonicalText(value as JsonValue);
}
