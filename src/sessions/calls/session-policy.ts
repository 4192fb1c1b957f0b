import { isThenable, type MaybePromise, toPromise } from "../../base/promises.ts";
import {
  type AskDecision,
  allow,
  ask,
  checkDecision,
  deny,
  type PolicyDecision,
} from "../../policy/decision.ts";
import type { PolicyRequest, RuntimePolicy } from "../../policy/policy.ts";
import type { ToolTraits } from "../../tool/tool-traits.ts";
import { hearsApprovals, type LevelBasis, levelOf } from "../deciding/levels.ts";
import { namesUrls } from "../deciding/named-urls.ts";
import type { MessageCore } from "./core.ts";

/**
 * The policy of one message of a session: the embedder's, with the session's quotas and levels over it. It lets no call
 * run that the embedder's denies. It lets a call run without a question that the embedder's asks about only if that one
 * accepts a remembered approval, and there is one.
 */
export class SessionPolicy implements RuntimePolicy {
  readonly #message: MessageCore;

  constructor(message: MessageCore) {
    this.#message = message;
  }

  get revision(): string | undefined {
    return this.#message.session.policy.revision;
  }

  get sources(): readonly string[] | undefined {
    return this.#message.session.policy.sources;
  }

  check(request: PolicyRequest): MaybePromise<PolicyDecision> {
    const decision = this.#check(request);
    const { provenance } = this.#message.session;
    if (provenance === undefined) return decision;
    const note = (decided: PolicyDecision): PolicyDecision => {
      if (runs(decided, request)) provenance.noteArguments(request.input);
      return decided;
    };
    return decision instanceof Promise ? decision.then(note) : note(decision);
  }

  #check(request: PolicyRequest): MaybePromise<PolicyDecision> {
    const { session } = this.#message;
    // Looked up before the policy, which may take its time, answers.
    const traits = session.registry.find(request.tool.name)?.tool ?? NO_TRAITS;
    const history = this.#message.historyOf(request);
    const asked = history === undefined ? request : Object.freeze({ ...request, history });
    const answer: unknown = session.policy.check(asked);
    if (isThenable(answer)) return toPromise(answer).then((late) => this.#count(read(late), request, traits));
    return this.#count(read(answer), request, traits);
  }

  #count(decision: PolicyDecision, request: PolicyRequest, traits: ToolTraits): MaybePromise<PolicyDecision> {
    // A call that a person confirmed was counted before, and its level is known.
    if (decision.decision === "deny" || request.confirmedBy !== undefined) return decision;
    const { quotas } = this.#message.session;
    const counted = quotas === undefined ? undefined : this.#message.count(request, quotas);
    if (counted === undefined) return this.#decide(decision, request, traits);
    return counted.then(() => this.#decide(decision, request, traits));
  }

  #decide(
    decision: Exclude<PolicyDecision, { decision: "deny" }>,
    request: PolicyRequest,
    traits: ToolTraits,
  ): MaybePromise<PolicyDecision> {
    const { session } = this.#message;
    const basis: LevelBasis = {
      policy: decision.decision,
      remember: decision.decision === "ask" && decision.remember === "session",
      mode: session.mode,
      sideEffects: request.tool.sideEffects,
      configured: session.settings.tools.get(request.tool.name),
      own: namesUrls(traits, request, decision.grant) ? undefined : traits.confirm,
      alwaysConfirm: traits.alwaysConfirm === true,
      approved: false,
      trusted: session.trusted,
      classes: session.settings.classes,
    };
    const level = levelOf(basis);
    if (level === "auto") return decision;
    if (level === "deny") {
      return deny("the session's configuration denies the tool", { policyDecision: decision.decision });
    }
    const hears = hearsApprovals(basis);
    const { approvalTable, place } = session;
    const approval = hears ? approvalTable.find(place, request) : undefined;
    if (approval === undefined) return raise(decision, request, hears);
    const used = approvalTable.use(approval);
    const decide = (isCovered: boolean): PolicyDecision =>
      isCovered ? lift(decision) : raise(decision, request, hears);
    return used instanceof Promise ? used.then(decide) : decide(used);
  }
}

const NO_TRAITS: ToolTraits = Object.freeze({});

/** Whether a call can run now: `ask` stands for `allow` once a person has confirmed it. */
function runs({ decision }: PolicyDecision, { confirmedBy }: PolicyRequest): boolean {
  return decision === "allow" || (decision === "ask" && confirmedBy !== undefined);
}

function read(answer: unknown): PolicyDecision {
  return checkDecision(answer as PolicyDecision);
}

/** Allows a call that an approval covers. */
function lift(decision: Exclude<PolicyDecision, { decision: "deny" }>): PolicyDecision {
  if (decision.decision === "allow" || decision.grant === undefined) return decision;
  const { grant, rules, sandboxes } = decision;
  return allow(grant, { ...(rules && { rules }), ...(sandboxes && { sandboxes }), policyDecision: "ask" });
}

/** Has a person asked about a call. */
function raise(
  decision: Exclude<PolicyDecision, { decision: "deny" }>,
  { tool }: PolicyRequest,
  hears: boolean,
): AskDecision {
  const { grant, rules, sandboxes } = decision;
  const question =
    decision.decision === "ask" ? decision.question : `Run the tool '${tool.name}' (${tool.sideEffects})?`;
  return ask(question, {
    ...(grant && { grant }),
    ...(rules && { rules }),
    ...(sandboxes && { sandboxes }),
    ...(hears && { remember: "session" }),
    ...(decision.decision === "allow" && { policyDecision: "allow" }),
  });
}
