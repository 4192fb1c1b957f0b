import type { CanonicalJson } from "../json/canonical.ts";
import type { JsonObject, JsonValue } from "../json/value.ts";
import { isSandboxMode, type SandboxMode } from "../tool/sandbox-mode.ts";
import type { SideEffects } from "../tool/side-effects.ts";
import type { ArgumentPath, ToolAccess } from "../tool/tool-traits.ts";
import type { CallHistory, TrackedFields } from "./call-history.ts";
import type { CapabilityName } from "./grant/capabilities.ts";
import {
  checkGrant,
  type ExecutionGrant,
  type GrantOptions,
  type TemplateSource,
} from "./grant/execution-grant.ts";
import type { LimitName } from "./grant/limits.ts";
import type { Principal } from "./principal.ts";

/**
 * Decides which calls may run, in which sandbox, and with which limits and capabilities.
 * `examples/custom-policy` shows how to implement it. If a policy throws, returns an invalid decision or
 * takes longer than the context's `decisionTimeoutMs`, the call is denied.
 */
export interface RuntimePolicy {
  /** Decides on a call, after its arguments have been validated and before anything runs. */
  check(request: PolicyRequest): PolicyDecision | Promise<PolicyDecision>;
  /**
   * Explains what `check` decides on the same call: which rules matched, and where the grant comes from. Default: the
   * policy explains nothing but its decision.
   */
  explain?(request: PolicyRequest): PolicyExplanation | Promise<PolicyExplanation>;
  /**
   * Returns whether some call of a tool by a principal could run, perhaps after a question. `false` is certain: such a tool need
   * not be listed. Must not throw. Default: it could.
   */
  mayAllow?(tool: PolicySubject, principal: Principal | undefined): boolean;
  /**
   * Identifies this version of the policy in events and the journal, such as a digest of its file. It is read
   * immediately before `check` is called: a policy whose rules can be replaced chooses them before `check`
   * returns, even if it returns a promise. Default: none.
   */
  readonly revision?: string | undefined;
  /**
   * The policy as data: the canonical JSON of the options of each `RulePolicy` or `CedarPolicy` that it joins. A journal
   * stores them by their digests, of which `revision` consists. Default: the policy is in code.
   */
  readonly sources?: readonly string[] | undefined;
  /** Where each of the `sources` was read; `undefined` for those that were made in code. Default: not known. */
  readonly places?: readonly (PolicyPlace | undefined)[] | undefined;
  /**
   * Whether decisions depend on {@link PolicyRequest.history}. A session records the history of its calls only then.
   * Default: `false`.
   */
  readonly usesHistory?: boolean | undefined;
  /**
   * The fields of results whose values `history.provenance` is asked about. A session remembers only those. Default:
   * none.
   */
  readonly trackedFields?: TrackedFields | undefined;
}

/** A call, as a policy sees it. Frozen. */
export interface PolicyRequest {
  readonly callId: string;
  readonly sessionId: string;
  /** The turn of the conversation; absent if the context does not say. */
  readonly turnId?: string | undefined;
  /** The caller; absent if the context does not name one. */
  readonly principal?: Principal | undefined;
  /** The validated arguments: the same object that the sandbox gets. Deeply frozen. */
  readonly input: JsonValue;
  /** The arguments as canonical JSON text, with its digest: the same bytes that the sandbox gets. */
  readonly canonical: CanonicalJson;
  readonly tool: PolicySubject;
  /** The absolute path of the session's workspace. Default: none. */
  readonly workspace?: string | undefined;
  /** Where the paths lead that the tool declares among its arguments. Default: it is not known, or there are none. */
  readonly paths?: readonly ArgumentPath[] | undefined;
  /**
   * Who confirmed the call: the policy is consulted once more after a person's answer. It can still deny the call;
   * `ask` stands for `allow` now. Default: the call was not confirmed.
   */
  readonly confirmedBy?: string | undefined;
  /** The time of the decision, for policies that depend on it. Default: that of their clock. */
  readonly time?: Pick<DecisionTime, "now"> | undefined;
  /** What came before the call. Only sessions set it, and only if the policy {@link RuntimePolicy.usesHistory}. */
  readonly history?: CallHistory | undefined;
}

/** The time of a decision. Once a policy reads it, it is recorded, so that the decision can be made again. */
export class DecisionTime {
  #at: number | undefined;

  /** Milliseconds since the epoch, the same each time. */
  get now(): number {
    this.#at ??= Date.now();
    return this.#at;
  }

  /** The same; `undefined` if no policy has read it. */
  get ifRead(): number | undefined {
    return this.#at;
  }
}

/** A tool, as a policy sees it. */
export interface PolicySubject {
  readonly name: string;
  /** The tool's most serious side effects, as declared at its registration. */
  readonly sideEffects: SideEffects;
  /** Labels of the tool, which rules can name. Default: none. */
  readonly tags?: readonly string[];
  /** The sandboxes in which the tool has an implementation. */
  readonly sandboxes: readonly SandboxMode[];
  /** Whether the tool, where it runs on the host, works on files that its grant gives it as `fs`. Default: it does not. */
  readonly usesFiles?: boolean;
  /**
   * The definition of the tool: everything that the model or a policy knows about it, and its implementations. The
   * digest is computed when it is first read.
   */
  readonly definition?: { readonly digest: string };
  /** What the tool says of the files and servers that its calls use. Absent if it says nothing. */
  readonly access?: ToolAccess;
  /** The JSON Schema of the tool's input. */
  readonly inputSchema: JsonObject;
  /** The JSON Schema of the tool's output. Absent if it declares none. */
  readonly outputSchema?: JsonObject;
}

/** Where the rules of a policy were read. */
export interface PolicyPlace {
  /** The path of the file, or the name that it was loaded under. */
  readonly file: string;
  /** The rules, with their lines from 1 on. */
  readonly rules: readonly { readonly name: string; readonly line: number }[];
  /** What the file requires of its rules, as it is written there. */
  readonly invariants: readonly JsonValue[];
}

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
type DenyOptions = Pick<DenyDecision, "rules" | "near" | "policyDecision">;

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

/**
 * Why a policy decides on a call as it does. It is plain JSON, the same for equal policies and calls. Like the texts of
 * a decision, it is for operators. It repeats no argument in its texts; capabilities of the grant can have some.
 */
export interface PolicyExplanation extends GrantOrigins {
  /** What `check` returns for the same request. */
  readonly decision: PolicyDecision;
  /**
   * The rules that name the tool, in the order of the policy, whether they matched or not. Joined policies follow each
   * other in their order. A policy without rules has none.
   */
  readonly rules: readonly ExplainedRule[];
}

/** Whether a rule matches a call, and why. */
export interface ExplainedRule {
  readonly name: string;
  readonly effect: "allow" | "deny" | "ask";
  /** If it is `"unclear"`, a rule that denies or asks applies, and one that allows only restricts what others grant. */
  readonly matched: "yes" | "no" | "unclear";
  /** Such as `not met: /path (glob)`. */
  readonly why: string;
}

/** The names of the rules from which the parts of a grant come. `default` is the default of a policy of rules. */
export interface GrantOrigins {
  /** The rule whose order of preference led to the sandbox. Absent if the decision grants nothing. */
  readonly sandbox?: string;
  /** For each limit of the grant, the first rule that sets its value. */
  readonly limits: { readonly [Name in LimitName]?: string };
  /** For each capability of the grant, the rules that grant it, all of them. */
  readonly capabilities: { readonly [Name in CapabilityName]?: readonly string[] };
  /**
   * For each capability that some of the applied rules grant and the call does not get: the rules that do not grant it.
   * None if all of them do, but nothing in common.
   */
  readonly withheld: { readonly [Name in CapabilityName]?: readonly string[] };
}

/** The origins of a decision that grants nothing. */
export const NO_ORIGINS: GrantOrigins = Object.freeze({
  limits: Object.freeze({}),
  capabilities: Object.freeze({}),
  withheld: Object.freeze({}),
});

const ON_THE_HOST = allow({ sandbox: "host" });

/**
 * Allows every call to run on the host, without limits. Use it for tools that you wrote and trust. Calls of a
 * tool without a host implementation fail with `sandbox_unavailable`.
 */
export class HostPolicy implements RuntimePolicy {
  check(): PolicyDecision {
    return ON_THE_HOST;
  }

  explain(): PolicyExplanation {
    return { decision: ON_THE_HOST, rules: [], ...NO_ORIGINS };
  }
}
