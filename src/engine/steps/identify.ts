import { describeThrown } from "../../base/thrown.ts";
import { checkPrincipal, type Principal } from "../../policy/principal.ts";
import { denial } from "../failure/refusal.ts";
import { shownName } from "../in-flight/shown-name.ts";
import type { CallState } from "../in-flight/state.ts";

/**
 * Refuses a call whose context has a principal that is not valid: `principal` was not set for it.
 *
 * @throws {Refusal} `permission_denied`.
 */
export function identify(call: CallState): undefined {
  const { ctx, principal } = call;
  if (ctx.principal === undefined || principal !== undefined) return;
  throw denial(shownName(call), "principal", flawOf(ctx.principal));
}

function flawOf(principal: Principal): string {
  try {
    checkPrincipal(principal);
    return "the context's principal was invalid when the call arrived";
  } catch (thrown) {
    return describeThrown(thrown).message;
  }
}
