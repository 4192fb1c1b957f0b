import { isJsonObject, type JsonValue } from "../../json/value.ts";
import type { PolicyTool } from "../file/policy-tool.ts";
import type { AllowedUse } from "../rule/rule.ts";

/** A policy in Cedar as data, of which its `sources` consist. */
export interface CedarData {
  /** The policies, in Cedar's syntax. */
  readonly cedar: string;
  readonly grants: Readonly<Record<string, AllowedUse>>;
  /** The tools of which the schema is made, by their names. */
  readonly tools: readonly Pick<PolicyTool, "name" | "inputSchema">[];
}

/** Whether one of the `sources` of a policy is that of a policy in Cedar. */
export function isCedarData(source: JsonValue): boolean {
  return isJsonObject(source) && typeof source["cedar"] === "string";
}
