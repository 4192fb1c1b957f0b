// Dispatching

export { guardFiles } from "../base/guarded-files.ts";
export { callTool } from "../direct/call-tool.ts";
export type {
  AskUser,
  Confirm,
  ConfirmationAnswer,
  ConfirmationRequest,
  GivenConfirmation,
  QuestionReply,
  QuestionRequest,
} from "../engine/call/confirmation.ts";
export type { DispatchContext } from "../engine/call/context.ts";
export type { ExecutionReceipt, ToolExecution } from "../engine/call/execution.ts";
export {
  type AssistantMessage,
  type ToolMessage,
  type ToolResult,
  toToolResult,
} from "../engine/call/messages.ts";
export type { ToolCall } from "../engine/call.ts";
export { ToolDispatchEngine } from "../engine/engine.ts";
export { ERROR_CODES, type ErrorCode, type ToolError } from "../engine/errors.ts";
export type { ContentBlock, ContentOutput } from "../tool/content.ts";
export { failure, success } from "../tool/content.ts";

// Traces

export type { CallTracer } from "../engine/call/events.ts";

// Hooks

export type { AgentHooks, CallVerdict } from "../engine/call/context.ts";

// Events

export { type DispatchEvent, type DispatchEventListener, EventStream } from "../engine/call/events.ts";

// Tools and their registry

export { type ToolDefinition, toToolDefinition } from "../engine/definition.ts";
export { DuplicateToolError, ToolNotFoundError, ToolRegistrationError } from "../engine/registered-tool.ts";
export { ToolRegistry } from "../engine/registry.ts";
export { defineTool, type Tool, type ToolDeclaration } from "../engine/tool.ts";
export type { ToolImplementations } from "../tool/implementations/implementations.ts";
export type { SideEffects } from "../tool/side-effects.ts";
export { FileFailure, ToolFailure, WorkspaceEscapeError } from "../tool/tool-failure.ts";
export type { ToolTraits } from "../tool/tool-traits.ts";
export type { WorkspaceFiles } from "../tool/workspace-files.ts";

// Implementations: host functions and worker threads

export type {
  HostContext,
  HostFunction,
  HostImplementation,
  HostModule,
} from "../tool/implementations/implementations.ts";
export type { Ask, Question, QuestionAnswer } from "../tool/question.ts";

// Implementations: QuickJS, Wasm, programs and remote

export type { QuickJsImplementation, WasmImplementation } from "../tool/implementations/implementations.ts";
export type {
  MicrovmImplementation,
  ProcessImplementation,
} from "../tool/implementations/process-implementation.ts";
export type {
  HttpImplementation,
  RemoteImplementation,
} from "../tool/implementations/remote-implementation.ts";

// Policies

export { DefaultPolicy } from "../policy/default-policy.ts";
export type { PolicyRequest, PolicySubject, RuntimePolicy } from "../policy/policy.ts";
export { allow, ask, deny, HostPolicy, type PolicyDecision } from "../policy/policy.ts";
export { ShadowPolicy } from "../policy/shadow-policy.ts";
export { strictest } from "../policy/strictest.ts";

// Principals

export { checkPrincipal } from "../policy/principal.ts";
export type { Principal } from "../tool/principal.ts";

// Policies: grants

export type { Capabilities } from "../policy/grant/capabilities.ts";
export type { ExecutionGrant, GrantOptions } from "../policy/grant/execution-grant.ts";
export type { ResourceLimits } from "../policy/grant/limits.ts";

// Policies: rules and policy files

export type { PolicyTool } from "../policy/file/checked-rule.ts";
export { loadPolicyFile } from "../policy/file/load.ts";
export { openPolicyFile, type PolicyFile } from "../policy/file/policy-file.ts";
export type { LoadedPolicy } from "../policy/file/read.ts";
export type { PolicyRule, RuleConditions, RulePolicyOptions } from "../policy/rule/rule.ts";
export { RulePolicy } from "../policy/rule/rule-policy.ts";

// Sandboxes

export type { EgressOptions } from "../egress/egress.ts";
export { openSandboxes, type Sandboxes, type SandboxesOptions } from "../sandboxes/open-sandboxes.ts";

// Sandboxes: the contract, for sandboxes of your own

export type { Isolation, SandboxMode } from "../tool/sandbox-mode.ts";

// Key-value stores

export {
  KeyValueFullError,
  type KeyValueStore,
  type KeyValueStores,
  MemoryKeyValue,
} from "../tool/key-value-store.ts";

// Schemas

export type { ArgumentProblem } from "../schema/arguments.ts";
export { normalizeSchema } from "../schema/dialects/normalize.ts";
export { SchemaError } from "../schema/schema-error.ts";
export type { InferInput, StandardInputSchema } from "../schema/standard-schema.ts";

// Redaction

export { Redaction } from "../redaction/redaction.ts";

// JSON

export { CanonicalJson } from "../json/canonical.ts";
export type { JsonObject, JsonValue } from "../json/value.ts";

// Errors

export { PackageFileError } from "../base/package-files.ts";
export { SandgateError, type SandgateErrorCode } from "../base/thrown.ts";
export { ConfigError } from "../config/problem.ts";
export { ToolPreparationError } from "../sandboxes/contract/sandbox.ts";
