import { findAjv } from "../base/load-ajv.ts";
import { beginning, UNPRINTABLE } from "../base/text.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import {
  type ArgumentProblem,
  type ArgumentRules,
  DEFAULT_ARGUMENT_RULES,
  problemText,
} from "./arguments.ts";
import type { ValidationError } from "./assertions.ts";
import {
  MAX_COMPILED_KEYWORDS,
  MAX_EXPLAINED_KEYWORDS,
  MAX_EXPLAINED_WORK,
  MAX_INTERPRETED_WORK,
  meter,
  WorkExceededError,
} from "./bounds.ts";
import { compileLowered, type ErrorMode } from "./compile/compiler.ts";
import { lowerSchema } from "./compile/lower.ts";
import type { LoweredNode, LoweredSchema } from "./compile/references.ts";
import { Interpreter } from "./interpreter.ts";

const MAX_PATH_LENGTH = 256;

const MAX_NAME_LENGTH = 64;

const MAX_VALUES_LENGTH = 256;

/** A value that a schema accepts, or what is wrong with it. */
export type Accepted = { readonly value: JsonValue } | { readonly problems: readonly ArgumentProblem[] };

/** A schema that validates values. Its methods never throw. */
export interface CompiledSchema {
  /** Returns the errors, each as `/path message`, or `undefined` for a valid value. */
  validate(value: JsonValue): readonly string[] | undefined;
  /** Returns a valid value as it is, and any other one adapted by the rules if that makes it valid. Deeply frozen. */
  accept(value: JsonValue, rules?: Required<ArgumentRules>): Accepted;
}

/**
 * Compiles a JSON Schema of draft 2020-12, or of draft 7 if `$schema` names it. References are resolved within the
 * schema and in `shared`; nothing is fetched. Known formats are checked, patterns run in linear time.
 *
 * @param shared Schemas by URI, for references. Default: none.
 * @throws {SchemaError} if it is not a valid JSON Schema or exceeds the bounds.
 * @throws {PackageFileError} if the file of ajv does not exist, as in a bundle.
 */
export function compileSchema(
  schema: JsonObject,
  shared: Readonly<Record<string, JsonObject>> = {},
): CompiledSchema {
  findAjv();
  return new Compiled(lowerSchema(schema, shared));
}

/** Validates a value, and has the errors of the last one, as ajv's functions do. */
interface Validator {
  (value: JsonValue): boolean;
  errors?: readonly ValidationError[] | null;
}

class Compiled implements CompiledSchema {
  readonly #lowered: LoweredSchema;
  #isValid: Validator;
  #explain: Validator | undefined;

  constructor(lowered: LoweredSchema) {
    this.#lowered = lowered;
    this.#isValid = isCompiled(lowered) ? this.#compileLater() : interpret(lowered);
  }

  validate(value: JsonValue): readonly string[] | undefined {
    return this.#problems(value)?.map(problemText);
  }

  #problems(value: JsonValue): readonly ArgumentProblem[] | undefined {
    try {
      meter.reset();
      return this.#isValid(value) ? undefined : this.#errors(value);
    } catch (error) {
      return [whyNot(error)];
    }
  }

  accept(value: JsonValue, rules: Required<ArgumentRules> = DEFAULT_ARGUMENT_RULES): Accepted {
    const problems = this.#problems(value);
    if (problems === undefined) return { value };
    try {
      meter.reset();
      const adapted = adaptValue(this.#lowered.schema, value, rules);
      if (adapted === value) return { problems };
      const left = this.#problems(adapted);
      return left === undefined ? { value: adapted } : { problems: left };
    } catch (error) {
      return { problems: [whyNot(error)] };
    }
  }

  /**
   * Interprets values until that has taken as much work as compiling the schema takes, or one is invalid, and compiles the
   * schema then.
   */
  #compileLater(): Validator {
    const interpreter = new Interpreter(this.#lowered);
    let left = MAX_INTERPRETED_WORK;
    return (value) => {
      meter.reset(left);
      try {
        if (interpreter.validate(value) === undefined) return true;
      } catch {
        // It takes more work than is left, or nests too deeply.
      } finally {
        left -= meter.spent;
      }
      this.#isValid = compile(this.#lowered, "first");
      meter.reset();
      return this.#isValid(value);
    };
  }

  #errors(value: JsonValue): readonly ArgumentProblem[] {
    const { keywords } = this.#lowered;
    const isCheap =
      isCompiled(this.#lowered) &&
      keywords <= MAX_EXPLAINED_KEYWORDS &&
      meter.spent <= MAX_EXPLAINED_WORK &&
      isWithin(value, MAX_EXPLAINED_WORK / keywords);
    if (!isCheap) return describeErrors(this.#isValid.errors ?? []);
    this.#explain ??= compile(this.#lowered, "all");
    meter.reset();
    this.#explain(value);
    return describeErrors(this.#explain.errors ?? []);
  }
}

function isCompiled({ keywords, isMiscompiled }: LoweredSchema): boolean {
  return keywords <= MAX_COMPILED_KEYWORDS && !isMiscompiled;
}

function interpret(lowered: LoweredSchema): Validator {
  const interpreter = new Interpreter(lowered);
  const validator: Validator = (value) => {
    const errors = interpreter.validate(value);
    validator.errors = errors ?? null;
    return errors === undefined;
  };
  return validator;
}

function compile(lowered: LoweredSchema, mode: ErrorMode): Validator {
  try {
    return compileLowered(lowered, mode) as Validator;
  } catch {
    // Lowering refuses everything that is known to fail here.
    return interpret(lowered);
  }
}

function whyNot(error: unknown): ArgumentProblem {
  return error instanceof WorkExceededError
    ? { path: "", message: "too expensive to validate: send less at once" }
    : { path: "", message: "cannot be validated against the schema" };
}

/** Returns whether a tree has at most `most` values. */
function isWithin(value: JsonValue, most: number): boolean {
  let left = most;
  const count = (node: JsonValue): boolean =>
    --left >= 0 &&
    (typeof node !== "object" || node === null || Object.values(node).every((inner) => count(inner ?? null)));
  return count(value);
}

/** Describes validation errors. */
export function describeErrors(errors: readonly ValidationError[]): readonly ArgumentProblem[] {
  return errors.map(({ instancePath, keyword, message = "is not valid", params }) => {
    return {
      path: beginning(instancePath, MAX_PATH_LENGTH),
      message: `${message}${explain(keyword, params)}`,
    };
  });
}

/** Adds what ajv's messages leave out and the model needs to correct its call. */
function explain(keyword: string, params: Record<string, unknown>): string {
  if (keyword === "additionalProperties" || keyword === "unevaluatedProperties") {
    const name = params["additionalProperty"] ?? params["unevaluatedProperty"];
    return `: '${beginning(String(name), MAX_NAME_LENGTH).replace(UNPRINTABLE, "\ufffd")}'`;
  }
  if (keyword === "enum" || keyword === "const") {
    const allowed = JSON.stringify(params["allowedValues"] ?? params["allowedValue"]);
    return allowed.length <= MAX_VALUES_LENGTH ? `: ${allowed}` : "";
  }
  return "";
}

/** A lowered schema that is an object. */
type Schema = Readonly<Record<string, unknown>>;

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * Adapts a value that its schema does not accept, by the rules. Only schemas that apply unconditionally are considered
 * (`properties`, `items`, `allOf`, references, …; neither `anyOf` nor `if`), so nothing is guessed. Returns the value
 * itself if nothing changes.
 *
 * @throws {WorkExceededError} like validating.
 */
function adaptValue(root: LoweredNode, value: JsonValue, rules: Required<ArgumentRules>): JsonValue {
  if (typeof root === "boolean") return value;
  return new Adapter((root["$defs"] ?? {}) as Record<string, LoweredNode>, rules).adapt(value, [root]);
}

/** How many schemas take as long to look through, for one member or item, as one keyword. */
const SCHEMAS_PER_WORK = 8;

class Adapter {
  readonly #definitions: Readonly<Record<string, LoweredNode>>;
  readonly #rules: Required<ArgumentRules>;

  constructor(definitions: Readonly<Record<string, LoweredNode>>, rules: Required<ArgumentRules>) {
    this.#definitions = definitions;
    this.#rules = rules;
  }

  adapt(value: JsonValue, nodes: readonly unknown[]): JsonValue {
    const schemas = this.#applying(nodes);
    if (schemas.length === 0 || value === null) return value;
    if (isJsonObject(value)) return this.#adaptObject(value, schemas);
    if (typeof value !== "object") return this.#rules.coerce ? coerce(value, schemas) : value;
    meter.charge((value.length * schemas.length) / SCHEMAS_PER_WORK);
    const items = value.map((item, index) =>
      this.adapt(
        item,
        schemas.flatMap((schema) => itemSchema(schema, index)),
      ),
    );
    return items.every((item, index) => item === value[index]) ? value : Object.freeze(items);
  }

  #adaptObject(value: JsonObject, schemas: readonly Schema[]): JsonObject {
    const result: Record<string, JsonValue> = {};
    let isChanged = false;
    for (const name of Object.keys(value)) {
      meter.charge(schemas.length / SCHEMAS_PER_WORK);
      const member = value[name] ?? null;
      const nodes = schemas.flatMap((schema) => memberSchema(schema, name));
      if (member === null && this.#isAbsent(name, schemas, nodes)) {
        isChanged = true;
        continue;
      }
      const adapted = this.adapt(member, nodes);
      isChanged ||= adapted !== member;
      result[name] = adapted;
    }
    return isChanged ? Object.freeze(result) : value;
  }

  #isAbsent(name: string, schemas: readonly Schema[], nodes: readonly unknown[]): boolean {
    return (
      this.#rules.nullForOptional === "absent" &&
      schemas.some(({ properties }) => isNamed(properties, name)) &&
      !schemas.some(({ required }) => Array.isArray(required) && required.includes(name)) &&
      nodes.some((node) => this.#refusesNull(node))
    );
  }

  #refusesNull(node: unknown): boolean {
    if (node === false) return true;
    return this.#applying([node]).some((schema) => {
      const { type, enum: values, anyOf, oneOf } = schema;
      if (type !== undefined && ![type].flat().includes("null")) return true;
      if (Object.hasOwn(schema, "const") && schema["const"] !== null) return true;
      if (Array.isArray(values) && !values.includes(null)) return true;
      return [anyOf, oneOf].some(
        (branches) => Array.isArray(branches) && branches.every((branch) => this.#refusesNull(branch)),
      );
    });
  }

  /** The schemas that apply to a value to which these apply, including references and `allOf`. */
  #applying(nodes: readonly unknown[]): readonly Schema[] {
    const schemas = nodes.filter(isSchema);
    // The list grows while it is iterated. Lowering has made sure that this ends.
    for (const { $ref, allOf } of schemas) {
      meter.charge(1);
      const referred =
        typeof $ref === "string" ? this.#definitions[$ref.slice("#/$defs/".length)] : undefined;
      for (const node of [referred, ...(Array.isArray(allOf) ? allOf : [])]) {
        if (isSchema(node)) schemas.push(node);
      }
    }
    return schemas;
  }
}

function isSchema(node: unknown): node is Schema {
  return typeof node === "object" && node !== null;
}

function isNamed(properties: unknown, name: string): properties is Schema {
  return isSchema(properties) && Object.hasOwn(properties, name);
}

function memberSchema(
  { properties, additionalProperties, patternProperties }: Schema,
  name: string,
): unknown[] {
  if (isNamed(properties, name)) return [properties[name]];
  return patternProperties === undefined && additionalProperties !== undefined ? [additionalProperties] : [];
}

function itemSchema({ prefixItems, items, additionalItems }: Schema, index: number): unknown[] {
  const [first, rest] = Array.isArray(items) ? [items, additionalItems] : [prefixItems, items];
  return [Array.isArray(first) && index < first.length ? first[index] : rest];
}

/** Converts a scalar to the other type that all schemas want, if its JSON text stays the same. */
function coerce(value: string | number | boolean, schemas: readonly Schema[]): JsonValue {
  const wanted = schemas.flatMap(({ type }) => (type === undefined ? [] : [new Set([type].flat())]));
  const wants = (type: string): boolean => wanted.length > 0 && wanted.every((types) => types.has(type));
  if (wants(typeof value)) return value;
  if (typeof value !== "string") return wants("string") ? String(value) : value;
  if (wants("boolean") && (value === "true" || value === "false")) return value === "true";
  if (!NUMBER.test(value)) return value;
  const number = Number(value);
  if (wants("number") && Number.isFinite(number)) return number;
  return wants("integer") && Number.isSafeInteger(number) ? number : value;
}
