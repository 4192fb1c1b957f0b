import { isSandboxMode, type SandboxMode } from "../tool/sandbox-mode.ts";
import { checkGrant, type ExecutionGrant, type GrantOptions } from "./grant/execution-grant.ts";
import type { TemplateSource } from "./grant/grant-template.ts";

/**
 * The decision of a policy. `deny` is stricter than `ask`, and `ask` than `allow`. Texts, names of rules and near
 * misses are for operators: they appear in events, and the model never sees them.
 */
export type PolicyDecision = AllowDecision | AskDecision | DenyDecision;

/** What decisions of every kind can say. */
export interface DecisionBasis {
  /** The names of the rules that led to the decision. Default: none. */
  readonly rules?: readonly string[];
  /**
   * What the policy decided, if something over it, such as the mode of a session, made it another decision. Default:
   * nothing did.
   */
  readonly policyDecision?: "allow" | "ask";
}

/** The call may run under the grant. */
export interface AllowDecision extends DecisionBasis {
  readonly decision: "allow";
  readonly grant: ExecutionGrant;
  /**
   * Every sandbox that the policy accepts for this call, best first, all with the limits and capabilities of the
   * grant. Another policy or an upper bound can choose among them. Default: only that of the grant.
   */
  readonly sandboxes?: readonly SandboxMode[];
}

/** A person must confirm the call. It is denied if no approver is available. */
export interface AskDecision extends DecisionBasis {
  readonly decision: "ask";
  /** What the person is asked. */
  readonly question: string;
  /** The grant under which a confirmed call runs. Without it, the call is denied, whatever the person says. */
  readonly grant?: ExecutionGrant;
  /** Like {@link AllowDecision.sandboxes}. */
  readonly sandboxes?: readonly SandboxMode[];
  /** Whether an earlier approval in the same session can answer. Default: each call is asked about. */
  readonly remember?: "session";
}

/** The call must not run. */
export interface DenyDecision extends DecisionBasis {
  readonly decision: "deny";
  readonly reason: string;
  /** If no rule matched the call: the rules that would have allowed it, and what they missed. Default: none. */
  readonly near?: readonly NearMiss[];
}

/** A rule that would have allowed a call, but for one thing. */
export interface NearMiss {
  readonly rule: string;
  /** Such as `/path is not matched by glob`. It repeats no argument. */
  readonly missed: string;
}

/** The options of {@link allow}. */
export interface AllowOptions extends DecisionBasis {
  /** Default: only the sandbox of the grant. */
  readonly sandboxes?: readonly SandboxMode[];
  /**
   * The request that the policy decides on. Fills in the capabilities of the grant that depend on the call: the workspace,
   * and files and origins out of arguments. Default: none of them does.
   */
  readonly request?: TemplateSource;
}

/** The options of {@link ask}. */
export interface AskOptions extends AllowOptions {
  /** The grant under which a confirmed call runs. Default: none, so the call is denied. */
  readonly grant?: GrantOptions;
  /** Whether an earlier approval in the same session can answer. Default: each call is asked about. */
  readonly remember?: "session";
}

/** The options of {@link deny}. */
export type DenyOptions = Pick<DenyDecision, "rules" | "near" | "policyDecision">;

/** Decisions that this module checked and froze, and that therefore need no further check. */
const checkedDecisions = new WeakSet<object>();

/**
 * Returns the decision to run a call, frozen.
 *
 * @throws {TypeError} if the sandbox, a limit or a capability is unknown or invalid.
 * @throws {Error} if the request does not have what the capabilities depend on, or it is ambiguous. A policy that throws
 *   denies the call.
 */
export function allow(grant: GrantOptions, options: AllowOptions = {}): AllowDecision {
  const checked = checkGrant(grant, options.request);
  return freeze({ decision: "allow", grant: checked, ...optional(options, checked) });
}

/** Returns the decision to deny a call, frozen. The reason appears in events; the model never sees it. */
export function deny(reason: string, { near, ...options }: DenyOptions = {}): DenyDecision {
  const misses = near?.map(({ rule, missed }) => Object.freeze({ rule, missed }));
  return freeze({
    decision: "deny",
    reason,
    ...optional({ rules: options.rules, policyDecision: options.policyDecision }),
    ...(misses && { near: Object.freeze(misses) }),
  });
}

/**
 * Returns the decision to have a person confirm a call first, frozen.
 *
 * @throws {Error} as in {@link allow}.
 */
export function ask(question: string, options: AskOptions = {}): AskDecision {
  const { grant, rules, sandboxes, remember, policyDecision, request } = options;
  if (remember !== undefined && remember !== "session") throw new TypeError("remember must be 'session'");
  const checked = grant && checkGrant(grant, request);
  return freeze({
    decision: "ask",
    question,
    ...(checked && { grant: checked }),
    ...optional({ rules, sandboxes: checked && sandboxes, policyDecision }, checked),
    ...(remember && { remember }),
  });
}

/**
 * Checks a decision of any policy, and returns a frozen copy. One that {@link allow}, {@link deny} or {@link ask}
 * returned is returned unchanged.
 *
 * @throws {TypeError} if it is not a valid decision.
 */
export function checkDecision(decision: PolicyDecision): PolicyDecision {
  if (checkedDecisions.has(decision)) return decision;
  switch (decision?.decision) {
    case "allow":
      return allow(decision.grant, membersOf(decision));
    case "ask":
      return ask(decision.question, membersOf(decision));
    case "deny":
      return deny(decision.reason, decision);
    default:
      throw new TypeError("the policy returned an invalid decision");
  }
}

/** The grant of a decision is completed; other members of a decision are ignored. */
function membersOf<Decision extends AllowDecision | AskDecision>(decision: Decision): Decision {
  return "request" in decision ? { ...decision, request: undefined } : decision;
}

function freeze<Decision extends PolicyDecision>(decision: Decision): Decision {
  checkedDecisions.add(Object.freeze(decision));
  return decision;
}

/** Copies the members that are set. */
function optional(
  {
    rules,
    sandboxes,
    policyDecision,
  }: { readonly [Name in keyof AllowOptions]: AllowOptions[Name] | undefined },
  grant?: ExecutionGrant,
): Omit<AllowOptions, "request"> {
  if (sandboxes !== undefined && sandboxes.length > 0) {
    if (!sandboxes.every(isSandboxMode)) throw new TypeError("a decision must have valid sandbox modes");
    if (grant?.isolation !== undefined && sandboxes.length > 1)
      throw new TypeError("a grant that requires an isolation cannot accept another sandbox");
    if (sandboxes[0] !== grant?.sandbox) throw new TypeError("the first sandbox must be that of the grant");
  }
  return {
    ...(rules && { rules: Object.freeze(rules.map(String)) }),
    ...((policyDecision === "allow" || policyDecision === "ask") && { policyDecision }),
    ...(sandboxes && sandboxes.length > 1 && { sandboxes: Object.freeze([...sandboxes]) }),
  };
}
