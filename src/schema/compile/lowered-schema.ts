import type { JsonObject, JsonValue } from "../../json/value.ts";
import type { Pattern } from "../../patterns/pattern.ts";
import type { Draft, Keyword } from "../keywords.ts";
import type { DynamicScope } from "./references.ts";

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
