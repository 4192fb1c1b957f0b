import { compileShape, type Shape } from "../../config/shape.ts";
import { INVARIANTS } from "../proof/invariant-shape.ts";
import { policySchema, WRITTEN_LIMITS } from "../rule/rule-shape.ts";

let shape: Shape | undefined;

/** The shape of a policy in a file, in which limits have units, and which can have invariants. */
export const policyFileShape: Shape = (value) => {
  shape ??= compileShape(policySchema(WRITTEN_LIMITS, { invariants: INVARIANTS }));
  return shape(value);
};
