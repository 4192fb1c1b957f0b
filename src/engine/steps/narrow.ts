import { boundGrant, boundSandbox } from "../bounds/upper-bound.ts";
import { denial } from "../failure/refusal.ts";
import { shownName } from "../in-flight/shown-name.ts";
import type { AuthorisedCall, GrantedCall } from "../in-flight/state.ts";
import { narrowGrant } from "../nested/nested.ts";
import { openProtected } from "./protected.ts";

/**
 * Sets `grant` to the policy's grant, narrowed to the caller's, or else to the upper bound of the context. The sandboxes
 * of the upper bound hold for every call.
 *
 * @throws {Refusal} `permission_denied` if the upper bound allows none of the sandboxes that the policy accepts, or a
 *   declared path is in a protected place that the grant does not open, and there is no person to ask.
 */
export function narrow(call: AuthorisedCall): undefined {
  const { caller, granted, decision } = call;
  const { upperBound } = call.ctx;
  const bound = upperBound === undefined ? granted : boundSandbox(granted, upperBound, decision.sandboxes);
  if (bound === undefined) {
    const reason = "the upper bound allows none of the sandboxes that the policy accepts";
    throw denial(shownName(call), "policy", reason);
  }
  // The limits and capabilities of a caller's grant are already within the upper bound.
  if (caller !== undefined) call.grant = narrowGrant(bound, caller);
  else call.grant = upperBound === undefined ? bound : boundGrant(bound, upperBound);
  if (call.declaredPaths !== undefined) openProtected(call as GrantedCall);
}
