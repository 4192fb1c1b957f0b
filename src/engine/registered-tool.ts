import { PackageFileError } from "../base/package-files.ts";
import { SandgateError } from "../base/thrown.ts";
import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import { copyJson } from "../json/copy.ts";
import type { DuplicateKeys } from "../json/duplicate-keys.ts";
import { isJsonObject, type JsonObject } from "../json/value.ts";
import type { ExecutionGrant } from "../policy/grant/execution-grant.ts";
import type { ResourceLimits } from "../policy/grant/limits.ts";
import type { PolicySubject } from "../policy/policy.ts";
import type { Sandbox } from "../sandboxes/contract/sandbox.ts";
import { type ArgumentRules, argumentRuleProblems, DEFAULT_ARGUMENT_RULES } from "../schema/arguments.ts";
import { SCHEMA_BOUNDS } from "../schema/bounds.ts";
import { type CompiledSchema, compileSchema } from "../schema/compiled-schema.ts";
import { sandboxesOf } from "../tool/implementations/implementations.ts";
import { SIDE_EFFECTS, UNDECLARED_SIDE_EFFECTS } from "../tool/side-effects.ts";
import { accessTo } from "../tool/tool-traits.ts";
import type { ClassTimeouts } from "./bounds.ts";
import { type DeclaredArguments, declaredArguments } from "./declared-arguments.ts";
import { ToolDefinitionDigest } from "./definition.ts";
import { type Tool, toolProblems } from "./tool.ts";

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

/** Options of `ToolRegistry`. The argument rules are defaults for its tools. */
export interface ToolRegistryOptions extends ArgumentRules {
  /**
   * Trusted schemas, by URI, that the tools' schemas may refer to. Nothing is ever fetched. Default: none.
   */
  readonly schemas?: Readonly<Record<string, JsonObject>>;
  /**
   * How to treat arguments, as JSON text, in which an object has several members of one name. What looked at the text
   * before may have read another one of them. Default: `"refuse"`; `"last"`: the last one counts, as in ECMAScript.
   */
  readonly duplicateKeys?: DuplicateKeys;
  /** Whether to refuse a tool that does not declare `sideEffects`. Default: `false`; it counts as `"destructive"`. */
  readonly requireSideEffects?: boolean;
  /** Which definitions were approved. Default: all of them. */
  readonly pins?: DefinitionPins;
}

/**
 * Which definitions of tools a person approved. A registry with pins offers no other tool to a model, and a call of
 * another one is denied.
 */
export interface DefinitionPins {
  /**
   * Returns whether this is the definition of the tool that was approved. Called for each look-up, so it must be quick. Must
   * not throw.
   *
   * @param definition The definition that is registered now. Its digest is computed when it is first read.
   */
  isApproved(name: string, definition: { readonly digest: string }): boolean;
  /** Returns the definition of the tool that was approved, so that a change can be shown. Default: it is not known. */
  approvedDefinition?(name: string): JsonObject | undefined;
}

const NAMES: OptionNames<ToolRegistryOptions> = {
  nullForOptional: true,
  coerce: true,
  schemas: true,
  duplicateKeys: true,
  requireSideEffects: true,
  pins: true,
};

/** @throws {TypeError} if an option is invalid. */
export function checkRegistryOptions(options: ToolRegistryOptions): void {
  refuseUnknown(options, NAMES, "a ToolRegistry");
  const [problem] = argumentRuleProblems(options);
  if (problem !== undefined) throw new TypeError(problem);
  const { duplicateKeys } = options;
  if (duplicateKeys !== undefined && duplicateKeys !== "refuse" && duplicateKeys !== "last") {
    throw new TypeError('duplicateKeys must be "refuse" or "last"');
  }
}

const NO_TAGS: readonly string[] = Object.freeze([]);

/**
 * Returns a tool as the engine uses it, frozen, with everything that is derived from it.
 *
 * @param options Of the registry: the argument rules are the defaults of the tool's own.
 * @param isNameTaken Whether another tool, which is not to be replaced, has a name.
 * @throws {DuplicateToolError} if the name is taken, {@link ToolRegistrationError} if anything else is wrong with it.
 * @throws {PackageFileError} if Sandgate's files are not beside its code, as in a bundle.
 */
export function registeredTool<Embedder>(
  tool: Tool<never, Embedder>,
  options: ToolRegistryOptions,
  isNameTaken: (name: string) => boolean,
): RegisteredTool<Embedder> {
  const reasons = [...toolProblems(tool)];
  const name = typeof tool?.name === "string" ? tool.name : "?";
  const isTaken = isNameTaken(name);
  if (isTaken) reasons.push("the name is taken");
  if (options.requireSideEffects && isJsonObject(tool) && tool.sideEffects === undefined) {
    reasons.push(`the tool must declare sideEffects: one of ${SIDE_EFFECTS.join(", ")}`);
  }
  const input = compile(tool?.inputSchema, "input", options, reasons);
  const output = compile(tool?.outputSchema, "output", options, reasons);
  if (reasons.length > 0 || input === undefined) {
    throw new (isTaken ? DuplicateToolError : ToolRegistrationError)(name, reasons);
  }
  const { sideEffects = UNDECLARED_SIDE_EFFECTS, tags = NO_TAGS } = tool;
  const inputSchema = input.schema;
  const frozen = Object.freeze({ ...tool, inputSchema, ...(output && { outputSchema: output.schema }) });
  const definition = new ToolDefinitionDigest(frozen);
  const subject: PolicySubject = Object.freeze({
    name,
    sideEffects,
    sandboxes: sandboxesOf(tool),
    inputSchema,
    definition,
    ...(output && { outputSchema: output.schema }),
    tags: Object.freeze([...tags]),
    ...accessTo(tool),
  });
  return Object.freeze({
    tool: frozen,
    schema: input.compiled,
    rules: rulesOf(tool, options),
    duplicateKeys: options.duplicateKeys,
    outputSchema: output?.compiled,
    declared: declaredArguments(tool),
    subject,
    definition,
    last: {},
  });
}

/** Compiles a schema of a tool. Adds to `reasons`, and returns `undefined`, if it does not exist or does not compile. */
function compile(
  given: unknown,
  which: "input" | "output",
  { schemas }: ToolRegistryOptions,
  reasons: string[],
): { readonly schema: JsonObject; readonly compiled: CompiledSchema } | undefined {
  if (!isJsonObject(given)) return undefined;
  try {
    // A copy, so models and policies get the schema that was compiled.
    const schema = copyJson(given, SCHEMA_BOUNDS) as JsonObject;
    return { schema, compiled: compileSchema(schema, schemas) };
  } catch (error) {
    if (error instanceof PackageFileError) throw error;
    reasons.push(`the ${which} schema does not compile: ${error instanceof Error ? error.message : error}`);
    return undefined;
  }
}

/** The tool's own rules, else the registry's, else the defaults. */
function rulesOf(
  { nullForOptional, coerce }: ArgumentRules,
  options: ToolRegistryOptions,
): Required<ArgumentRules> {
  return Object.freeze({
    nullForOptional: nullForOptional ?? options.nullForOptional ?? DEFAULT_ARGUMENT_RULES.nullForOptional,
    coerce: coerce ?? options.coerce ?? DEFAULT_ARGUMENT_RULES.coerce,
  });
}

/** Thrown if a registry has no tool with that name. */
export class ToolNotFoundError extends SandgateError {
  override readonly name = "ToolNotFoundError";
  override readonly code = "tool_not_found";
  readonly toolName: string;

  constructor(toolName: string) {
    super(`Tool '${toolName}' is not registered`);
    this.toolName = toolName;
  }
}

/** Thrown if a tool cannot be registered. `reasons` has every reason, not only the first. */
export class ToolRegistrationError extends SandgateError {
  override readonly name: string = "ToolRegistrationError";
  override readonly code: "invalid_tool" | "duplicate_tool" = "invalid_tool";
  readonly toolName: string;
  readonly reasons: readonly string[];

  constructor(toolName: string, reasons: readonly string[]) {
    super(`Tool '${toolName}' cannot be registered: ${reasons.join("; ")}`);
    this.toolName = toolName;
    this.reasons = Object.freeze([...reasons]);
  }
}

/** Thrown if a tool cannot be registered because its name is taken, whatever else is wrong with it. */
export class DuplicateToolError extends ToolRegistrationError {
  override readonly name = "DuplicateToolError";
  override readonly code = "duplicate_tool";
}
