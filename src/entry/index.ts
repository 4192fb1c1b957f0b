// Dispatching

export { type GuardedFile, guardFiles } from "../base/guarded-files.ts";
export { type CallToolContext, type CallToolOptions, callTool } from "../direct/call-tool.ts";
export type { ResultBudget } from "../engine/bounds/result-budget.ts";
export type { ClassTimeouts } from "../engine/bounds/timeouts.ts";
export type { UpperBound } from "../engine/bounds/upper-bound.ts";
export type { ToolCall } from "../engine/call/call.ts";
export type {
  Confirm,
  Confirmation,
  ConfirmationAnswer,
  ConfirmationRequest,
} from "../engine/call/confirmation.ts";
export type { DispatchContext } from "../engine/call/context.ts";
export type { ExecutionReceipt, ToolExecution } from "../engine/call/execution.ts";
export type { Holding } from "../engine/call/holding.ts";
export {
  type AssistantMessage,
  type ToolMessage,
  type ToolResult,
  toToolResult,
} from "../engine/call/messages.ts";
export type { AnsweredQuestion, AskUser, QuestionReply, QuestionRequest } from "../engine/call/question.ts";
export type { DispatchAllOptions } from "../engine/dispatch-all.ts";
export type { DispatchableTurn, DispatchTurnOptions } from "../engine/dispatch-turn.ts";
export { ToolDispatchEngine } from "../engine/engine.ts";
export { ERROR_CODES, type ErrorCode, type ToolError } from "../engine/failure/errors.ts";
export type { GrantedFiles, HeldFiles, HoldChanges } from "../sandboxes/contract/held-changes.ts";
export type { ContentBlock, ContentOutput, ImageBlock, TextBlock } from "../tool/content.ts";
export { failure, success } from "../tool/reported-result.ts";

// Records

export type {
  CallJournal,
  CallRecord,
  DecidedRecord,
  DeniedRecord,
  DispatchedRecord,
  EndedRecord,
  RecordedCall,
  SessionCall,
} from "../engine/call/journal.ts";

// Traces

export type { TraceHeaders } from "../base/trace-headers.ts";
export type {
  CallTrace,
  CallTracer,
  TracedCall,
  TracedDecision,
  TracedEnd,
} from "../engine/call/trace.ts";

// Hooks

export type { AgentHooks, CallVerdict, StartVerdict, ToolStart } from "../engine/call/hooks.ts";

// Events

export {
  type CallAsked,
  type ConfirmationRequested,
  type ConfirmationResolved,
  type DispatchEvent,
  type DispatchEventBase,
  type DispatchEventBody,
  type DispatchEventListener,
  EventStream,
  type QuestionAsked,
} from "../engine/call/events.ts";
export type { LogLevel } from "../tool/log-level.ts";

// Tools and their registry

export type { DefinitionPins } from "../engine/definition-pins.ts";
export { type ToolDefinition, toToolDefinition } from "../engine/registered-tool.ts";
export { ToolRegistry, type ValidatedArguments } from "../engine/registry.ts";
export { DuplicateToolError, ToolNotFoundError, ToolRegistrationError } from "../engine/registry-errors.ts";
export type { ToolRegistryOptions } from "../engine/registry-options.ts";
export { defineTool, type FreeformToolDeclaration, type Tool, type ToolDeclaration } from "../engine/tool.ts";
export type { ArgumentRules } from "../schema/argument-rules.ts";
export { FileFailure, WorkspaceEscapeError } from "../tool/file-failure.ts";
export type { SandboxedTool, ToolImplementations } from "../tool/implementations/implementations.ts";
export type { SideEffects } from "../tool/side-effects.ts";
export type { AgentInfo, CallingAgent, FsMode, KernelChecks } from "../tool/supervised-agent.ts";
export { ToolFailure, type ToolFailureCode, type ToolFailureOptions } from "../tool/tool-failure.ts";
export type {
  ArgumentPath,
  PathArgument,
  SessionInfo,
  ToolAccess,
  ToolTraits,
  UrlArgument,
} from "../tool/tool-traits.ts";
export type { FileEntry, FileKind, FileStat, WorkspaceFiles } from "../tool/workspace-files.ts";

// Implementations: host functions and worker threads

export type { Display } from "../tool/display.ts";
export type {
  HostContext,
  HostFactory,
  HostFunction,
  HostImplementation,
  HostInstance,
  HostLogger,
  HostModule,
  HostModuleContext,
  HostModuleFunction,
} from "../tool/implementations/host-implementation.ts";
export type { Ask, Question, QuestionAnswer } from "../tool/questions/question.ts";

// Implementations: QuickJS, Wasm, programs and remote

export type { MicrovmOptions } from "../sandboxes/microvm/open-microvm.ts";
export type { MicrovmImplementation } from "../tool/implementations/microvm-implementation.ts";
export type {
  ArgumentReference,
  KeptShell,
  ProcessImplementation,
  ProgramCompletion,
} from "../tool/implementations/process-implementation.ts";
export type {
  QuickJsFile,
  QuickJsImplementation,
  QuickJsSource,
} from "../tool/implementations/quickjs-implementation.ts";
export type {
  EndpointImplementation,
  ExecutorImplementation,
  HttpImplementation,
  HttpResponseRules,
  RemoteImplementation,
  WebImplementation,
} from "../tool/implementations/remote-implementation.ts";
export type { WasmImplementation } from "../tool/implementations/wasm-implementation.ts";
export type { ProgramContext } from "../tool/program-context.ts";

// Policies

export type { DecisionChange } from "../policy/compare-decisions.ts";
export {
  type AllowDecision,
  type AllowOptions,
  type AskDecision,
  type AskOptions,
  allow,
  ask,
  type DecisionBasis,
  type DenyDecision,
  type DenyOptions,
  deny,
  type NearMiss,
  type PolicyDecision,
} from "../policy/decision.ts";
export { DefaultPolicy, type DefaultPolicyOptions, type DefaultRule } from "../policy/default-policy.ts";
export type { ExplainedRule, GrantOrigins, PolicyExplanation } from "../policy/explanation.ts";
export type { CallHistory } from "../policy/history/call-history.ts";
export type { CallLedger, LedgerQuery, LedgerTally } from "../policy/history/call-ledger.ts";
export type {
  AfterCondition,
  CountCondition,
  HistoryCondition,
  HistoryWindow,
  SumCondition,
} from "../policy/history/history-condition.ts";
export type {
  FieldSource,
  LookupField,
  ToolField,
  TrackedFields,
  ValueProvenance,
  ValueSource,
} from "../policy/history/value-provenance.ts";
export { HostPolicy } from "../policy/host-policy.ts";
export type { PolicyRequest, PolicySubject, RuntimePolicy } from "../policy/policy.ts";
export type { PolicyDifference } from "../policy/shadow/policy-difference.ts";
export { ShadowPolicy } from "../policy/shadow/shadow-policy.ts";
export { strictest } from "../policy/strictest.ts";

// Principals

export { checkPrincipal } from "../policy/principal.ts";
export type { Principal } from "../tool/principal.ts";

// Policies: grants

export type { Capabilities, CapabilityName } from "../policy/grant/capabilities.ts";
export type { DirectoryGrant } from "../policy/grant/directory-grant.ts";
export type { ExecutionGrant, GrantOptions, RequiredIsolation } from "../policy/grant/execution-grant.ts";
export type { FileGrant } from "../policy/grant/file-grant.ts";
export type { FsGrant } from "../policy/grant/fs-grant.ts";
export type { LimitName, ResourceLimits } from "../policy/grant/limits.ts";
export type { NetGrant } from "../policy/grant/net-grant.ts";

// Policies: rules and policy files

export { loadPolicyFile } from "../policy/file/load.ts";
export type { PolicyTool } from "../policy/file/policy-tool.ts";
export type { LoadedPolicy } from "../policy/file/read.ts";
export {
  openPolicyFile,
  type PolicyFile,
  type PolicyFileOptions,
} from "../policy/file/reload/policy-file.ts";
export type { FileTemplate } from "../policy/grant/file-template.ts";
export type { OriginTemplate, RuleCapabilities, WorkspaceTemplate } from "../policy/grant/grant-template.ts";
export type {
  AllowedUse,
  AllowRule,
  AskRule,
  DefaultUse,
  DenyRule,
  LinkOrigins,
  NumberRange,
  PolicyRule,
  RuleCondition,
  RuleConditions,
  RuleExample,
  RuleExamples,
  RuleMatch,
  RulePolicyOptions,
  UntrustedResult,
} from "../policy/rule/rule.ts";
export { RulePolicy } from "../policy/rule/rule-policy.ts";

// Policies: changes that would allow a call

export type { PolicyPlace } from "../policy/policy-place.ts";
export type {
  PolicySuggestion,
  SuggestedChange,
  SuggestedRule,
  WithheldSuggestion,
} from "../policy/remedy/policy-suggestion.ts";
export { type SuggestionOptions, suggestChange } from "../policy/remedy/suggest-change.ts";

// Policies: invariants

export type {
  AlwaysInvariant,
  CallSelection,
  CapabilitySelection,
  Invariant,
  NeverInvariant,
} from "../policy/proof/invariant.ts";
export type { Proof, ProofFailure, Witness } from "../policy/proof/proof.ts";
export { proveInvariants } from "../policy/proof/prove-invariants.ts";

// Sandboxes

export type { ResolveHost } from "../egress/connections/checked-lookup.ts";
export type { EgressOptions } from "../egress/egress.ts";
export {
  openSandboxes,
  type Sandboxes,
  type SandboxesOptions,
  type SandboxStats,
} from "../sandboxes/open-sandboxes.ts";
export type {
  ConfinedProgram,
  ConfinedProgramOptions,
  LongRunningEnd,
  LongRunningLimits,
  LongRunningProgram,
} from "../sandboxes/process/long-running/confined-program.ts";
export type { ProcessSandboxOptions } from "../sandboxes/process/process-sandbox.ts";
export type { SecretSource } from "../sandboxes/remote/endpoint/secrets.ts";
export type { ExecutorCredentials } from "../sandboxes/remote/executor-client/credentials.ts";
export type { WorkerPoolOptions } from "../sandboxes/threads/worker-pool.ts";

// Sandboxes: the contract, for sandboxes of your own

export type { OneShotThenable } from "../base/promises.ts";
export {
  BoundGrant,
  type BoundTo,
  type Digested,
  type GrantedTask,
  type GrantedWork,
} from "../sandboxes/contract/bound-grant.ts";
export type {
  CallEffect,
  FailedOutcome,
  ResourceUse,
  SandboxOutcome,
  TaskEnd,
  TaskRefusalReason,
} from "../sandboxes/contract/outcome.ts";
export { type Sandbox, type SandboxRouter, ToolPreparationError } from "../sandboxes/contract/sandbox.ts";
export type {
  CallTool,
  NestedCall,
  NestedCallOptions,
  NestedResult,
  SandboxTask,
  TaskObserver,
  TaskTrace,
} from "../sandboxes/contract/task.ts";
export type { Isolation } from "../tool/isolation.ts";
export type { SandboxMode } from "../tool/sandbox-mode.ts";
export type { PauseWallTime } from "../tool/wall-time.ts";

// Key-value stores

export {
  type KeyValueChange,
  KeyValueFullError,
  type KeyValueStore,
  type KeyValueStores,
} from "../key-value/key-value-store.ts";
export { MemoryKeyValue, type MemoryKeyValueOptions } from "../key-value/memory-key-value.ts";

// Schemas

export type { ArgumentProblem } from "../schema/argument-problem.ts";
export {
  type NormalizedSchema,
  type NormalizeSchemaOptions,
  normalizeSchema,
  type SchemaChange,
} from "../schema/dialects/normalize.ts";
export type { SchemaDialect } from "../schema/dialects/type-names.ts";
export type { InferInput } from "../schema/infer-input.ts";
export { SchemaError, type SchemaProblem } from "../schema/schema-error.ts";
export type {
  InputValidator,
  StandardInputSchema,
  StandardIssue,
  StandardResult,
} from "../schema/standard-schema.ts";

// Redaction

export { Redaction, type RedactionOptions } from "../redaction/redaction.ts";

// JSON

export { CanonicalJson } from "../json/canonical.ts";
export type { JsonObject, JsonValue } from "../json/value.ts";

// Errors

export { PackageFileError } from "../base/package/package-file-error.ts";
export { SandgateError, type SandgateErrorCode } from "../base/sandgate-error.ts";
export { ConfigError, type ConfigProblem } from "../config/problem.ts";
