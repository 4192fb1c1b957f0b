import type { CedarData } from "../../policy/cedar/cedar-data.ts";
import type { CedarPolicy } from "../../policy/cedar/cedar-policy.ts";
import { type CedarVariants, openCedarVariants } from "../../policy/cedar/open-cedar-data.ts";
import { deny, type PolicyDecision } from "../../policy/decision.ts";
import type { PolicySubject, RuntimePolicy } from "../../policy/policy.ts";
import type { RecordedRequest } from "../read/recorded-calls.ts";

const UNDECIDED = deny("the policies are invalid for the tool as it was recorded");

/**
 * A policy in Cedar that decides on recorded calls. Its schema has each tool as it was recorded, since those of today can
 * have other arguments.
 */
export class RecordedCedarPolicy implements RuntimePolicy {
  readonly #variants: CedarVariants;
  /** `undefined` if Cedar does not accept the policies for the tool as it was recorded. */
  readonly #policies = new Map<PolicySubject, CedarPolicy | undefined>();

  private constructor(variants: CedarVariants) {
    this.#variants = variants;
  }

  /** @throws {Error} if `@cedar-policy/cedar-wasm` is not installed. */
  static async open(data: CedarData): Promise<RecordedCedarPolicy> {
    return new RecordedCedarPolicy(await openCedarVariants(data));
  }

  get readsSession(): boolean {
    return this.#variants.base.readsSession;
  }

  check(request: RecordedRequest): PolicyDecision {
    const { tool } = request;
    if (!this.#policies.has(tool)) this.#policies.set(tool, this.#variants.openFor(tool));
    const policy = this.#policies.get(tool);
    if (policy !== undefined) return policy.check(request);
    request.missing ??= "tool changed";
    return UNDECIDED;
  }
}
