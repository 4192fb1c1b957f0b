import { findAjv } from "../base/load-ajv.ts";
import { beginning, UNPRINTABLE } from "../base/text.ts";
import type { JsonObject, JsonValue } from "../json/value.ts";
import { adaptValue } from "./adapt.ts";
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
import type { LoweredSchema } from "./compile/references.ts";
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
