import type { DuplicateKeys } from "../json/duplicate-keys.ts";
import type { JsonObject } from "../json/value.ts";
import type { ExecutionGrant } from "../policy/grant/execution-grant.ts";
import type { ResourceLimits } from "../policy/grant/limits.ts";
import type { PolicySubject } from "../policy/policy.ts";
import type { Sandbox } from "../sandboxes/contract/sandbox.ts";
import type { ArgumentRules } from "../schema/argument-rules.ts";
import type { CompiledSchema } from "../schema/compiled-schema.ts";
import type { DeclaredArguments } from "./arguments/declared-arguments.ts";
import type { ClassTimeouts } from "./bounds/timeouts.ts";
import type { ToolDefinitionDigest } from "./definition.ts";
import type { Tool } from "./tool.ts";

/** A tool as it is described to a model. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** Whether the tool takes a text that is not JSON: see {@link Tool.freeform}. */
  readonly freeform?: true;
}

/** Returns a tool as it is described to a model: a plain object. */
export function toToolDefinition(tool: Tool<never, never>): ToolDefinition {
  const { name, description, inputSchema, freeform } = tool;
  return { name, description, inputSchema, ...(freeform && { freeform }) };
}

/** A tool as the engine uses it, with everything that is derived once, when the tool is registered. */
export interface RegisteredTool<Embedder = never> {
  readonly tool: Tool<never, Embedder>;
  readonly schema: CompiledSchema;
  readonly rules: Required<ArgumentRules>;
  readonly duplicateKeys: DuplicateKeys | undefined;
  /** Of the output; `undefined` if the tool declares none. */
  readonly outputSchema: CompiledSchema | undefined;
  /** `undefined` if the tool declares neither paths nor URLs. */
  readonly declared: DeclaredArguments | undefined;
  readonly subject: PolicySubject;
  readonly definition: ToolDefinitionDigest;
  /** The placement of the tool's last call, which the next one reuses if it fits. */
  readonly last: { placement?: Placement };
}

/** Where a grant lets a tool run. */
export interface Placement {
  readonly grant: ExecutionGrant;
  readonly sandbox: Sandbox;
  /** The time-outs of the context, by which the limits were found. */
  readonly timeouts: ClassTimeouts | "none";
  /** The sandbox's defaults, with the grant's limits over them. */
  readonly limits: ResourceLimits;
}
