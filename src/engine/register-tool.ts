import { PackageFileError } from "../base/package/package-file-error.ts";
import { copyJson } from "../json/copy.ts";
import { isJsonObject, type JsonObject } from "../json/value.ts";
import type { PolicySubject } from "../policy/policy.ts";
import { type ArgumentRules, DEFAULT_ARGUMENT_RULES } from "../schema/argument-rules.ts";
import { SCHEMA_BOUNDS } from "../schema/bounds.ts";
import { type CompiledSchema, compileSchema } from "../schema/compiled-schema.ts";
import { sandboxesOf } from "../tool/implementations/implementations.ts";
import { SIDE_EFFECTS, UNDECLARED_SIDE_EFFECTS } from "../tool/side-effects.ts";
import { accessTo } from "../tool/tool-traits.ts";
import { declaredArguments } from "./arguments/declared-arguments.ts";
import { ToolDefinitionDigest } from "./definition.ts";
import type { RegisteredTool } from "./registered-tool.ts";
import { DuplicateToolError, ToolRegistrationError } from "./registry-errors.ts";
import type { ToolRegistryOptions } from "./registry-options.ts";
import { type Tool, toolProblems } from "./tool.ts";

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
  const kept = Object.freeze({ ...tool, inputSchema, ...(output && { outputSchema: output.schema }) });
  const definition = new ToolDefinitionDigest(kept);
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
    tool: kept,
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

/** Compiles a schema of a tool. Adds to `reasons`, and returns `undefined`, if there is none or it does not compile. */
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
