import { escapePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { compilePattern, type Pattern } from "../../patterns/pattern.ts";
import { PatternError } from "../../patterns/pattern-syntax.ts";
import { MAX_SCHEMA_DEPTH } from "../bounds.ts";
import { isKnownFormat } from "../formats.ts";
import { type Draft, draftOf, KEYWORDS } from "../keywords.ts";
import { SchemaError, type SchemaProblem } from "../schema-error.ts";
import { ContentWorkSum, MAX_UNCOUNTED_KEYWORDS } from "./content-work.ts";
import {
  addMember,
  CONTENT_KEYWORD,
  DynamicScope,
  type KeywordUse,
  type LoweredNode,
  type LoweredSchema,
  References,
  type Target,
  withWork,
} from "./references.ts";
import {
  costOf,
  isSchema,
  KeywordBudget,
  PatternBudget,
  patternCost,
  unfitValue,
  WorkGraph,
} from "./work-graph.ts";

/** The name of the root definition. */
const ROOT = "root";

/** The root, or the target of a reference. */
interface Definition extends Target {
  readonly name: string;
  readonly scope: DynamicScope;
}

/** The schemas that are lowered separately: the root and the targets of references. */
class Definitions {
  readonly #references: References;
  readonly #list: Definition[] = [];
  /** The names by schema and by the key of its scope. */
  readonly #names = new Map<JsonValue, Map<string, string>>();

  constructor(references: References) {
    this.#references = references;
  }

  /** In the order in which they were named. The list grows while it is iterated. */
  get list(): readonly Definition[] {
    return this.#list;
  }

  /** Returns the name of a schema; the first one is the root. A schema in two scopes is two definitions. */
  nameOf(target: Target, outer: DynamicScope): string {
    const scope = this.#references.enter(outer, target.schema);
    const names = this.#names.get(target.schema) ?? new Map<string, string>();
    this.#names.set(target.schema, names);
    const known = names.get(scope.key);
    if (known !== undefined) return known;
    const name = this.#list.length === 0 ? ROOT : `d${this.#list.length}`;
    names.set(scope.key, name);
    this.#list.push({ ...target, name, scope });
    return name;
  }
}

/** The keywords of a lowered schema. */
type Schema = Readonly<Record<string, unknown>>;

/**
 * Prepares a schema for the compiler, and refuses what must not reach it.
 *
 * @param shared Schemas by URI, as targets of references.
 * @throws {SchemaError} with every problem, or with the exceeded bound.
 */
export function lowerSchema(
  root: JsonObject,
  shared: Readonly<Record<string, JsonObject>> = {},
): LoweredSchema {
  return new Lowering(root, shared).run();
}

/** Stands for a property that cannot be a member of a literal. */
const PROTO_PATTERN = "^__proto__$";

class Lowering {
  readonly #draft: Draft;
  readonly #references: References;
  readonly #problems: SchemaProblem[] = [];
  readonly #graph = new WorkGraph();
  readonly #definitions: Definitions;
  readonly #budget = new KeywordBudget();
  readonly #patterns = new Map<string, Pattern>();
  readonly #patternBudget = new PatternBudget();
  #definition = ROOT;
  #hasReferences = false;
  #isMiscompiled = false;

  constructor(root: JsonObject, shared: Readonly<Record<string, JsonObject>>) {
    this.#draft = draftOf(root["$schema"]);
    this.#references = new References(root, this.#draft, shared);
    this.#definitions = new Definitions(this.#references);
    this.#definitions.nameOf({ schema: root, path: "" }, new DynamicScope());
  }

  run(): LoweredSchema {
    const definitions: Record<string, LoweredNode> = {};
    // Lowering one may add further ones.
    for (const { name, schema, path, scope } of this.#definitions.list) {
      const before = this.#budget.spent;
      this.#budget.spend(path);
      this.#definition = name;
      const lowered = this.#lower(schema, path, { depth: 0, inPlace: true, scope });
      const own = this.#budget.spent - before;
      this.#graph.add(name, own);
      definitions[name] = this.#hasReferences ? withWork(lowered, own) : lowered;
    }
    const endless = this.#graph.findProblem();
    if (endless !== undefined) this.#problems.push(endless);
    if (this.#problems.length > 0) throw new SchemaError(this.#problems);
    const schema = this.#hasReferences
      ? { $ref: `#/$defs/${ROOT}`, $defs: definitions }
      : (definitions[ROOT] ?? true);
    const isMiscompiled = this.#isMiscompiled;
    return {
      draft: this.#draft,
      schema,
      keywords: this.#budget.spent,
      patterns: this.#patterns,
      isMiscompiled,
    };
  }

  #lower(
    schema: JsonValue,
    path: string,
    context: Pick<KeywordUse, "depth" | "inPlace" | "scope">,
  ): LoweredNode {
    if (typeof schema === "boolean") return schema;
    if (!isJsonObject(schema)) {
      this.#refuse(path, "must be a schema: an object or a boolean");
      return true;
    }
    const { depth } = context;
    if (depth > MAX_SCHEMA_DEPTH) {
      throw new SchemaError([{ path, reason: `schemas nested deeper than ${MAX_SCHEMA_DEPTH} levels` }]);
    }
    if (schema["$async"] !== undefined) this.#refuse(path, "$async schemas are not supported");
    const lowered: Record<string, unknown> = {};
    const contents = new ContentWorkSum();
    // In draft 7, the siblings of a reference are ignored.
    const ignoresSiblings = this.#draft === "draft-07" && Object.hasOwn(schema, "$ref");
    for (const name of Object.keys(schema)) {
      const keyword = KEYWORDS.get(name);
      const value = schema[name];
      if (keyword === undefined || value === undefined || (ignoresSiblings && name !== "$ref")) continue;
      if (keyword.draft !== undefined && keyword.draft !== this.#draft) continue;
      const at = `${path}/${escapePointer(name)}`;
      this.#budget.spend(at);
      const before = this.#budget.spent;
      const unfit = unfitValue(keyword.shape, value);
      if (unfit !== undefined) this.#refuse(at, unfit);
      else {
        const inPlace = context.inPlace && keyword.inPlace;
        const scope = this.#references.enter(context.scope, schema);
        const use = { name, keyword, value, schema, path: at, depth, scope, inPlace };
        if (keyword.shape === "reference") this.#lowerReference(lowered, use);
        else if (keyword.shape === "schema-map" || keyword.shape === "dependencies") {
          this.#lowerMap(lowered, use);
        } else lowered[name] = this.#lowerValue(use);
      }
      contents.add(name, this.#budget.spent - before);
    }
    const { sum } = contents;
    if (sum !== undefined) lowered[CONTENT_KEYWORD] = sum;
    this.#isMiscompiled ||= isMiscompiled(lowered);
    return lowered;
  }

  /** Returns the keyword's value for the compiler; `undefined` omits the keyword. */
  #lowerValue(use: KeywordUse): unknown {
    const { keyword, value, path } = use;
    switch (keyword.shape) {
      case "schema":
        return this.#lowerInner(value, path, use);
      case "schema-list":
        return this.#lowerList(value as readonly JsonValue[], use);
      case "schema-or-list":
        if (!Array.isArray(value)) return this.#lowerInner(value, path, use);
        if (this.#draft === "draft-07") return this.#lowerList(value, use);
        this.#refuse(path, "must be a schema (2020-12 has prefixItems for lists: normalizeSchema maps it)");
        return undefined;
      case "pattern":
        this.#checkPattern(String(value), path);
        return value;
      case "format":
        // Unknown formats are annotations.
        return isKnownFormat(String(value)) ? value : undefined;
      default:
        this.#budget.spend(path, costOf(keyword.shape, value));
        return value;
    }
  }

  #lowerInner(schema: JsonValue, path: string, { keyword, depth, inPlace, scope }: KeywordUse): LoweredNode {
    const before = this.#budget.spent;
    const lowered = this.#lower(schema, path, { depth: depth + 1, inPlace, scope });
    const own = this.#budget.spent - before;
    return keyword.inPlace || own <= MAX_UNCOUNTED_KEYWORDS ? lowered : withWork(lowered, own);
  }

  #lowerList(list: readonly JsonValue[], use: KeywordUse): LoweredNode[] {
    return list.map((item, index) => {
      const path = `${use.path}/${index}`;
      this.#budget.spend(path);
      return this.#lowerInner(item, path, use);
    });
  }

  #lowerMap(lowered: Record<string, unknown>, use: KeywordUse): void {
    const { name, value } = use;
    for (const key of Object.keys(value as JsonObject)) {
      const member = (value as JsonObject)[key] as JsonValue;
      const path = `${use.path}/${escapePointer(key)}`;
      this.#budget.spend(path);
      if (name === "patternProperties") this.#checkPattern(key, path);
      const isNames = name === "dependencies" && unfitValue("names", member) === undefined;
      const inner = isNames ? member : this.#lowerInner(member, path, use);
      // In a literal, this name would set the prototype.
      if (key === "__proto__") {
        this.#patterns.set(PROTO_PATTERN, compilePattern(PROTO_PATTERN));
        addMember(lowered, "patternProperties", PROTO_PATTERN, inner);
      } else addMember(lowered, name, key, inner);
    }
    lowered[name] ??= {};
  }

  #lowerReference(lowered: Record<string, unknown>, use: KeywordUse): void {
    const { name, value, schema, path, inPlace, scope } = use;
    const reference = String(value);
    const target =
      name === "$dynamicRef"
        ? this.#references.resolveDynamic(schema, reference, scope)
        : this.#references.resolve(schema, reference);
    if (target === undefined || !isSchema(target.schema)) {
      this.#refuse(
        path,
        `'${reference.slice(0, 128)}' does not refer to a known schema, and schemas are never fetched`,
      );
    } else if (Object.hasOwn(lowered, "$ref")) {
      this.#refuse(path, "two references in one schema are not supported");
    } else {
      const definition = this.#definitions.nameOf(target, scope);
      this.#hasReferences = true;
      if (inPlace) this.#graph.refer(this.#definition, definition, path);
      lowered["$ref"] = `#/$defs/${definition}`;
    }
  }

  #checkPattern(pattern: string, path: string): void {
    try {
      let compiled = this.#patterns.get(pattern);
      if (compiled === undefined) {
        compiled = compilePattern(pattern);
        this.#patternBudget.spend(path, compiled);
        this.#patterns.set(pattern, compiled);
      }
      this.#budget.spend(path, patternCost(compiled));
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
      this.#refuse(path, error.message);
    }
  }

  #refuse(path: string, reason: string): void {
    this.#problems.push({ path, reason });
  }
}

/**
 * Returns whether ajv compiles a schema to code that accepts values that it must not. It takes the missing name `""` for
 * none, does not look for `contains` in an empty array if there is a list of schemas for items, and takes `constructor`
 * and the like for evaluated members.
 */
function isMiscompiled(schema: Schema): boolean {
  if ("unevaluatedProperties" in schema || "unevaluatedItems" in schema) return true;
  if ("contains" in schema && ("prefixItems" in schema || Array.isArray(schema["items"]))) return true;
  const lists = [
    schema["required"],
    ...valuesOf(schema["dependentRequired"]),
    ...valuesOf(schema["dependencies"]),
  ];
  return lists.some((names) => Array.isArray(names) && names.includes(""));
}

function valuesOf(lists: unknown): readonly unknown[] {
  return typeof lists === "object" && lists !== null ? Object.values(lists) : [];
}
