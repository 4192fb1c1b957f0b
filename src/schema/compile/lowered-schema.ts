import type { JsonObject, JsonValue } from "../../json/value.ts";
import type { DynamicScope } from "../dynamic-scope.ts";
import type { Draft, Keyword } from "../keywords.ts";

/** A schema as the compiler takes it. */
export type LoweredNode = boolean | Readonly<Record<string, unknown>>;

/** A schema made ready for the compiler: no annotation, every reference a plain one into `$defs`. */
export interface LoweredSchema {
  readonly draft: Draft;
  readonly schema: LoweredNode;
  /** How many keywords it has. */
  readonly keywords: number;
}

/** The keyword, ours and nobody else's, that counts the work of the schema in which it stands. */
export const WORK_KEYWORD = "sandgate-work";

/** One use of a keyword, on its way from the definition in which it stands. */
export interface KeywordUse {
  readonly name: string;
  readonly keyword: Keyword;
  readonly value: JsonValue;
  readonly schema: JsonObject;
  readonly path: string;
  readonly depth: number;
  readonly scope: DynamicScope;
  /** Whether every keyword on the way, this one included, is about the same value. */
  readonly inPlace: boolean;
}

/** A schema that counts its work. */
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
  lowered[name] = { ...(lowered[name] as object | undefined), [key]: member };
}
