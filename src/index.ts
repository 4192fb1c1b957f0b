export type { ToolCall } from "./engine/call.ts";
export type { ContentBlock, ContentOutput, ImageBlock, TextBlock } from "./engine/content.ts";
export type { DispatchContext } from "./engine/context.ts";
export { ToolDispatchEngine } from "./engine/engine.ts";
export { ERROR_CODES, type ErrorCode, type ToolError } from "./engine/errors.ts";
export { type DispatchEvent, type EventBody, type EventListener, EventStream } from "./engine/events.ts";
export type { Receipt, ToolExecution } from "./engine/execution.ts";
export type { AgentHooks, CallVerdict, StartVerdict, ToolStart } from "./engine/hooks.ts";
export type { AssistantMessage, ToolMessage, ToolResult } from "./engine/messages.ts";
export {
  type ToolDefinition,
  ToolNotFoundError,
  ToolRegistrationError,
  ToolRegistry,
} from "./engine/registry.ts";
export { defineTool, type Tool } from "./engine/tool.ts";
export type { JsonObject, JsonValue } from "./json/value.ts";
export type { Capabilities, CapabilityName } from "./policy/capabilities.ts";
export { HostPolicy } from "./policy/host-policy.ts";
export type { LimitName, ResourceLimits } from "./policy/limits.ts";
export {
  allow,
  ask,
  type Decision,
  deny,
  type ExecutionGrant,
  type GrantOptions,
  type PolicyRequest,
  type PolicySubject,
  type RuntimePolicy,
} from "./policy/policy.ts";
export type { SandboxMode } from "./policy/sandbox-mode.ts";
export type { SideEffects } from "./policy/side-effects.ts";
