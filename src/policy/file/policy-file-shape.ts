import { described } from "../../config/described.ts";
import { compileShape, type Shape } from "../../config/shape.ts";
import type { JsonObject } from "../../json/value.ts";
import { INVARIANTS } from "../proof/invariant-shape.ts";
import { WRITTEN_LIMITS } from "../rule/limit-shape.ts";
import { policySchema } from "../rule/rule-shape.ts";

let shape: Shape | undefined;

/** Returns the JSON Schema of a policy in a file. */
export function policyFileSchema(): JsonObject {
  return policySchema(WRITTEN_LIMITS, {
    invariants: described(
      INVARIANTS,
      "What must hold for every decision. `sandgate check` proves it. Default: none.",
    ),
  });
}

/** The shape of a policy in a file, in which limits have units, and which can have invariants. */
export const policyFileShape: Shape = (value) => {
  shape ??= compileShape(policyFileSchema());
  return shape(value);
};
