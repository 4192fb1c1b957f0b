import type * as Cedar from "@cedar-policy/cedar-wasm/nodejs";
import { isJsonObject, type JsonValue } from "../../json/value.ts";
import type { PolicyTool } from "../file/checked-rule.ts";
import type { AllowedUse } from "../rule/rule.ts";

/** A policy in Cedar as data, of which its `sources` consist. */
export interface CedarData {
  /** The policies, in Cedar's syntax. */
  readonly cedar: string;
  readonly grants: Readonly<Record<string, AllowedUse>>;
  /** The tools of which the schema is made, by their names. */
  readonly tools: readonly Pick<PolicyTool, "name" | "inputSchema">[];
}

export type CedarLibrary = typeof Cedar;

/**
 * Loads `@cedar-policy/cedar-wasm`, an optional peer.
 *
 * @throws {Error} if it is not installed.
 */
export async function loadCedar(): Promise<CedarLibrary> {
  try {
    return await import("@cedar-policy/cedar-wasm/nodejs");
  } catch (cause) {
    throw new Error("Cedar policies need the package @cedar-policy/cedar-wasm: install its version 4.13", {
      cause,
    });
  }
}

/** Whether one of the `sources` of a policy is that of a policy in Cedar. */
export function isCedarData(source: JsonValue): boolean {
  return isJsonObject(source) && typeof source["cedar"] === "string";
}
