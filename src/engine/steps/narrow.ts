import { narrowGrant } from "../call/nested.ts";
import type { AuthorisedCall } from "../call/state.ts";
import { boundGrant } from "../call/upper-bound.ts";

/** Sets `grant` to the policy's grant, narrowed to the caller's, or else to the upper bound of the context. */
export function narrow(call: AuthorisedCall): undefined {
  const { caller, granted } = call;
  const { upperBound } = call.ctx;
  // The grant of a caller is already within the upper bound.
  if (caller !== undefined) call.grant = narrowGrant(granted, caller);
  else call.grant = upperBound === undefined ? granted : boundGrant(granted, upperBound);
}
