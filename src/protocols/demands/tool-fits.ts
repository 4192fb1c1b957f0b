import type { ToolRegistry } from "../../engine/registry.ts";
import { hasDuplicateKeys } from "../../json/duplicate-keys.ts";
import { isRawNumber } from "../../json/raw-parts.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { ProtocolError } from "../parsing/shape.ts";
import { parseMessage } from "../parsing/values.ts";
import type { SchemaDemands } from "./demands.ts";
import { fitSchema, UnofferableSchema } from "./fit-schema.ts";

/** How a tool is offered to a provider. */
export interface ToolFit {
  /** Absent if the provider accepts no schema that says what the tool takes. */
  readonly schema?: JsonObject;
  /** Why `schema` is absent. */
  readonly reason?: string;
  /** Rules that the schema has lost, for the tool's description. */
  readonly rules: string;
  readonly lacksRules: boolean;
  readonly names: ArgumentNames;
}

/**
 * Fits the schemas of a registry's tools to what a provider demands. That depends only on the tool's schema, so that another
 * protocol of this provider, such as one in another process, reads the arguments in the same way.
 */
export class ToolFits {
  readonly #registry: ToolRegistry<never>;
  readonly #demands: SchemaDemands | undefined;
  readonly #fits = new Map<string, { readonly of: JsonObject; readonly fit: ToolFit }>();

  /** @param demands Absent if the provider accepts every schema. */
  constructor(registry: ToolRegistry<never>, demands: SchemaDemands | undefined) {
    this.#registry = registry;
    this.#demands = demands;
  }

  /** Returns how a tool is offered; `undefined` if it is not registered, or offered as it is. */
  of(name: string): ToolFit | undefined {
    if (this.#demands === undefined || !this.#registry.has(name)) return undefined;
    const { inputSchema, freeform } = this.#registry.get(name);
    if (freeform) return undefined;
    const schema = inputSchema as JsonObject;
    const known = this.#fits.get(name);
    if (known?.of === schema) return known.fit;
    const fit = fitTool(schema, this.#demands);
    this.#fits.set(name, { of: schema, fit });
    return fit;
  }
}

function fitTool(schema: JsonObject, demands: SchemaDemands): ToolFit {
  try {
    const fitted = fitSchema(schema, demands);
    const names = new ArgumentNames(demands.propertyNames, fitted.isWrapped);
    return { ...fitted, schema: names.rename(fitted.schema), names };
  } catch (error) {
    if (!(error instanceof UnofferableSchema)) throw error;
    const names = new ArgumentNames(demands.propertyNames, false);
    return { reason: error.message, rules: "", lacksRules: false, names };
  }
}

/** Keywords whose members are named schemas, but no properties. */
const NAMED = new Set(["$defs", "definitions", "patternProperties", "dependentSchemas"]);

/** Keywords whose value is data. */
const LITERAL = new Set(["enum", "const", "default", "examples"]);

/** Renames the properties of a tool's schema to names that a provider accepts, and those of arguments in both directions. */
class ArgumentNames {
  /** The names in the tool's own schema, by alias. */
  readonly #names = new Map<string, string>();
  readonly #aliases = new Map<string, string>();
  readonly #fitting: RegExp;
  readonly #isWrapped: boolean;

  /**
   * @param fitting Matches the names that need no alias.
   * @param isWrapped Whether the arguments are the member `input` of an object.
   */
  constructor(fitting: RegExp, isWrapped: boolean) {
    this.#fitting = fitting;
    this.#isWrapped = isWrapped;
  }

  /** Returns a schema in which every property has a name that fits. */
  rename(schema: JsonObject): JsonObject {
    return this.#schema(schema) as JsonObject;
  }

  /** Returns arguments with the names of the tool's own schema. */
  fromProvider(args: JsonValue): JsonValue {
    if (this.#names.size === 0 && !this.#isWrapped) return args;
    return convert(args, (value) => {
      const unwrapped = this.#isWrapped && isJsonObject(value) ? (value["input"] ?? null) : value;
      return replaceNames(unwrapped, this.#names);
    });
  }

  /** Returns arguments with the names that the provider knows. */
  toProvider(args: JsonValue): JsonValue {
    if (this.#names.size === 0 && !this.#isWrapped) return args;
    return convert(args, (value) => {
      const renamed = replaceNames(value, this.#aliases);
      return this.#isWrapped ? { input: renamed } : renamed;
    });
  }

  #schema(schema: JsonValue): JsonValue {
    if (Array.isArray(schema)) return schema.map((each: JsonValue) => this.#schema(each));
    if (!isJsonObject(schema)) return schema;
    const entries = Object.entries(schema).map(([keyword, value = null]): [string, JsonValue] => {
      if (keyword === "properties" && isJsonObject(value)) return [keyword, this.#members(value, true)];
      if (NAMED.has(keyword) && isJsonObject(value)) return [keyword, this.#members(value, false)];
      if (keyword === "required" && Array.isArray(value))
        return [keyword, value.map((name) => this.#nameOf(name))];
      if (keyword === "dependentRequired" && isJsonObject(value)) return [keyword, this.#dependent(value)];
      return [keyword, LITERAL.has(keyword) ? value : this.#schema(value)];
    });
    return Object.fromEntries(entries);
  }

  #members(members: JsonObject, areProperties: boolean): JsonObject {
    const entries = Object.entries(members).map(([name, schema = null]): [string, JsonValue] => [
      areProperties ? this.#aliasOf(name) : name,
      this.#schema(schema),
    ]);
    return Object.fromEntries(entries);
  }

  #dependent(members: JsonObject): JsonObject {
    const entries = Object.entries(members).map(([name, names]): [string, JsonValue] => [
      this.#aliasOf(name),
      Array.isArray(names) ? names.map((each) => this.#nameOf(each)) : (names ?? null),
    ]);
    return Object.fromEntries(entries);
  }

  #nameOf(name: JsonValue): JsonValue {
    return typeof name === "string" ? this.#aliasOf(name) : name;
  }

  #aliasOf(name: string): string {
    if (this.#fitting.test(name)) return name;
    const known = this.#aliases.get(name);
    if (known !== undefined) return known;
    // Loaded on use: it takes longer to load than this package.
    const { hash } = process.getBuiltinModule("node:crypto");
    const plain = name.replace(/[^A-Za-z0-9_]/g, "_").slice(0, 48);
    // The digest distinguishes it from names of data in objects with arbitrary names.
    const alias = `${/^[A-Za-z_]/.test(plain) ? "" : "_"}${plain}_${hash("sha256", name).slice(0, 10)}`;
    this.#aliases.set(name, alias);
    this.#names.set(alias, name);
    return alias;
  }
}

function replaceNames(value: JsonValue, names: ReadonlyMap<string, string>): JsonValue {
  if (names.size === 0 || typeof value !== "object" || value === null || isRawNumber(value)) return value;
  if (Array.isArray(value)) return value.map((item: JsonValue) => replaceNames(item, names));
  const members = value as JsonObject;
  const entries = Object.entries(members).map(([name, member = null]): [string, JsonValue] => {
    const other = names.get(name);
    const isFree = other !== undefined && !Object.hasOwn(members, other);
    return [isFree ? other : name, replaceNames(member, names)];
  });
  return Object.fromEntries(entries);
}

/** Changes arguments: a value, or JSON text, whose numbers stay as they are written. Other texts stay as they are. */
function convert(args: JsonValue, change: (value: JsonValue) => JsonValue): JsonValue {
  if (typeof args !== "string") return change(args);
  let value: JsonValue;
  try {
    value = parseMessage(args) as JsonValue;
  } catch (error) {
    // The engine reports what is wrong with a text.
    if (error instanceof ProtocolError) return args;
    throw error;
  }
  // The engine refuses repeated members, which the parsed value no longer has.
  return hasDuplicateKeys(args, membersIn(value)) ? args : JSON.stringify(change(value));
}

function membersIn(value: JsonValue | undefined): number {
  if (typeof value !== "object" || value === null || isRawNumber(value)) return 0;
  const inner = Object.values(value).reduce<number>((sum, each) => sum + membersIn(each as JsonValue), 0);
  return inner + (Array.isArray(value) ? 0 : Object.keys(value).length);
}
