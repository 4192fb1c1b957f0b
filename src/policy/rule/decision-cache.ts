import type { PolicyDecision } from "../policy.ts";
import type { Permission } from "./compiled-rule.ts";

/** The decision for one set of matching permissions. */
export interface CachedDecision {
  /** `undefined` until it is first needed. */
  decision: PolicyDecision | undefined;
  /** The same permissions and one more. */
  readonly further: Map<Permission, CachedDecision>;
}

/** Maximum number of entries for one tool. Only arguments chosen to fill the cache lead to more. */
const MAX_ENTRIES = 256;

/**
 * The decisions on calls of one tool, by the set of matching permissions. It is a tree with one level for
 * each permission, which costs less than building a text key for each call.
 */
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
