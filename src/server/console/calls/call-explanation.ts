import { basename } from "node:path";
import type { PolicyExplanation } from "../../../policy/explanation.ts";
import type { RuntimePolicy } from "../../../policy/policy.ts";
import type { Redaction } from "../../../redaction/redaction.ts";
import type { CallRecord } from "./call-record.ts";
import { missedInWords } from "./missed-words.ts";

/** Why a policy decided on a call as it did. */
export interface CallExplanation {
  readonly decision: "allow" | "ask" | "deny";
  /** Why the call is denied, or what a person is asked. */
  readonly reason?: string;
  /** The rules that led to the decision. */
  readonly rules: readonly {
    readonly name: string;
    readonly matched: true;
    readonly because: readonly string[];
    /** The name of the file that has the rule, and the line; absent if the rule was made in code. */
    readonly file?: string;
    readonly line?: number;
  }[];
  /** The rules that would have allowed a denied call. */
  readonly near: readonly { readonly rule: string; readonly missed: readonly string[] }[];
  /** What the call was granted, as JSON text. */
  readonly grant?: string;
  readonly policyRevision?: string;
}

/**
 * Explains the decision on a call: by the policy that decided, if it decides the same again. It may not if it depends on what
 * came before the call, or on the time.
 *
 * @param redaction Hides secrets in the arguments that near misses name.
 */
export async function explainCall(
  { decision: recorded, decided }: CallRecord,
  redaction: Redaction,
): Promise<CallExplanation | undefined> {
  if (recorded === undefined) return undefined;
  const { decision, reason, near = [], policyRevision } = recorded;
  let explained: PolicyExplanation | undefined;
  try {
    explained = await decided?.policy.explain?.(decided.request);
  } catch {
    // A policy that cannot explain itself still has decided.
  }
  if (explained?.decision.decision !== decision) explained = undefined;
  const again = explained?.decision;
  const grant = again !== undefined && again.decision !== "deny" ? again.grant : undefined;
  const input = decided && redaction.json(decided.request.input);
  const say = (missed: string, rule: string): string =>
    decided === undefined || input === undefined
      ? missed
      : missedInWords(missed, rule, decided.policy, input);
  const because = (name: string): readonly string[] =>
    (explained?.rules ?? []).flatMap((rule) =>
      rule.name === name && rule.matched !== "no" ? [rule.why] : [],
    );
  return {
    decision,
    ...(reason !== undefined && { reason }),
    rules: recorded.rules.map((name) => ({
      ...{ name, matched: true, because: because(name) },
      ...placeOf(name, decided?.policy),
    })),
    near: near.map(({ rule, missed }) => ({
      rule,
      missed: missed.split("; ").map((each) => say(each, rule)),
    })),
    ...(grant && { grant: JSON.stringify(grant) }),
    ...(policyRevision !== undefined && { policyRevision }),
  };
}

/** Finds a rule by its name, which only the rules of one file have to differ in. */
function placeOf(name: string, policy: RuntimePolicy | undefined): { file?: string; line?: number } {
  const found = (policy?.places ?? []).flatMap((place) =>
    (place?.rules ?? []).flatMap((rule) =>
      rule.name === name ? [{ file: basename(place?.file ?? ""), line: rule.line }] : [],
    ),
  );
  const [only, ...others] = found;
  return others.length === 0 && only !== undefined ? only : {};
}
