export { ConfigError, type ConfigProblem } from "../config/problem.ts";
export type { ResolveHost } from "../egress/connections/checked-lookup.ts";
export type { EgressOptions } from "../egress/egress.ts";
export type { ToolCall } from "../engine/call/call.ts";
export type { DispatchContext } from "../engine/call/context.ts";
export { ERROR_CODES, type ErrorCode, type ToolError } from "../engine/call/errors.ts";
export {
  type DispatchEvent,
  type DispatchEventBody,
  type DispatchEventListener,
  EventStream,
} from "../engine/call/events.ts";
export type { ExecutionReceipt, ToolExecution } from "../engine/call/execution.ts";
export type { AgentHooks, CallVerdict, StartVerdict, ToolStart } from "../engine/call/hooks.ts";
export type { AssistantMessage, ToolMessage, ToolResult } from "../engine/call/messages.ts";
export type { UpperBound } from "../engine/call/upper-bound.ts";
export { ToolDispatchEngine } from "../engine/engine.ts";
export {
  type ToolDefinition,
  ToolNotFoundError,
  ToolRegistrationError,
  ToolRegistry,
  type ToolRegistryOptions,
} from "../engine/registry.ts";
export { defineTool, type Tool } from "../engine/tool.ts";
export type { Executor, ExecutorOptions } from "../executor/executor.ts";
export { ListenError } from "../executor/listen-error.ts";
export type { ExecutorLimits } from "../executor/load/limits.ts";
export { startExecutor } from "../executor/start-executor.ts";
export { CanonicalJson } from "../json/canonical.ts";
export type { JsonObject, JsonValue } from "../json/value.ts";
export { KeyValueFullError, type KeyValueStore, type KeyValueStores } from "../key-value/key-value-store.ts";
export { MemoryKeyValue, type MemoryKeyValueOptions } from "../key-value/memory-key-value.ts";
export { loadPolicyFile } from "../policy/file/load.ts";
export type { LoadedPolicy } from "../policy/file/read.ts";
export type { PolicyTool } from "../policy/file/tool-checks.ts";
export type { Capabilities, CapabilityName } from "../policy/grant/capabilities.ts";
export type { DirectoryGrant } from "../policy/grant/directory-grant.ts";
export type { LimitName, ResourceLimits } from "../policy/grant/limits.ts";
export type { NetGrant } from "../policy/grant/net-grant.ts";
export { HostPolicy } from "../policy/host-policy.ts";
export {
  allow,
  ask,
  deny,
  type ExecutionGrant,
  type GrantOptions,
  type PolicyDecision,
  type PolicyRequest,
  type PolicySubject,
  type RuntimePolicy,
} from "../policy/policy.ts";
export type {
  AllowedUse,
  AllowRule,
  AskRule,
  DenyRule,
  NumberRange,
  PolicyRule,
  RuleCondition,
  RuleMatch,
  RulePolicyOptions,
} from "../policy/rule/rule.ts";
export { RulePolicy } from "../policy/rule/rule-policy.ts";
export type { AssistantTurn } from "../protocols/assistant-turn.ts";
export { ProtocolError } from "../protocols/parsing/protocol-error.ts";
export type { ProviderProtocol, ToolOffer, ToToolsOptions } from "../protocols/protocol.ts";
export { aiSdkProtocol } from "../protocols/providers/ai-sdk/ai-sdk.ts";
export { AiSdkToolError, aiSdkToolSet } from "../protocols/providers/ai-sdk/tool-set.ts";
export { anthropicMessagesProtocol } from "../protocols/providers/anthropic/messages.ts";
export { bedrockConverseProtocol } from "../protocols/providers/bedrock-converse.ts";
export { cohereChatProtocol } from "../protocols/providers/cohere-chat.ts";
export { googleGenerateProtocol } from "../protocols/providers/google/generate.ts";
export { nativeProtocol } from "../protocols/providers/native.ts";
export { openAiChatProtocol } from "../protocols/providers/openai/chat.ts";
export { openAiResponsesProtocol } from "../protocols/providers/openai/responses.ts";
export type { CallStream } from "../protocols/streaming/call-stream.ts";
export type { StrictSchemaProblem } from "../protocols/strict/offer-tools.ts";
export {
  type CallEffect,
  type CallTool,
  type NestedCall,
  type NestedResult,
  type ResourceUse,
  type Sandbox,
  type SandboxOutcome,
  type SandboxRouter,
  type SandboxTask,
  type TaskObserver,
  ToolPreparationError,
} from "../sandboxes/contract/sandbox.ts";
export { openSandboxes, type Sandboxes, type SandboxesOptions } from "../sandboxes/open-sandboxes.ts";
export type { SecretSource } from "../sandboxes/remote/endpoint/secrets.ts";
export type { ExecutorCredentials } from "../sandboxes/remote/executor-client/credentials.ts";
export type { WorkerPoolOptions } from "../sandboxes/threads/worker-pool.ts";
export { componentTools, inspectComponent } from "../sandboxes/wasm/exports/load-on-use.ts";
export type { ComponentTool, ComponentTools } from "../sandboxes/wasm/tools/component-tools.ts";
export type {
  ComponentInspection,
  InspectedExport,
  InspectedImport,
} from "../sandboxes/wasm/tools/inspect-component.ts";
export type { ArgumentRules } from "../schema/argument-rules.ts";
export {
  type NormalizedSchema,
  type NormalizeSchemaOptions,
  normalizeSchema,
  type SchemaChange,
} from "../schema/dialects/normalize.ts";
export type { SchemaDialect } from "../schema/dialects/type-names.ts";
export { SchemaError, type SchemaProblem } from "../schema/schema-error.ts";
export type { ContentBlock, ContentOutput, ImageBlock, TextBlock } from "../tool/content.ts";
export type { ExecutorImplementation } from "../tool/executor-address.ts";
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
} from "../tool/host-implementation.ts";
export type { ToolImplementations } from "../tool/implementations.ts";
export type { LogLevel } from "../tool/log-level.ts";
export type {
  QuickJsFile,
  QuickJsImplementation,
  QuickJsSource,
} from "../tool/quickjs-implementation.ts";
export type {
  EndpointImplementation,
  RemoteImplementation,
} from "../tool/remote-implementation.ts";
export type { HttpImplementation, HttpResponseRules } from "../tool/remote-problems.ts";
export type { SandboxMode } from "../tool/sandbox-mode.ts";
export type { SideEffects } from "../tool/side-effects.ts";
export type { WasmImplementation } from "../tool/wasm-implementation.ts";
