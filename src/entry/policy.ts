// Decisions

export type {
  CallHistory,
  CallLedger,
  LedgerQuery,
  ValueProvenance,
  ValueSource,
} from "../policy/call-history.ts";
export type {
  AllowDecision,
  AskDecision,
  DecisionBasis,
  DenyDecision,
  ExplainedRule,
  GrantOrigins,
  NearMiss,
  PolicyExplanation,
} from "../policy/policy.ts";
export type { HistoryCondition } from "../policy/rule/rule.ts";
export type { PolicyDifference } from "../policy/shadow-policy.ts";

// Grants

export type { DirectoryGrant, FileGrant, FsGrant } from "../policy/grant/fs-grant.ts";
export type { NetGrant } from "../policy/grant/net-grant.ts";

// Rules and policy files

export type { RuleCapabilities } from "../policy/grant/execution-grant.ts";
export type {
  AllowRule,
  AskRule,
  DenyRule,
  RuleCondition,
  RuleExample,
  UntrustedResult,
} from "../policy/rule/rule.ts";

// Changes that would allow a call

export type { PolicySuggestion, SuggestedChange } from "../policy/remedy/suggest-change.ts";
export { type SuggestionOptions, suggestChange } from "../policy/remedy/suggest-change.ts";

// Invariants

export type { Invariant, Proof, ProofFailure, Witness } from "../policy/proof/invariant.ts";
export { proveInvariants } from "../policy/proof/prove.ts";
