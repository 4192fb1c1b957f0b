import type { SandboxMode } from "../tool/sandbox-mode.ts";
import { type ExecutionGrant, permitsNoMore } from "./grant/execution-grant.ts";
import type { PolicyDecision } from "./policy.ts";

/** How one decision on a call differs from an earlier one. */
export type DecisionChange =
  | "deny → allow"
  | "deny → ask"
  | "ask → allow"
  | "wider grant"
  | "remembers approvals"
  | "allow → deny"
  | "ask → deny"
  | "allow → ask"
  | "narrower grant"
  | "asks each time"
  | "another question"
  | "other alternatives";

/** Whether each change permits something that was not permitted before, or less. Those that permit more come first. */
export const DECISION_CHANGES: Readonly<Record<DecisionChange, "wider" | "narrower" | "neither">> =
  Object.freeze({
    "deny → allow": "wider",
    "deny → ask": "wider",
    "ask → allow": "wider",
    "wider grant": "wider",
    "remembers approvals": "wider",
    "allow → deny": "narrower",
    "ask → deny": "narrower",
    "allow → ask": "narrower",
    "narrower grant": "narrower",
    "asks each time": "narrower",
    "another question": "neither",
    "other alternatives": "neither",
  });

/** Returns whether changes permit more, or less; `"other"` for changes that do both, or neither. */
export function directionOf(changes: readonly DecisionChange[]): "wider" | "narrower" | "other" {
  const directions = changes.map((change) => DECISION_CHANGES[change]);
  const isWider = directions.includes("wider");
  if (isWider === directions.includes("narrower")) return "other";
  return isWider ? "wider" : "narrower";
}

/**
 * Returns how a decision differs from an earlier one; nothing if it permits the same. A grant in another sandbox counts
 * as wider, unless the call ran on the host before, and so does one more that is accepted in its place. Rules, and the
 * reasons of denials, are not compared. A question without a grant counts as a denial, which it amounts to.
 *
 * @param before A checked decision, as `after`.
 */
export function compareDecisions(before: PolicyDecision, after: PolicyDecision): readonly DecisionChange[] {
  if (before === after) return [];
  const [old, now] = [grantOf(before), grantOf(after)];
  if (old === undefined && now === undefined) return [];
  if (old === undefined) return [after.decision === "ask" ? "deny → ask" : "deny → allow"];
  if (now === undefined) return [before.decision === "ask" ? "ask → deny" : "allow → deny"];
  const changes: DecisionChange[] = [];
  if (before.decision === "ask" && after.decision === "allow") changes.push("ask → allow");
  if (before.decision === "allow" && after.decision === "ask") changes.push("allow → ask");
  if (before.decision === "ask" && after.decision === "ask") {
    if (before.question !== after.question) changes.push("another question");
    if (before.remember !== after.remember) {
      changes.push(after.remember === undefined ? "asks each time" : "remembers approvals");
    }
  }
  const isSameSandbox = now.sandbox === old.sandbox;
  const isMoved = (from: ExecutionGrant): boolean => !isSameSandbox && from.sandbox !== "host";
  if (isMoved(old) || acceptsMore(after, before) || !permitsNoMore(now, old)) changes.push("wider grant");
  if (isMoved(now) || acceptsMore(before, after) || !permitsNoMore(old, now)) changes.push("narrower grant");
  if (isSameSandbox && changes.length === 0 && !isSameList(acceptedBy(before), acceptedBy(after))) {
    changes.push("other alternatives");
  }
  return changes;
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((item, index) => item === other[index]);
}

/** Whether a decision accepts a sandbox, in the place of the one that it prefers, that another decision does not. */
function acceptsMore(one: PolicyDecision, other: PolicyDecision): boolean {
  const accepted = acceptedBy(other);
  return (
    !accepted.includes("host") && acceptedBy(one).some((mode, place) => place > 0 && !accepted.includes(mode))
  );
}

function acceptedBy(decision: PolicyDecision): readonly SandboxMode[] {
  const { sandboxes, grant } = decision.decision === "deny" ? {} : decision;
  return sandboxes ?? (grant === undefined ? [] : [grant.sandbox]);
}

function grantOf(decision: PolicyDecision): ExecutionGrant | undefined {
  return decision.decision === "deny" ? undefined : decision.grant;
}
