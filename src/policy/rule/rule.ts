import type { JsonValue } from "../../json/value.ts";
import type { Principal } from "../../tool/principal.ts";
import type { SandboxMode } from "../../tool/sandbox-mode.ts";
import type { SideEffects } from "../../tool/side-effects.ts";
import type { RowField, ToolField, ValueReference, ValueSource } from "../call-history.ts";
import type { RequiredIsolation, RuleCapabilities } from "../grant/execution-grant.ts";
import type { ResourceLimits } from "../grant/limits.ts";

/**
 * A condition on earlier calls, with exactly one of `count`, `sum` and `after`. It is unclear without a session, and when
 * the session does not know all calls of the window: see `RulePolicy` for what a rule does then.
 */
export type HistoryCondition = CountCondition | SumCondition | AfterCondition;

/** How far a condition looks back: `within` a time, or `in` the turn or the session. Exactly one of them must be set. */
interface HistoryWindow {
  /** A duration such as `15m`, `24h`, or a number of milliseconds. */
  readonly within?: string | number;
  readonly in?: "turn" | "session";
  /**
   * Whose calls: those of the session, or those of all sessions of its principal. The latter requires `within`, and is
   * unclear if the session has no principal. Default: `"session"`.
   */
  readonly by?: "session" | "principal";
}

/** Counts earlier calls. Exactly one of the bounds must be set. */
export interface CountCondition extends HistoryWindow {
  /** Patterns of the tools whose calls count, like those of `tools`. */
  readonly count: readonly string[];
  /**
   * There were fewer calls than this, without the call that is decided on: at most this many calls get
   * through.
   */
  readonly lessThan?: number | ValueReference;
  /** There were at least this many calls, without the call that is decided on. */
  readonly atLeast?: number | ValueReference;
}

/**
 * Adds the amounts of earlier calls, and that of the call itself if it is one of these tools. Exactly one of the bounds
 * must be set, with at most 12 decimals. It is unclear if an amount, or a bound that is a reference, is not a number from 0 to
 * 2^53 - 1.
 */
export interface SumCondition extends HistoryWindow {
  /** The JSON pointer (RFC 6901) to the amount in the arguments. It has at most 100 characters. */
  readonly sum: `/${string}`;
  /** Patterns of the tools whose calls have the amount. */
  readonly of: readonly string[];
  readonly atMost?: number | ValueReference;
  readonly moreThan?: number | ValueReference;
}

/** Requires an earlier call that succeeded. */
export interface AfterCondition extends HistoryWindow {
  /** Patterns of the tools, one of which was called. */
  readonly after: readonly string[];
  /** A person must have confirmed that call itself: a remembered approval does not count. Default: no confirmation is required. */
  readonly approved?: true;
}

/** Allows or denies the calls that it matches, or has a person confirm them. */
export type PolicyRule = AllowRule | DenyRule | AskRule;

/** The calls that a rule matches: those that meet every member that is set. It must set `tools` or `tags`. */
export interface RuleMatch {
  /** A unique name, which appears in decisions for operators. Default: `rule 3` for the third rule. */
  readonly name?: string;
  /**
   * Names of tools, in which `*` matches any number of characters and `\*` is a star. One of them must match.
   */
  readonly tools?: readonly string[];
  /** The tool must have one of these tags. */
  readonly tags?: readonly string[];
  /** The tool's side effects must be one of these. */
  readonly sideEffects?: readonly SideEffects[];
  /**
   * Patterns like those of `tools`. One of them must match the principal's id. Whether a rule with principals or
   * roles matches a call without a principal is unclear.
   */
  readonly principals?: readonly string[];
  /** The principal must have one of these roles. */
  readonly roles?: readonly string[];
  /**
   * The user's words in this turn must have a part that this regular expression matches (ECMAScript, linear time),
   * in upper or lower case. Whether they do is unclear if they are not known.
   */
  readonly asked?: string;
  /** JSON pointers to arguments that must be missing, `null` or empty. */
  readonly absent?: readonly string[];
  /** Conditions on arguments, the principal and the session. All must be met. */
  readonly when?: RuleConditions;
  /** Conditions on earlier calls of the session or its principal. All must be met. */
  readonly history?: readonly HistoryCondition[];
  /**
   * The end of the rule: from then on, the policy decides as if it did not have the rule. A date, which means its
   * beginning in UTC, or a date and time with its zone (ISO 8601): `2026-12-31`, `2026-12-31T18:00:00+01:00`.
   */
  readonly until?: string;
  /** When the rule matches. Default: always. */
  readonly during?: TimeWindow;
  /** Calls for which it is checked, when the policy is loaded, whether the rule applies to them. Default: none. */
  readonly examples?: RuleExamples;
  /** The person or team responsible for the rule. It has no effect. */
  readonly owner?: string;
  /** Why the rule exists. It is part of the reason of a denial. */
  readonly reason?: string;
}

/** A part of the week. At least one of `days` and `hours` must be set. */
export interface TimeWindow {
  /** Days of the week in the zone. Default: all. */
  readonly days?: readonly ("mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun")[];
  /**
   * Hours of the day such as `09:00-17:30`, without the end itself. Hours that end before they begin are those after the beginning
   * and those before the end of the same day. Default: all.
   */
  readonly hours?: readonly string[];
  /** The name of a time zone, such as `Europe/Zurich`. */
  readonly zone: string;
}

/**
 * Calls of the rule's tools. If it is unclear whether the rule matches a call, it applies to it if it denies or asks, and
 * does not if it allows.
 */
export interface RuleExamples {
  /** Calls to which the rule applies. Default: none. */
  readonly match?: readonly RuleExample[];
  /** Calls to which it does not. Default: none. */
  readonly noMatch?: readonly RuleExample[];
}

/** A call, as far as the conditions of a rule depend on it. */
export interface RuleExample {
  readonly arguments: JsonValue;
  /** Default: the caller is not known. */
  readonly principal?: Principal;
}

/** Allows calls. If several such rules match, the grant stays within all of them. */
export interface AllowRule extends RuleMatch, AllowedUse {
  readonly effect: "allow";
}

/** Denies calls, even if other rules allow them. */
export interface DenyRule extends RuleMatch {
  readonly effect: "deny";
}

/**
 * Requires that a person confirms calls, unless another rule denies them. A confirmed call gets what the matching
 * `allow` rules grant. A rule with `sandboxes` grants in the same way as an `allow` rule.
 */
export interface AskRule extends RuleMatch, Partial<AllowedUse> {
  readonly effect: "ask";
  /** What the person is asked. Default: that the rule requires confirmation. */
  readonly question?: string;
  /** Whether an earlier approval in the same session can answer. Default: each call is asked about. */
  readonly remember?: "session";
}

/** The sandboxes, limits and capabilities for calls that are allowed. */
export interface AllowedUse {
  /** Accepted sandboxes, in order of preference. The first in which the tool can run is used. */
  readonly sandboxes: readonly SandboxMode[];
  /** What must confine a program; only with the sandbox `process`, and no other. Default: any of its ways. */
  readonly isolation?: RequiredIsolation;
  /** Default: those of the sandbox. */
  readonly limits?: ResourceLimits;
  /** Default: none. */
  readonly capabilities?: RuleCapabilities;
}

/**
 * Conditions by key. A key is a JSON pointer (RFC 6901) to an argument (`/path`), or one into the principal
 * (`principal/attributes/team`) or the session (`session/id`). `*` as a step stands for every element of a list
 * (`/paths/*`), and `\*` for a member of that name. All conditions must be met.
 */
export interface RuleConditions {
  readonly [argument: `/${string}`]: RuleCondition;
  readonly [attribute: `principal/${string}`]: RuleCondition;
  readonly [attribute: `session/${string}`]: RuleCondition;
  /** A condition on the whole input. */
  readonly ""?: RuleCondition;
  /** Further conditions, all of which must be met. */
  readonly all?: readonly RuleConditions[];
  /** Further conditions, one of which must be met. */
  readonly any?: readonly RuleConditions[];
}

/**
 * A condition on one value, with exactly one of these members. If a condition cannot be decided, because the value
 * has another type or is ambiguous, the stricter decision applies: see `RulePolicy`.
 */
export type RuleCondition =
  | ConstantCondition
  | ReferringCondition
  | { /** The value does not meet this condition. */ readonly not: RuleCondition }
  | { /** The value meets all of these conditions. */ readonly all: readonly RuleCondition[] }
  | { /** The value meets one of these conditions. */ readonly any: readonly RuleCondition[] };

/** A condition on one value that neither has others as parts nor refers to other values of the call. */
export type ConstantCondition =
  | { /** The value equals this JSON value. */ readonly equals: JsonValue }
  | { /** The value equals one of these JSON values. */ readonly oneOf: readonly JsonValue[] }
  | {
      /** The value is a path that one of these globs matches: see `compileGlob`. */ readonly glob:
        | string
        | readonly string[];
    }
  | { /** The value is a string that starts with this one. */ readonly prefix: string }
  | {
      /** The value is a string in which this regular expression (ECMAScript, linear time) matches a part. */
      readonly regex: string;
    }
  | {
      /** The value is a number in this range. */ readonly range: NumberRange;
    }
  | {
      /**
       * The value is a text or number that came whole from one of these sources, or a list of such values. It does not
       * match if it came from elsewhere, and is unclear outside of a session, and if a reference of a `RowField` is unset.
       */
      readonly from: readonly ValueSource[] | RowField;
    }
  | {
      /** Each link, address and account number in the value came from one of these sources: see `referencesIn`. */
      readonly links: LinkOrigins;
    }
  | {
      /** No text of the value contains a value that one of these fields had in an earlier result of the session. */
      readonly without: readonly ToolField[];
    };

/**
 * A condition that compares a value with other values of the call. It is unclear, whatever the value is, if one of them is
 * unset or `null`, or has another type than the condition requires: for `equals` and `oneOf`, that of the value.
 */
export type ReferringCondition =
  | { readonly equals: ValueReference }
  | {
      /** A reference in place of the list is one to a list. */
      readonly oneOf: ValueReference | readonly (JsonValue | ValueReference)[];
    }
  | { readonly glob: GlobSegments | readonly (string | GlobSegments)[] }
  | { readonly prefix: ValueReference }
  | { readonly range: { readonly min?: number | ValueReference; readonly max?: number | ValueReference } };

/**
 * A glob with values of the call as segments, which are joined with `/`. Each value must be one name: a text without `/` and
 * the characters of globs.
 */
export interface GlobSegments {
  readonly segments: readonly (string | ValueReference)[];
}

/** Where links, addresses and account numbers in a text may come from. */
export interface LinkOrigins {
  readonly from: readonly Exclude<ValueSource, RowField>[];
}

/** Inclusive bounds of a number. At least one must be set. */
export interface NumberRange {
  readonly min?: number;
  readonly max?: number;
}

/** The options of a `RulePolicy`. */
export interface RulePolicyOptions {
  readonly rules: readonly PolicyRule[];
  /** Applies to calls that no rule allows, denies or asks about. Default: `"deny"`. */
  readonly default?: "deny" | DefaultUse;
  /**
   * Results that outsiders can write, wholly or in some fields. A rule that has values come from them is invalid.
   * Default: none.
   */
  readonly untrusted?: readonly UntrustedResult[];
}

/** What calls get that no rule allows, denies or asks about. */
export interface DefaultUse extends AllowedUse {
  /** Whether a person must confirm them. Default: `"allow"`. */
  readonly effect?: "allow" | "ask";
}

/** A result that outsiders can write. */
export interface UntrustedResult {
  readonly tool: string;
  /** Pointers like `ToolField.field`. Default: the whole output. */
  readonly fields?: readonly string[];
}

/** The sandboxes, limits and capabilities that a rule grants; `undefined` if it grants none. */
export function usedBy(rule: PolicyRule): AllowedUse | undefined {
  return rule.effect !== "deny" && rule.sandboxes !== undefined ? (rule as AllowedUse) : undefined;
}

/** Whether a rule can match one call of a tool and not another. */
export function isConditional(rule: RuleMatch): boolean {
  const { principals, roles, asked, absent, when = {}, history, until, during } = rule;
  return (
    [principals, roles, asked, absent, history, until, during].some((part) => part !== undefined) ||
    Object.keys(when).length > 0
  );
}
