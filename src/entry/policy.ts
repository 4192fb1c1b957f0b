// Decisions

export type {
  AllowDecision,
  AskDecision,
  DecisionBasis,
  DenyDecision,
  NearMiss,
} from "../policy/decision.ts";
export type { ExplainedRule, GrantOrigins, PolicyExplanation } from "../policy/explanation.ts";
export type { CallHistory } from "../policy/history/call-history.ts";
export type { CallLedger, LedgerQuery } from "../policy/history/call-ledger.ts";
export type { HistoryCondition } from "../policy/history/history-condition.ts";
export type { ValueProvenance, ValueSource } from "../policy/history/value-provenance.ts";
export type { PolicyDifference } from "../policy/shadow-policy.ts";

// Grants

export type { DirectoryGrant } from "../policy/grant/directory-grant.ts";
export type { FileGrant } from "../policy/grant/file-grant.ts";
export type { FsGrant } from "../policy/grant/fs-grant.ts";
export type { NetGrant } from "../policy/grant/net-grant.ts";

// Rules and policy files

export type { RuleCapabilities } from "../policy/grant/grant-template.ts";
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

export type { Invariant } from "../policy/proof/invariant.ts";
export type { Proof, ProofFailure, Witness } from "../policy/proof/proof.ts";
export { proveInvariants } from "../policy/proof/prove-invariants.ts";
