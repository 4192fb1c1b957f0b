import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import {
  ASSERTIONS,
  assertPattern,
  causedBy,
  type Errors,
  error,
  inside,
  matches,
  missingFor,
  type ValidationError,
} from "./assertions.ts";
import { meter } from "./bounds.ts";
import { chargeContents } from "./compile/content-work.ts";
import {
  CONTENT_KEYWORD,
  type ContentWork,
  type LoweredNode,
  type LoweredSchema,
} from "./compile/references.ts";

/**
 * Number of names that take as long to look up as one keyword. Listing one name takes as long as a keyword.
 */
const NAMES_PER_WORK = 4;

type Members = Readonly<Record<string, unknown>>;

/**
 * Lists the names of members, of schemas and of values, each list once. Listing and looking up are charged.
 */
class MemberNames {
  /** The names in objects of schemas, such as `properties`: listing thousands for each item would take too long. */
  readonly #declared = new WeakMap<Members, readonly string[]>();
  /** The names of the last object, as many schemas can apply to the same one. */
  #listed: { readonly of: JsonObject; readonly names: readonly string[] } | undefined;

  /** The names in an object of a schema, which is not charged. */
  declaredIn(members: Members): readonly string[] {
    let names = this.#declared.get(members);
    if (names === undefined) {
      names = Object.keys(members);
      this.#declared.set(members, names);
    }
    return names;
  }

  of(value: JsonObject): readonly string[] {
    if (this.#listed?.of !== value) {
      const names = Object.keys(value);
      meter.charge(names.length);
      this.#listed = { of: value, names };
    }
    return this.#listed.names;
  }

  /** The properties of a schema that a value has. */
  shared(properties: Members, value: JsonObject): readonly string[] {
    const names = this.of(value);
    const declared = this.declaredIn(properties);
    const fewer = declared.length < names.length ? declared : names;
    meter.charge(fewer.length / NAMES_PER_WORK);
    return fewer.filter((name) => Object.hasOwn(properties, name) && Object.hasOwn(value, name));
  }

  /** Forgets the last value, so that it can be collected. */
  forgetValue(): void {
    this.#listed = undefined;
  }
}

/**
 * Which members and items of one value were evaluated: `unevaluatedProperties` and `unevaluatedItems` skip
 * them.
 */
class Evaluated {
  #allMembers = false;
  readonly #members = new Set<string>();
  /** All items before this index. */
  #items = 0;
  readonly #singleItems = new Set<number>();

  addMember(name: string): void {
    this.#members.add(name);
  }

  addAllMembers(): void {
    this.#allMembers = true;
  }

  hasMember(name: string): boolean {
    return this.#allMembers || this.#members.has(name);
  }

  /** Adds the items before an index. */
  addItemsBefore(index: number): void {
    this.#items = Math.max(this.#items, index);
  }

  addItem(index: number): void {
    this.#singleItems.add(index);
  }

  hasItem(index: number): boolean {
    return index < this.#items || this.#singleItems.has(index);
  }

  /** Adds what a schema that applies to the same value has evaluated. */
  merge(other: Evaluated): void {
    meter.charge(other.#members.size + other.#singleItems.size);
    this.#allMembers ||= other.#allMembers;
    for (const name of other.#members) this.#members.add(name);
    this.addItemsBefore(other.#items);
    for (const index of other.#singleItems) this.#singleItems.add(index);
  }
}

/** A lowered schema that is an object. */
type Schema = Readonly<Record<string, unknown>>;

/** The work of a schema that is a boolean, of which an array can have one for each item. */
const BOOLEAN_WORK = 0.2;

/**
 * Validates values against a lowered schema without compiling it: large schemas would take ajv seconds. Stops
 * at the first error, except that a failed `anyOf` reports the errors of all branches. All work is charged.
 */
export class Interpreter {
  readonly #root: LoweredNode;
  readonly #definitions: Readonly<Record<string, LoweredNode>>;
  readonly #patterns: LoweredSchema["patterns"];
  readonly #draft: LoweredSchema["draft"];
  readonly #names = new MemberNames();

  constructor({ schema, patterns, draft }: LoweredSchema) {
    this.#root = schema;
    this.#definitions = (typeof schema === "object" ? (schema["$defs"] ?? {}) : {}) as Schema as never;
    this.#patterns = patterns;
    this.#draft = draft;
  }

  /**
   * @throws {WorkExceededError} Also throws a RangeError if schema and value together are nested too deeply.
   */
  validate(value: JsonValue): Errors {
    try {
      return this.#evaluate(this.#root, value, undefined);
    } finally {
      this.#names.forgetValue();
    }
  }

  /** @param seen Collects what is evaluated, if an enclosing schema needs it. */
  #evaluate(node: unknown, value: JsonValue, seen: Evaluated | undefined): Errors {
    if (typeof node !== "object" || node === null) {
      meter.charge(BOOLEAN_WORK);
      return node === false ? error("false schema", "boolean schema is false") : undefined;
    }
    const schema = node as Schema;
    const names = Object.keys(schema);
    meter.charge(1 + names.length);
    const asks = "unevaluatedProperties" in schema || "unevaluatedItems" in schema;
    const own = asks ? new Evaluated() : seen;
    // The type first, as its error is the most helpful.
    const wrongType = "type" in schema ? ASSERTIONS["type"]?.(schema["type"] as never, value) : undefined;
    if (wrongType !== undefined) return wrongType;
    for (const name of names) {
      const errors = this.#check(name, schema, value, own);
      if (errors !== undefined) return errors;
    }
    if (!asks || own === undefined) return undefined;
    const errors = this.#unevaluated(schema, value, own);
    if (errors === undefined) seen?.merge(own);
    return errors;
  }

  #check(name: string, schema: Schema, value: JsonValue, seen: Evaluated | undefined): Errors {
    const keyword = schema[name];
    switch (name) {
      case "$ref":
        return this.#evaluate(this.#definitions[String(keyword).slice("#/$defs/".length)], value, seen);
      case "allOf":
        return firstErrors(keyword as readonly unknown[], (each) => this.#evaluate(each, value, seen));
      case CONTENT_KEYWORD:
        chargeContents(keyword as ContentWork, value);
        return undefined;
      case "anyOf":
        return this.#anyOf(keyword as readonly unknown[], value, seen);
      case "oneOf":
        return this.#oneOf(keyword as readonly unknown[], value, seen);
      case "not":
        return this.#evaluate(keyword, value, undefined) ? undefined : error("not", "must NOT be valid");
      case "if":
        return this.#ifThenElse(schema, value, seen);
      case "pattern": {
        const pattern = this.#patterns.get(String(keyword));
        if (typeof value !== "string" || pattern === undefined) return undefined;
        return assertPattern(String(keyword), pattern, value);
      }
      case "properties":
      case "patternProperties":
      case "additionalProperties":
      case "propertyNames":
      case "dependencies":
      case "dependentSchemas":
        return isJsonObject(value) ? this.#checkMembers(name, schema, value, seen) : undefined;
      case "prefixItems":
      case "items":
      case "additionalItems":
      case "contains":
        return Array.isArray(value) ? this.#checkItems(name, schema, value, seen) : undefined;
      default:
        return ASSERTIONS[name]?.(keyword as never, value);
    }
  }

  #anyOf(branches: readonly unknown[], value: JsonValue, seen: Evaluated | undefined): Errors {
    const causes: ValidationError[] = [];
    let isValid = false;
    for (const branch of branches) {
      const inner = seen && new Evaluated();
      const errors = this.#evaluate(branch, value, inner);
      if (errors !== undefined) causes.push(...errors);
      else if (inner === undefined) return undefined;
      else {
        isValid = true;
        seen?.merge(inner);
      }
    }
    return isValid ? undefined : causedBy(causes, error("anyOf", "must match a schema in anyOf"));
  }

  #oneOf(branches: readonly unknown[], value: JsonValue, seen: Evaluated | undefined): Errors {
    const causes: ValidationError[] = [];
    let found = false;
    for (const branch of branches) {
      const inner = seen && new Evaluated();
      const errors = this.#evaluate(branch, value, inner);
      if (errors !== undefined) causes.push(...errors);
      else if (found) return error("oneOf", "must match exactly one schema in oneOf");
      else {
        found = true;
        if (inner !== undefined) seen?.merge(inner);
      }
    }
    return found ? undefined : causedBy(causes, error("oneOf", "must match exactly one schema in oneOf"));
  }

  #ifThenElse(schema: Schema, value: JsonValue, seen: Evaluated | undefined): Errors {
    const inner = seen && new Evaluated();
    const isMet = this.#evaluate(schema["if"], value, inner) === undefined;
    if (isMet && inner !== undefined) seen?.merge(inner);
    return this.#evaluate(schema[isMet ? "then" : "else"], value, seen);
  }

  #checkMembers(name: string, schema: Schema, value: JsonObject, seen: Evaluated | undefined): Errors {
    const keyword = schema[name] as Schema;
    if (name === "properties") {
      return firstErrors(this.#names.shared(keyword, value), (key) =>
        this.#member(keyword[key], value, key, seen),
      );
    }
    return firstErrors(this.#names.of(value), (key) => {
      meter.charge(1);
      switch (name) {
        case "patternProperties":
          return firstErrors(this.#matching(keyword, key), (inner) => this.#member(inner, value, key, seen));
        case "additionalProperties":
          return this.#isAdditional(schema, key) ? this.#additional(keyword, value, key, seen) : undefined;
        case "propertyNames": {
          const errors = this.#evaluate(keyword, key, undefined);
          return errors && causedBy(errors, error(name, "property name must be valid"));
        }
        default: {
          const dependent = Object.hasOwn(keyword, key) ? keyword[key] : true;
          if (Array.isArray(dependent)) return missingFor(key, keyword, value);
          return this.#evaluate(dependent, value, seen);
        }
      }
    });
  }

  #member(node: unknown, value: JsonObject, key: string, seen: Evaluated | undefined): Errors {
    seen?.addMember(key);
    return inside(key, this.#evaluate(node, value[key] ?? null, undefined));
  }

  #additional(node: unknown, value: JsonObject, key: string, seen: Evaluated | undefined): Errors {
    if (node !== false) return this.#member(node, value, key, seen);
    const params = { additionalProperty: key };
    return error("additionalProperties", "must NOT have additional properties", params);
  }

  #isAdditional({ properties, patternProperties }: Schema, key: string): boolean {
    if (properties !== undefined && Object.hasOwn(properties as Schema, key)) return false;
    return patternProperties === undefined || this.#matching(patternProperties as Schema, key).length === 0;
  }

  /** The schemas whose patterns match a name. */
  #matching(byPattern: Schema, name: string): readonly unknown[] {
    return this.#names
      .declaredIn(byPattern)
      .filter((source) => {
        const pattern = this.#patterns.get(source);
        return pattern !== undefined && matches(pattern, name);
      })
      .map((source) => byPattern[source]);
  }

  #checkItems(
    name: string,
    schema: Schema,
    items: readonly JsonValue[],
    seen: Evaluated | undefined,
  ): Errors {
    const { [name]: keyword } = schema;
    if (name === "contains") return this.#contains(schema, items, seen);
    // Draft 7 has its list of schemas in `items`, and what applies to further items in `additionalItems`.
    if (name === "prefixItems" || (name === "items" && Array.isArray(keyword))) {
      const list = keyword as readonly unknown[];
      seen?.addItemsBefore(Math.min(list.length, items.length));
      return this.#items(items.slice(0, list.length), 0, (index) => list[index]);
    }
    const before = name === "additionalItems" ? schema["items"] : schema["prefixItems"];
    if (name === "additionalItems" && !Array.isArray(before)) return undefined;
    const start = Array.isArray(before) ? before.length : 0;
    if (items.length <= start) return undefined;
    if (keyword === false && start > 0) return error(name, `must NOT have more than ${start} items`);
    seen?.addItemsBefore(items.length);
    return this.#items(items, start, () => keyword);
  }

  #items(items: readonly JsonValue[], start: number, schemaOf: (index: number) => unknown): Errors {
    for (let index = start; index < items.length; index++) {
      const errors = this.#evaluate(schemaOf(index), items[index] ?? null, undefined);
      if (errors !== undefined) return inside(index, errors);
    }
    return undefined;
  }

  #contains(schema: Schema, items: readonly JsonValue[], seen: Evaluated | undefined): Errors {
    const { contains, minContains, maxContains } = schema as { [name: string]: number | undefined };
    const isDraft7 = this.#draft === "draft-07";
    const least = isDraft7 ? 1 : (minContains ?? 1);
    const most = isDraft7 ? undefined : maxContains;
    let count = 0;
    for (const [index, item] of items.entries()) {
      if (this.#evaluate(contains, item, undefined) !== undefined) continue;
      count++;
      seen?.addItem(index);
    }
    if (count >= least && (most === undefined || count <= most)) return undefined;
    const atMost = most === undefined ? "" : ` and no more than ${most}`;
    return error("contains", `must contain at least ${least}${atMost} valid item(s)`);
  }

  #unevaluated(schema: Schema, value: JsonValue, seen: Evaluated): Errors {
    const { unevaluatedProperties: members, unevaluatedItems: items } = schema;
    if (members !== undefined && isJsonObject(value)) {
      const errors = firstErrors(this.#names.of(value), (key) => {
        meter.charge(1);
        if (seen.hasMember(key)) return undefined;
        if (members !== false) return inside(key, this.#evaluate(members, value[key] ?? null, undefined));
        const params = { unevaluatedProperty: key };
        return error("unevaluatedProperties", "must NOT have unevaluated properties", params);
      });
      if (errors !== undefined) return errors;
      seen.addAllMembers();
    }
    if (items !== undefined && Array.isArray(value)) {
      for (const [index, item] of value.entries()) {
        meter.charge(1);
        if (seen.hasItem(index)) continue;
        if (items === false) return error("unevaluatedItems", `must NOT have more than ${index} items`);
        const errors = this.#evaluate(items, item, undefined);
        if (errors !== undefined) return inside(index, errors);
      }
      seen.addItemsBefore(value.length);
    }
    return undefined;
  }
}

/** Returns the errors of the first item that has any. */
function firstErrors<Each>(list: readonly Each[], check: (each: Each) => Errors): Errors {
  for (const each of list) {
    const errors = check(each);
    if (errors !== undefined) return errors;
  }
  return undefined;
}
