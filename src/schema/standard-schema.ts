import { isThenable } from "../base/promises.ts";
import { beginning } from "../base/text.ts";
import { escapePointer } from "../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import { SchemaError } from "./schema-error.ts";

/**
 * A Standard Schema that has a JSON Schema: the interfaces `StandardSchemaV1` and `StandardJSONSchemaV1` of
 * https://standardschema.dev, as far as they are used here. Schemas of zod 4.2, ArkType 2.1.28 and later are such.
 */
export interface StandardInputSchema<Input = unknown> {
  readonly "~standard": {
    readonly version: 1;
    /** The name of the library. */
    readonly vendor: string;
    /** Exists in types only. */
    readonly types?: { readonly input: Input; readonly output: unknown } | undefined;
    /** Validates a value. Absent if the schema describes a type without validating it. */
    readonly validate?: (value: unknown) => StandardResult | Promise<StandardResult>;
    readonly jsonSchema: {
      /** Converts the input type to JSON Schema. Throws if JSON Schema cannot express the type. */
      readonly input: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown>;
    };
  };
}

/** Checks arguments that match a tool's JSON Schema. Returns the problems as `/path message`, or an empty list. */
export type InputValidator<Input = never> = (input: Input) => readonly string[];

/**
 * The type of the arguments that an input schema accepts.
 *
 * - For a Standard Schema, its own input type.
 * - For a JSON Schema whose type is literal (`as const`, or written in the call of `defineTool`), the type that its
 *   `type`, `properties`, `required`, `additionalProperties`, `items`, `prefixItems`, `enum`, `const`, `anyOf`, `oneOf`
 *   and `allOf` describe. Other keywords are ignored, and references and levels below the tenth give `JsonValue`, the
 *   type of any argument.
 */
export type InferInput<Schema> = Schema extends StandardInputSchema
  ? NonNullable<Schema["~standard"]["types"]>["input"]
  : Value<Schema, Levels>;

/** One element for each level of schemas within schemas, so that the compiler always comes to an end. */
type Levels = readonly [1, 1, 1, 1, 1, 1, 1, 1, 1, 1];

/** The values that a schema accepts. */
type Value<Schema, Left extends readonly unknown[]> = OrJson<Known<Schema, Left>>;

type OrJson<Type> = unknown extends Type ? JsonValue : Type;

/** The type that a schema's keywords describe together; `unknown` if they describe none. */
type Known<Schema, Left extends readonly unknown[]> = Left extends readonly [unknown, ...infer Rest]
  ? Schema extends false
    ? never
    : Schema extends { readonly $ref: unknown }
      ? unknown
      : ByType<Schema, Rest> &
          ByLiterals<Schema> &
          AnyOf<Schema, "anyOf", Rest> &
          AnyOf<Schema, "oneOf", Rest> &
          AllOf<Schema, Rest>
  : unknown;

type ByType<Schema, Left extends readonly unknown[]> = Schema extends { readonly type: infer Type }
  ? OfType<Type extends readonly unknown[] ? Type[number] : Type, Schema, Left>
  : unknown;

/** Distributes over a list of types. */
type OfType<Type, Schema, Left extends readonly unknown[]> = Type extends "object"
  ? ObjectOf<Schema, Left>
  : Type extends "array"
    ? ListOf<Schema, Left>
    : Type extends "string"
      ? string
      : Type extends "number" | "integer"
        ? number
        : Type extends "boolean"
          ? boolean
          : Type extends "null"
            ? null
            : unknown;

type ByLiterals<Schema> = (Schema extends { readonly enum: readonly (infer Value)[] } ? Value : unknown) &
  (Schema extends { readonly const: infer Value } ? Value : unknown);

type AnyOf<Schema, Keyword extends string, Left extends readonly unknown[]> = Schema extends {
  readonly [K in Keyword]: readonly (infer Each)[];
}
  ? EachOf<Each, Left>
  : unknown;

type EachOf<Schema, Left extends readonly unknown[]> = Schema extends unknown ? Known<Schema, Left> : never;

type AllOf<Schema, Left extends readonly unknown[]> = Schema extends { readonly allOf: infer Parts }
  ? Every<Parts, Left>
  : unknown;

type Every<Parts, Left extends readonly unknown[]> = Parts extends readonly [infer First, ...infer Others]
  ? Known<First, Left> & Every<Others, Left>
  : unknown;

type ObjectOf<Schema, Left extends readonly unknown[]> = Schema extends
  | { readonly properties: unknown }
  | { readonly required: unknown }
  | { readonly additionalProperties: object }
  ? Flat<Members<Properties<Schema>, RequiredNames<Schema>, Left>> & Others<Schema, Left>
  : JsonObject;

type Properties<Schema> = Schema extends { readonly properties: infer Named } ? Named : unknown;

/** Names whose types are literal; a list of any strings gives no names. */
type RequiredNames<Schema> = Schema extends { readonly required: readonly (infer Name)[] }
  ? string extends Name
    ? never
    : Name
  : never;

type Members<Named, Required, Left extends readonly unknown[]> = {
  readonly [Name in keyof Named as Name extends Required ? Name : never]: Value<Named[Name], Left>;
} & {
  readonly [Name in keyof Named as Name extends Required ? never : Name]?: Value<Named[Name], Left>;
} & {
  readonly [Name in Exclude<Required, keyof Named> & string]: JsonValue;
};

type Flat<Type> = { [Name in keyof Type]: Type[Name] };

/** Members that have no schema are left out of the type, so that misspelt names do not compile. */
type Others<Schema, Left extends readonly unknown[]> = Schema extends {
  readonly additionalProperties: infer Other;
}
  ? Other extends boolean
    ? unknown
    : {
        readonly [name: string]: Schema extends { readonly patternProperties: unknown }
          ? JsonValue
          : Value<Other, Left>;
      }
  : unknown;

type ListOf<Schema, Left extends readonly unknown[]> = Schema extends {
  readonly prefixItems: infer First extends readonly unknown[];
}
  ? number extends First["length"]
    ? readonly JsonValue[]
    : readonly [...Prefix<Schema, First, Left>, ...Rest<Schema, Left>]
  : Rest<Schema, Left>;

/** The items with schemas of their own. They may be missing, unless `minItems` is their number. */
type Prefix<Schema, First extends readonly unknown[], Left extends readonly unknown[]> = Schema extends {
  readonly minItems: First["length"];
}
  ? Items<First, Left>
  : Partial<Items<First, Left>>;

type Items<First extends readonly unknown[], Left extends readonly unknown[]> = {
  [Index in keyof First]: Value<First[Index], Left>;
};

type Rest<Schema, Left extends readonly unknown[]> = Schema extends { readonly items: infer Item }
  ? Item extends false
    ? readonly []
    : Item extends readonly unknown[]
      ? readonly JsonValue[]
      : readonly Value<Item, Left>[]
  : readonly JsonValue[];

/** What a Standard Schema's `validate` returns. Falsy `issues` mean that the value is valid. */
export interface StandardResult {
  readonly issues?: readonly StandardIssue[] | undefined;
}

/** Why a value is invalid, and where. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A Standard Schema, converted. */
export interface ConvertedSchema {
  readonly inputSchema: JsonObject;
  /** Runs the library's own validation. `undefined` if the schema has none. */
  readonly validate: InputValidator<JsonValue> | undefined;
}

const MAX_ISSUES = 100;

const MAX_PATH_LENGTH = 256;

const MAX_MESSAGE_LENGTH = 512;

/** Returns whether a value claims to be a Standard Schema. Some libraries' schemas are functions. */
export function isStandardSchema(value: unknown): value is StandardInputSchema {
  return (
    ((typeof value === "object" && value !== null) || typeof value === "function") && "~standard" in value
  );
}

/**
 * Converts a Standard Schema.
 *
 * @throws {SchemaError} if it has no JSON Schema, or JSON Schema cannot express it.
 */
export function convertStandardSchema(schema: StandardInputSchema): ConvertedSchema {
  const standard = schema["~standard"];
  const from = `the Standard Schema of '${String(standard?.vendor)}'`;
  // Types promise it, but a schema of plain JavaScript, or of an older library, may lack it.
  if (typeof standard?.jsonSchema?.input !== "function") {
    throw refused(`${from} cannot be converted to JSON Schema: it has no '~standard.jsonSchema'`);
  }
  let inputSchema: unknown;
  try {
    inputSchema = standard.jsonSchema.input({ target: "draft-2020-12" });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw refused(`${from} cannot be converted to JSON Schema: ${reason}`);
  }
  if (!isJsonObject(inputSchema)) throw refused(`${from} was converted to something that is not an object`);
  const hasValidation = typeof standard.validate === "function";
  return {
    // A copy of what is JSON: zod adds a hidden '~standard'.
    inputSchema: { ...inputSchema },
    validate: hasValidation ? (input) => validate(schema, from, input) : undefined,
  };
}

/** @throws {TypeError} if the schema validates asynchronously, and anything that the library throws. */
function validate(schema: StandardInputSchema, from: string, input: JsonValue): readonly string[] {
  const result = schema["~standard"].validate?.(input) as StandardResult;
  if (isThenable(result)) {
    // Its rejection must not end the process.
    result.then(undefined, () => {});
    throw new TypeError(`${from} validates asynchronously, which is not supported`);
  }
  return (result.issues || []).slice(0, MAX_ISSUES).map(describeIssue);
}

function describeIssue({ message, path = [] }: StandardIssue): string {
  const text = beginning(String(message), MAX_MESSAGE_LENGTH);
  const pointer = path
    .map((step) => `/${escapePointer(String(typeof step === "object" ? step.key : step))}`)
    .join("");
  return pointer === "" ? text : `${beginning(pointer, MAX_PATH_LENGTH)} ${text}`;
}

function refused(reason: string): SchemaError {
  return new SchemaError([{ path: "", reason }]);
}
