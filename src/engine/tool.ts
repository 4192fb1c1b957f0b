import { isJsonObject, type JsonObject } from "../json/value.ts";
import { type ArgumentRules, argumentRuleProblems } from "../schema/arguments.ts";
import {
  convertStandardSchema,
  type InferInput,
  type InputValidator,
  isStandardSchema,
  type StandardInputSchema,
} from "../schema/standard-schema.ts";
import type { ToolImplementations } from "../tool/implementations/implementations.ts";
import { implementationProblems, traitProblems } from "../tool/tool-problems.ts";
import type { ToolTraits } from "../tool/tool-traits.ts";

/**
 * A tool: its definition for the model, and at least one implementation.
 *
 * @typeParam Input The type of the arguments that `host` takes. Default: not known.
 * @typeParam Embedder The type of the `embedder` that `host` needs. Default: any.
 */
export interface Tool<Input = never, Embedder = unknown>
  extends ToolImplementations<Input, Embedder>,
    ToolTraits,
    ArgumentRules {
  /**
   * 1 to 128 printable characters without white space. A provider that does not accept the name gets an alias.
   */
  readonly name: string;
  /** What the tool does, for the model. */
  readonly description: string;
  /**
   * JSON Schema of the arguments: draft 2020-12, or draft 7 if `$schema` names it. `normalizeSchema` converts
   * schemas of other dialects.
   */
  readonly inputSchema: JsonObject;
  /**
   * Whether the tool takes one text, such as a patch or a query, that is not JSON: its input is a string, and its
   * `inputSchema` is `{ type: "string" }`. Models that have no such tools get an object with the member `input`.
   * Default: `false`.
   */
  readonly freeform?: boolean;
  /**
   * Checks what JSON Schema cannot express. Called after the arguments matched `inputSchema` and before the policy
   * decides. It must return the problems at once, as `/path message`: the model reads them as a `validation_error`. A
   * call whose validation throws or returns anything else fails too. Default: no further checks.
   */
  readonly validate?: InputValidator<Input>;
}

/** The argument of {@link defineTool}: a tool with any kind of schema. */
export interface ToolDeclaration<Schema, Embedder = unknown>
  extends Omit<Tool<InferInput<Schema>, Embedder>, "inputSchema" | "freeform"> {
  /**
   * A JSON Schema, as in {@link Tool.inputSchema}, or a Standard Schema that has a JSON Schema, such as one of zod. The
   * arguments of a Standard Schema are checked against its JSON Schema first, and then by the library itself, which
   * must validate synchronously. `host` gets the arguments as they were validated, without the library's defaults and
   * transforms.
   */
  readonly inputSchema: Schema;
  readonly freeform?: false;
}

/** The argument of {@link defineTool} for a free-form tool: see {@link Tool.freeform}. It has no schema of its own. */
export interface FreeformToolDeclaration<Embedder = unknown>
  extends Omit<Tool<string, Embedder>, "inputSchema" | keyof ArgumentRules> {
  readonly freeform: true;
}

/** The `inputSchema` of every free-form tool. */
export const TEXT_SCHEMA: JsonObject = Object.freeze({ type: "string" });

/**
 * Declares a tool, and infers the type of the arguments that its host function takes from the schema: see
 * {@link InferInput}. Everything else is checked when the tool is registered.
 *
 * @returns A tool whose `inputSchema` is a JSON Schema. Frozen.
 * @throws {SchemaError} if a Standard Schema has no JSON Schema, or JSON Schema cannot express it.
 */
export function defineTool<const Schema extends JsonObject | StandardInputSchema, Embedder = unknown>(
  tool: ToolDeclaration<Schema, Embedder>,
): Tool<never, Embedder>;
/** Declares a free-form tool, whose host function takes a string. */
export function defineTool<Embedder = unknown>(
  tool: FreeformToolDeclaration<Embedder>,
): Tool<never, Embedder>;
export function defineTool(
  tool: ToolDeclaration<JsonObject | StandardInputSchema> | FreeformToolDeclaration,
): Tool {
  if (tool.freeform) return Object.freeze({ ...tool, inputSchema: TEXT_SCHEMA });
  return Object.freeze({ ...tool, ...convert(tool) });
}

/** The members that differ between a declaration and a tool. */
function convert<Schema extends JsonObject | StandardInputSchema>({
  inputSchema,
  validate,
}: ToolDeclaration<Schema, never>): Pick<Tool, "inputSchema" | "validate"> {
  if (!isStandardSchema(inputSchema)) return { inputSchema };
  const converted = convertStandardSchema(inputSchema);
  const validators = [converted.validate, validate].filter((each) => each !== undefined);
  return {
    inputSchema: converted.inputSchema,
    ...(validators.length > 0 && { validate: firstProblems(validators) }),
  };
}

/** Runs the validators in order, until one of them finds problems. */
function firstProblems(validators: readonly InputValidator[]): InputValidator {
  return (input) => {
    for (const validate of validators) {
      const problems = validate(input);
      // Whatever is not an empty list ends the call.
      if (!Array.isArray(problems) || problems.length > 0) return problems;
    }
    return [];
  };
}

/** No white space and no invisible characters, such as control characters, direction marks and joiners. */
const NAME = /^[^\s\p{C}\p{Z}]{1,128}$/u;

/** Returns every reason why a value cannot be registered as a tool, except for those of its schema. */
export function toolProblems(tool: Tool<never, never>): readonly string[] {
  if (!isJsonObject(tool)) return ["the tool is not an object"];
  const problems: string[] = [];
  if (typeof tool.name !== "string" || !NAME.test(tool.name)) {
    problems.push("the name must be 1 to 128 printable characters without spaces");
  }
  if (typeof tool.description !== "string") problems.push("the description must be a string");
  if (!isJsonObject(tool.inputSchema)) problems.push("the input schema must be an object");
  if (tool.validate !== undefined && typeof tool.validate !== "function") {
    problems.push("validate must be a function");
  }
  problems.push(
    ...freeformProblems(tool),
    ...traitProblems(tool),
    ...argumentRuleProblems(tool),
    ...implementationProblems(tool),
  );
  return problems;
}

function freeformProblems({ freeform, inputSchema }: Tool<never, never>): readonly string[] {
  if (freeform === undefined || freeform === false) return [];
  if (freeform !== true) return ["freeform must be true or false"];
  const isText = isJsonObject(inputSchema) && inputSchema["type"] === "string";
  return isText && Object.keys(inputSchema).length === 1
    ? []
    : ['the input schema of a free-form tool must be { type: "string" }'];
}
