import { adopt, isThenable } from "../base/promises.ts";
import { describeThrown } from "../base/thrown.ts";
import type { TrackedFields } from "./call-history.ts";
import { compareDecisions, type DecisionChange, directionOf } from "./compare-decisions.ts";
import {
  checkDecision,
  type PolicyDecision,
  type PolicyPlace,
  type PolicyRequest,
  type PolicySubject,
  type RuntimePolicy,
} from "./policy.ts";
import type { Principal } from "./principal.ts";

/** A call on which a candidate decides differently from the active policy. */
export interface PolicyDifference {
  readonly request: PolicyRequest;
  /** What was decided. */
  readonly active: PolicyDecision;
  /** What the candidate would have decided; absent if it failed. */
  readonly candidate?: PolicyDecision;
  /**
   * `wider`: the candidate permits what the active policy does not, or without a person. `narrower`: the active policy
   * does so. `other`: each does, or neither, such as with another question. `failed`: the candidate did not decide, and
   * as the active policy it would have denied the call.
   */
  readonly change: "wider" | "narrower" | "other" | "failed";
  /** What the change consists of, as `diffPolicies` counts it. None if the candidate failed. */
  readonly changes: readonly DecisionChange[];
  /** Why the candidate failed, such as the message of its error; absent if it did not. */
  readonly failure?: string;
}

/** Maximum number of calls whose comparison waits for an answer. */
const MAX_UNDER_WAY = 1_000;
/** How long an answer is waited for. */
const MAX_WAIT_MS = 10_000;

/**
 * Tries out a candidate: the active policy decides, and the candidate is asked about the same calls. Each difference is
 * reported, once both have answered.
 *
 * The decision does not depend on what the candidate answers or throws, whether it answers at all, or what the listener
 * does. A candidate that answers synchronously runs before `check` returns, as does the listener then, so that their time
 * is part of the call's: a `RulePolicy` takes about as long as the active one. A candidate that returns promises has
 * 10 s, and at most 1,000 calls wait for it; those beyond are not compared, and counted in {@link skipped}.
 */
export class ShadowPolicy implements RuntimePolicy {
  /** As the active policy explains its decisions; absent if it does not. */
  readonly explain?: NonNullable<RuntimePolicy["explain"]>;
  readonly #active: RuntimePolicy;
  readonly #candidate: RuntimePolicy;
  readonly #listener: (difference: PolicyDifference) => unknown;
  #underWay = 0;
  #skipped = 0;

  /** @param listener Is called with each difference. What it throws is ignored, also as a rejection. */
  constructor(
    active: RuntimePolicy,
    candidate: RuntimePolicy,
    listener: (difference: PolicyDifference) => unknown,
  ) {
    this.#active = active;
    this.#candidate = candidate;
    this.#listener = listener;
    if (active.explain !== undefined) this.explain = active.explain.bind(active);
  }

  /** Whether the active policy could. */
  mayAllow(tool: PolicySubject, principal: Principal | undefined): boolean {
    return this.#active.mayAllow?.(tool, principal) ?? true;
  }

  /** That of the active policy. */
  get revision(): string | undefined {
    return this.#active.revision;
  }

  /** Those of the active policy. */
  get sources(): readonly string[] | undefined {
    return this.#active.sources;
  }

  /** Those of the active policy. */
  get places(): readonly (PolicyPlace | undefined)[] | undefined {
    return this.#active.places;
  }

  /** Whether one of the policies does. */
  get usesHistory(): boolean {
    return this.#active.usesHistory === true || usesHistory(this.#candidate);
  }

  /** Those of both policies. */
  get trackedFields(): TrackedFields | undefined {
    const all = [this.#active.trackedFields, trackedFields(this.#candidate)].filter(
      (each) => each !== undefined,
    );
    if (all.length < 2) return all[0];
    return {
      sources: all.flatMap(({ sources }) => sources),
      contents: all.flatMap(({ contents }) => contents),
      untrusted: all.flatMap(({ untrusted = [] }) => untrusted),
    };
  }

  /** How many calls were not compared, because too many already waited for the candidate. */
  get skipped(): number {
    return this.#skipped;
  }

  check(request: PolicyRequest): PolicyDecision | Promise<PolicyDecision> {
    // If it throws, the call is denied, and there is nothing to compare.
    const decision = this.#active.check(request);
    try {
      this.#shadow(request, decision);
    } catch {
      // Getters and proxies of a foreign policy can throw anywhere. The decision stands.
    }
    return decision;
  }

  #shadow(request: PolicyRequest, decision: unknown): void {
    const answer = this.#ask(request);
    if (!isThenable(decision) && answer.isLater !== true) {
      this.#compare(request, decision, answer);
      return;
    }
    if (this.#underWay < MAX_UNDER_WAY) {
      this.#underWay++;
      void this.#compareLater(request, decision, answer);
      return;
    }
    this.#skipped++;
    // Unhandled rejections would end the process.
    for (const each of [decision, answer.returned]) adopt(each).catch(() => {});
  }

  #ask(request: PolicyRequest): Answer {
    try {
      const returned: unknown = this.#candidate.check(request);
      return { returned, isLater: isThenable(returned) };
    } catch (error) {
      return failed(error);
    }
  }

  /** Never rejects. */
  async #compareLater(
    request: PolicyRequest,
    decision: unknown,
    { returned, failure }: Answer,
  ): Promise<void> {
    const late: Answer = { failure: `no decision within ${MAX_WAIT_MS} ms` };
    const { promise: timeout, resolve } = Promise.withResolvers<"timeout">();
    const timer = setTimeout(resolve, MAX_WAIT_MS, "timeout");
    timer.unref();
    // Awaited in turn, so that a policy that never answers does not retain the request or the other answer.
    const answering = adopt(returned).then((value): Answer => ({ returned: value, failure }), failed);
    const deciding = adopt(decision).then(
      (value) => ({ value }),
      () => undefined,
    );
    const decided = await Promise.race([deciding, timeout]);
    const answer = await Promise.race([answering, timeout]);
    clearTimeout(timer);
    this.#underWay--;
    if (typeof decided !== "object") return;
    try {
      this.#compare(request, decided.value, answer === "timeout" ? late : answer);
    } catch {
      // As for a synchronous answer.
    }
  }

  /** @throws if the decision of the active policy is not valid, so that the call is denied. */
  #compare(request: PolicyRequest, decision: unknown, answer: Answer): void {
    const active = checkDecision(decision as PolicyDecision);
    const { candidate, failure } = readAnswer(answer);
    if (candidate === undefined) {
      this.#report({ request, active, change: "failed", changes: [], failure });
      return;
    }
    const changes = compareDecisions(active, candidate);
    if (changes.length > 0) {
      this.#report({ request, active, candidate, change: directionOf(changes), changes });
    }
  }

  #report(difference: PolicyDifference): void {
    const returned = this.#listener(Object.freeze(difference));
    if (isThenable(returned)) adopt(returned).catch(() => {});
  }
}

/** What the candidate returned, or why it did not return anything. */
interface Answer {
  readonly returned?: unknown;
  /** Whether `returned` is a promise. */
  readonly isLater?: boolean;
  readonly failure?: string | undefined;
}

function failed(thrown: unknown): Answer {
  return { failure: describeThrown(thrown).detail };
}

function readAnswer({ returned, failure }: Answer): {
  readonly candidate?: PolicyDecision;
  readonly failure: string;
} {
  if (failure !== undefined) return { failure };
  try {
    return { candidate: checkDecision(returned as PolicyDecision), failure: "" };
  } catch (error) {
    return { failure: describeThrown(error).detail };
  }
}

function trackedFields(candidate: RuntimePolicy): TrackedFields | undefined {
  try {
    return candidate.trackedFields;
  } catch {
    return undefined;
  }
}

function usesHistory(candidate: RuntimePolicy): boolean {
  try {
    return candidate.usesHistory === true;
  } catch {
    return false;
  }
}
