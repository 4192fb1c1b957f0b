import { unescapePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import type { Pattern } from "../../patterns/pattern.ts";
import { MAX_DYNAMIC_ANCHORS, MAX_ID_LENGTH, MAX_SCHEMA_DEPTH } from "../bounds.ts";
import type { Draft, Keyword } from "../keywords.ts";
import { SchemaError } from "../schema-error.ts";
import { subschemas } from "../subschemas.ts";

/** A schema or subschema for the compiler. */
export type LoweredNode = boolean | Readonly<Record<string, unknown>>;

/** A schema for the compiler: without annotations, and with plain references into `$defs` only. */
export interface LoweredSchema {
  readonly draft: Draft;
  readonly schema: LoweredNode;
  /** The number of its keywords. */
  readonly keywords: number;
  /** Whether it has to be interpreted, since compiled code would accept what it must not. */
  readonly isMiscompiled: boolean;
  /** Its compiled patterns, by their source. */
  readonly patterns: ReadonlyMap<string, Pattern>;
}

/** The internal keyword that charges the work of its schema. */
export const WORK_KEYWORD = "sandgate-work";

/**
 * The internal keyword that charges the work of all items, members and characters of the value to which its schema
 * applies.
 */
export const CONTENT_KEYWORD = "sandgate-content";

/** The work of a schema for each item, member and character of a value. */
export interface ContentWork {
  readonly item: number;
  readonly member: number;
  readonly character: number;
}

/** One use of a keyword in a definition. */
export interface KeywordUse {
  readonly name: string;
  readonly keyword: Keyword;
  readonly value: JsonValue;
  readonly schema: JsonObject;
  readonly path: string;
  readonly depth: number;
  readonly scope: DynamicScope;
  /** Whether all keywords from the definition down to this one apply to the same value. */
  readonly inPlace: boolean;
}

/** Maps each `$dynamicAnchor` to its schema in the outermost resource that was entered. */
export class DynamicScope {
  /** Scopes with the same key have the same bindings. */
  readonly key: string;
  readonly #bindings: ReadonlyMap<string, JsonObject>;

  constructor(key = "", bindings: ReadonlyMap<string, JsonObject> = new Map()) {
    this.key = key;
    this.#bindings = bindings;
  }

  get(anchor: string): JsonObject | undefined {
    return this.#bindings.get(anchor);
  }

  /** Returns the scope inside a resource. It adds the anchors that are not bound yet. */
  enter(resource: string, anchors: ReadonlyMap<string, JsonObject>): DynamicScope {
    const added = [...anchors].filter(([anchor]) => !this.#bindings.has(anchor));
    if (added.length === 0) return this;
    return new DynamicScope(`${this.key} ${resource}`, new Map([...this.#bindings, ...added]));
  }
}

/** The base of a schema without an `$id`. */
const NO_BASE = "schema:///";

/** The target of a reference. */
export interface Target {
  readonly schema: JsonValue;
  readonly path: string;
}

interface SchemaLocation {
  /** The base URI of the references in the schema. */
  readonly base: string;
  readonly path: string;
}

/**
 * Resolves the references of a schema (JSON Schema 2020-12 Core, section 8.2) by pointer, anchor or `$id`, within the
 * schema itself and the shared schemas. Nothing is ever fetched.
 */
export class References {
  readonly #draft: Draft;
  readonly #places = new Map<JsonObject, SchemaLocation>();
  readonly #resources = new Map<string, JsonObject>();
  readonly #anchors = new Map<string, JsonObject>();
  /** By resource and name. */
  readonly #dynamicAnchors = new Map<string, Map<string, JsonObject>>();
  #dynamicAnchorCount = 0;
  readonly #shared: Readonly<Record<string, JsonObject>>;

  constructor(root: JsonObject, draft: Draft, shared: Readonly<Record<string, JsonObject>> = {}) {
    this.#draft = draft;
    this.#shared = shared;
    this.#index(root, NO_BASE, "");
  }

  /** Resolves a `$ref` of the schema `from`; `undefined` if it has no target. */
  resolve(from: JsonObject, reference: string): Target | undefined {
    const base = this.#places.get(from)?.base ?? NO_BASE;
    const uri = join(base, reference);
    if (uri === undefined) return undefined;
    const [resource = "", fragment = ""] = uri.split("#", 2);
    const document = this.#resources.get(resource) ?? this.#adopt(resource);
    if (document === undefined) return undefined;
    if (fragment !== "" && !fragment.startsWith("/")) {
      return this.#target(this.#anchors.get(`${resource}#${fragment}`));
    }
    return this.#follow(document, fragment);
  }

  /**
   * Resolves a `$dynamicRef` (section 8.2.3.2): if its initial target has that dynamic anchor, to the schema that the
   * scope binds to the anchor.
   */
  resolveDynamic(from: JsonObject, reference: string, scope: DynamicScope): Target | undefined {
    const target = this.resolve(from, reference);
    const anchor = reference.split("#", 2)[1] ?? "";
    const isDynamic = isJsonObject(target?.schema) && target.schema["$dynamicAnchor"] === anchor;
    return isDynamic ? this.#target(scope.get(anchor) ?? (target.schema as JsonObject)) : target;
  }

  /** Returns the scope inside a schema: that of its resource, entered from the given scope. */
  enter(scope: DynamicScope, schema: JsonValue): DynamicScope {
    const base = isJsonObject(schema) ? this.#places.get(schema)?.base : undefined;
    const anchors = base === undefined ? undefined : this.#dynamicAnchors.get(base);
    return base === undefined || anchors === undefined ? scope : scope.enter(base, anchors);
  }

  /** Indexes a shared schema when a reference first leads to it. */
  #adopt(uri: string): JsonObject | undefined {
    const given = Object.hasOwn(this.#shared, uri) ? this.#shared[uri] : undefined;
    if (given === undefined) return undefined;
    this.#resources.set(uri, given);
    this.#index(given, uri, uri);
    return given;
  }

  #follow(document: JsonObject, pointer: string): Target | undefined {
    let place = this.#places.get(document);
    let schema: JsonValue | undefined = document;
    for (const step of pointer.split("/").slice(1)) {
      const name = unescapeStep(step);
      if (typeof schema !== "object" || schema === null || !Object.hasOwn(schema, name)) return undefined;
      schema = (schema as JsonObject)[name];
      if (isJsonObject(schema)) place = this.#places.get(schema) ?? place;
    }
    if (schema === undefined) return undefined;
    // Schemas below unknown keywords have not been indexed yet.
    if (isJsonObject(schema) && !this.#places.has(schema)) {
      this.#index(schema, place?.base ?? NO_BASE, `${this.#places.get(document)?.path ?? ""}${pointer}`);
    }
    return isJsonObject(schema) ? this.#target(schema) : { schema, path: pointer };
  }

  #target(schema: JsonObject | undefined): Target | undefined {
    return schema === undefined ? undefined : { schema, path: this.#places.get(schema)?.path ?? "" };
  }

  #index(schema: JsonObject, base: string, path: string, depth = 0): void {
    if (this.#places.has(schema) || depth > MAX_SCHEMA_DEPTH) return;
    const { $id, $anchor, $dynamicAnchor } = schema;
    this.#checkNames({ $id, $anchor, $dynamicAnchor }, path);
    const isDraft7 = this.#draft === "draft-07";
    let own = base;
    // In draft 7, the siblings of a reference are ignored, and an $id can be an anchor.
    if (typeof $id === "string" && !(isDraft7 && Object.hasOwn(schema, "$ref"))) {
      if (isDraft7 && $id.startsWith("#")) this.#addAnchor(`${base}${$id}`, schema);
      else own = (join(base, $id) ?? base).replace(/#$/, "");
    }
    if (own !== base || depth === 0) this.#addResource(own, schema);
    if (depth === 0) this.#addResource(base, schema);
    if (typeof $anchor === "string") this.#addAnchor(`${own}#${$anchor}`, schema);
    if (typeof $dynamicAnchor === "string") {
      this.#addAnchor(`${own}#${$dynamicAnchor}`, schema);
      const inResource = this.#dynamicAnchors.get(own) ?? new Map<string, JsonObject>();
      if (!inResource.has($dynamicAnchor)) inResource.set($dynamicAnchor, schema);
      this.#dynamicAnchors.set(own, inResource);
    }
    this.#places.set(schema, { base: own, path });
    for (const { path: step, schema: inner } of subschemas(schema)) {
      if (isJsonObject(inner)) this.#index(inner, own, path + step, depth + 1);
    }
  }

  /** @throws {SchemaError} if a name is too long, or there are too many dynamic anchors. */
  #checkNames(names: Readonly<Record<string, unknown>>, path: string): void {
    for (const [keyword, name] of Object.entries(names)) {
      if (typeof name !== "string" || name.length <= MAX_ID_LENGTH) continue;
      throw new SchemaError([
        { path: `${path}/${keyword}`, reason: `longer than ${MAX_ID_LENGTH} characters` },
      ]);
    }
    if (names["$dynamicAnchor"] === undefined || ++this.#dynamicAnchorCount <= MAX_DYNAMIC_ANCHORS) return;
    throw new SchemaError([{ path, reason: `more than ${MAX_DYNAMIC_ANCHORS} dynamic anchors` }]);
  }

  // If two schemas claim the same name, the outer or first one wins.
  #addResource(uri: string, schema: JsonObject): void {
    if (!this.#resources.has(uri)) this.#resources.set(uri, schema);
  }

  #addAnchor(uri: string, schema: JsonObject): void {
    if (!this.#anchors.has(uri)) this.#anchors.set(uri, schema);
  }
}

/** Resolves a reference against its base (RFC 3986, section 5); `undefined` if that fails. */
function join(base: string, reference: string): string | undefined {
  return URL.parse(reference, base)?.href;
}

function unescapeStep(step: string): string {
  let decoded = step;
  try {
    decoded = decodeURIComponent(step);
  } catch {
    // The step is not percent-encoded.
  }
  return unescapePointer(decoded);
}

/** Returns the schema with a keyword that charges its work. */
export function withWork(node: LoweredNode, work: number): LoweredNode {
  return typeof node === "boolean" ? node : { ...node, [WORK_KEYWORD]: work };
}

/** Adds a member to an object-valued keyword. */
export function addMember(
  lowered: Record<string, unknown>,
  name: string,
  key: string,
  member: unknown,
): void {
  lowered[name] ??= {};
  (lowered[name] as Record<string, unknown>)[key] = member;
}
