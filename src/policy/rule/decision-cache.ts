import type { PolicyDecision } from "../policy.ts";
import type { Permission } from "./compiled-rule.ts";

/** Some permissions that bind together. */
export interface CachedDecision {
  /** What they come to; made when a call first asks. */
  decision: PolicyDecision | undefined;
  /** The same permissions and one more. */
  readonly further: Map<Permission, CachedDecision>;
}

/** A tool has more combinations of rules than are worth keeping only if its arguments are made for it. */
const MAX_ENTRIES = 256;

/** What was decided about one tool, by the permissions that bind: a tree, since a text as key would cost more. */
export class DecisionCache {
  #none = unbound();
  #count = 0;

  /** The binding of no permission at all. */
  get none(): CachedDecision {
    return this.#none;
  }

  /** A binding with one more permission. */
  with(permission: Permission, binding: CachedDecision): CachedDecision {
    return binding.further.get(permission) ?? this.#add(permission, binding);
  }

  #add(permission: Permission, binding: CachedDecision): CachedDecision {
    if (++this.#count > MAX_ENTRIES) {
      this.#none = unbound();
      this.#count = 0;
    }
    const further = unbound();
    binding.further.set(permission, further);
    return further;
  }
}

function unbound(): CachedDecision {
  return { decision: undefined, further: new Map() };
}
