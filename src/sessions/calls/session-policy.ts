import { isThenable, type MaybePromise, toPromise } from "../../base/promises.ts";
import { canStage } from "../../engine/call/context.ts";
import { Refusal } from "../../engine/refusal.ts";
import { lookUpAll, parsePointer } from "../../json/pointer.ts";
import type { ExecutionGrant } from "../../policy/grant/execution-grant.ts";
import { isWithinOrigin, type OriginPattern, originOf, parseOrigin } from "../../policy/grant/net-grant.ts";
import {
  type AskDecision,
  allow,
  ask,
  checkDecision,
  deny,
  type PolicyDecision,
  type PolicyRequest,
  type RuntimePolicy,
} from "../../policy/policy.ts";
import type { ToolImplementations } from "../../tool/implementations/implementations.ts";
import type { ToolTraits } from "../../tool/tool-traits.ts";
import type { ConfirmationRecord } from "../confirmations/confirmation.ts";
import {
  acceptsApprovals,
  alwaysAsks,
  awaitsPlan,
  type CallLevel,
  isReading,
  type LevelBasis,
  levelOf,
  stagesChanges,
  strictestLevel,
} from "../levels.ts";
import { decidingMode, type ModeState } from "../modes/mode.ts";
import { grantShadow } from "../shadow-grants.ts";
import { applyAnswer } from "./call-confirmation.ts";
import type { MessageCore, SessionCore } from "./core.ts";

/**
 * The policy of one message of a session: the embedder's, with the session's quotas and levels over it. It lets no call
 * run that the embedder's denies. It lets a call that the embedder's asks about run without a confirmation only if that
 * policy accepts remembered approvals, and one covers the call. A call that an earlier process asked a person about is always
 * asked about again, whatever the policy and the level are now, so that the person's answer applies.
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
    // A call that a person confirmed has its answer.
    if (request.confirmedBy !== undefined) return this.#checkNow(request, false);
    const asked = this.#message.askedBefore(request.callId);
    if (asked instanceof Promise || asked.length > 0) return this.#checkAsked(request, asked);
    return this.#checkNow(request, false);
  }

  /** Applies an answer beyond its call even if the policy now denies the call, which a suspended program makes again. */
  async #checkAsked(
    request: PolicyRequest,
    asked: MaybePromise<readonly ConfirmationRecord[]>,
  ): Promise<PolicyDecision> {
    const records = await asked;
    const { session } = this.#message;
    for (const { confirmation, resolution } of records) await applyAnswer(session, confirmation, resolution);
    return this.#checkNow(request, records.length > 0);
  }

  /** @param wasAsked Whether an earlier process asked a person about the call. */
  #checkNow(request: PolicyRequest, wasAsked: boolean): MaybePromise<PolicyDecision> {
    const { session } = this.#message;
    // Looked up before the policy answers, which may take long.
    const traits = session.registry.find(request.tool.name)?.tool ?? NO_TRAITS;
    const history = this.#message.historyOf(request);
    const asked = history === undefined ? request : Object.freeze({ ...request, history });
    const answer: unknown = session.policy.check(asked);
    if (isThenable(answer))
      return toPromise(answer).then((late) => this.#decide(this.#read(late), request, traits, wasAsked));
    return this.#decide(this.#read(answer), request, traits, wasAsked);
  }

  #read(answer: unknown): PolicyDecision {
    const decision = read(answer);
    const { shadowPlace } = this.#message.session;
    return shadowPlace === undefined ? decision : grantShadow(decision, shadowPlace);
  }

  #decide(
    decision: PolicyDecision,
    request: PolicyRequest,
    traits: Traits,
    wasAsked: boolean,
  ): MaybePromise<PolicyDecision> {
    // A call that a person confirmed was counted before, and its level is known.
    if (decision.decision === "deny" || request.confirmedBy !== undefined) return decision;
    const bases = this.#basesOf(decision, request, traits);
    const [basis, level] = strictestOf(bases);
    if (level === "deny") return denied(decision, basis);
    const { quotas } = this.#message.session;
    const counted = quotas === undefined ? undefined : this.#message.count(request, quotas);
    // A call that a person was asked about is not decided on again: their answer applies, or is awaited.
    const decide = (): MaybePromise<PolicyDecision> =>
      level === "prompt" || wasAsked ? this.#prompt(decision, request, bases, basis, wasAsked) : decision;
    // Also if a person is asked, who is not shown that the call takes effect at once.
    if (bases.some((each) => each.canStage && stagesChanges(each.mode))) {
      this.#message.stageCall(request.callId);
    }
    return counted === undefined ? decide() : counted.then(decide);
  }

  /** What the level depends on in the mode of the session, and in those of the sessions above it. */
  #basesOf(decision: MayRun, request: PolicyRequest, traits: Traits): Bases {
    const { session } = this.#message;
    const { name, sideEffects } = request.tool;
    const { modeState, origin } = session;
    const own: LevelBasis = {
      policy: decision.decision,
      remember: decision.decision === "ask" && decision.remember === "session",
      mode: decidingMode(modeState),
      modeLevel: modeState.tools.get(name),
      sideEffects,
      canStage: session.stageChanges !== undefined && canStage(traits, decision.grant?.sandbox),
      configured: session.settings.tools.get(name),
      own: ownLevel(traits, request, decision.grant),
      approved: false,
      trusted: session.trusted,
      classes: session.settings.classes,
    };
    if (origin === undefined) return [own];
    const above = modesOf(origin.parent).map((state) => ({
      ...own,
      mode: decidingMode(state),
      modeLevel: state.tools.get(name),
    }));
    return [own, ...above];
  }

  #prompt(
    decision: MayRun,
    request: PolicyRequest,
    bases: Bases,
    basis: LevelBasis,
    wasAsked: boolean,
  ): MaybePromise<PolicyDecision> {
    const remembers = bases.every((each) => levelOf(each) !== "prompt" || acceptsApprovals(each));
    const covered = remembers && !wasAsked ? this.#isCovered(request) : false;
    const question = this.#questionOf(decision, request, basis);
    const decide = (isCovered: boolean): PolicyDecision =>
      isCovered ? lift(decision) : raise(decision, question, remembers);
    return covered instanceof Promise ? covered.then(decide) : decide(covered);
  }

  /** Whether an approval covers a call, which is counted then. */
  #isCovered(request: PolicyRequest): MaybePromise<boolean> {
    const { approvalTable, place } = this.#message.session;
    const approval = approvalTable.find(place, request);
    if (approval !== undefined) return approvalTable.use(approval);
    if (!approvalTable.isShared) return false;
    // A person may have approved it on another server.
    return approvalTable.restore().then(() => {
      const found = approvalTable.find(place, request);
      return found !== undefined && approvalTable.use(found);
    });
  }

  /** The question for a person: that of the policy, if it has one. */
  #questionOf(decision: MayRun, { tool: { name } }: PolicyRequest, basis: LevelBasis): string {
    const { session } = this.#message;
    const { sideEffects, mode, canStage } = basis;
    const submitsPlan = session.registry.find(name)?.tool.confirm === "plan";
    const own = submitsPlan ? "Approve this plan?" : `Run the tool '${name}' (${sideEffects})?`;
    const question = decision.decision === "ask" ? decision.question : own;
    if (submitsPlan && mode === "plan") return `${question} ${AFTER_PLAN}`;
    return stagesChanges(mode) && !canStage && !isReading(sideEffects)
      ? `${question} ${NOT_ENFORCED}`
      : question;
  }
}

const AFTER_PLAN = "Afterwards, calls run as in the mode autonomous: most of them without a question.";

/** What a tool says of itself, and how it is implemented. */
type Traits = ToolTraits & Pick<ToolImplementations<never, never>, "host">;

/** What the level of a call depends on: in the mode of its session, and in those of the sessions above. */
type Bases = readonly [LevelBasis, ...LevelBasis[]];

function strictestOf(bases: Bases): readonly [LevelBasis, CallLevel] {
  let [basis] = bases;
  let level = levelOf(basis);
  for (const each of bases.slice(1)) {
    const other = levelOf(each);
    if (strictestLevel(level, other) === level) continue;
    [basis, level] = [each, other];
  }
  return [basis, level];
}

/** A decision with which a call may run, perhaps after a question. */
type MayRun = Exclude<PolicyDecision, { decision: "deny" }>;

const NO_TRAITS: Traits = Object.freeze({});

/** @throws {Refusal} if a plan could change the answer: the model reads what to do. */
function denied({ decision: policyDecision }: MayRun, basis: LevelBasis): PolicyDecision {
  const { configured, modeLevel } = basis;
  if (awaitsPlan(basis) && configured !== "deny" && modeLevel !== "deny") {
    throw new Refusal("permission_denied", PLAN_NOT_APPROVED, { detail: "no plan is approved" });
  }
  return deny("the session's configuration denies the tool", { policyDecision });
}

const PLAN_NOT_APPROVED = "Permission denied: only reading is allowed until the plan is approved";

const NOT_ENFORCED = "What it changes cannot be staged, and takes effect at once.";

/** Whether a call can run now: `ask` stands for `allow` once a person has confirmed it. */
function runs({ decision }: PolicyDecision, { confirmedBy }: PolicyRequest): boolean {
  return decision === "allow" || (decision === "ask" && confirmedBy !== undefined);
}

function read(answer: unknown): PolicyDecision {
  return checkDecision(answer as PolicyDecision);
}

/** Allows a call that an approval covers. */
function lift(decision: MayRun): PolicyDecision {
  if (decision.decision === "allow" || decision.grant === undefined) return decision;
  const { grant, rules, sandboxes } = decision;
  return allow(grant, { ...(rules && { rules }), ...(sandboxes && { sandboxes }), policyDecision: "ask" });
}

/** Returns a decision to ask a person about a call. */
function raise(decision: MayRun, question: string, remembers: boolean): AskDecision {
  const { grant, rules, sandboxes } = decision;
  return ask(question, {
    ...(grant && { grant }),
    ...(rules && { rules }),
    ...(sandboxes && { sandboxes }),
    ...(remembers && { remember: "session" }),
    ...(decision.decision === "allow" && { policyDecision: "allow" }),
  });
}

/** What the tool says of itself, unless the policy says more of the call: see {@link namesUrls}. */
function ownLevel(
  traits: Traits,
  request: PolicyRequest,
  grant: ExecutionGrant | undefined,
): ToolTraits["confirm"] {
  const { confirm } = traits;
  return alwaysAsks(confirm) || !namesUrls(traits, request, grant) ? confirm : undefined;
}

/**
 * Whether the policy names where a call that only reads may send requests: the URLs in its arguments are of origins of the
 * grant, none of which has `*` as its host. Such a tool asks with `confirm: prompt` since an address that the model chooses
 * is a way out for data; one that the policy names is not. Redirects cannot lead anywhere else, either.
 */
function namesUrls(
  { urls = [] }: ToolTraits,
  { tool, input }: PolicyRequest,
  grant: ExecutionGrant | undefined,
): boolean {
  const net = grant?.capabilities.net ?? [];
  if (urls.length === 0 || net.length === 0 || tool.sideEffects !== "read") return false;
  const named = net.map((each) => parseOrigin(originOf(each)));
  if (named.some(({ host }) => host === "*")) return false;
  const found = urls.flatMap(({ argument }) => lookUpAll(input, parsePointer(argument)));
  const isNamed = (url: unknown): boolean => {
    const origin = originOfUrl(url);
    return origin !== undefined && named.some((each) => isWithinOrigin(origin, each));
  };
  return found.length > 0 && found.every(({ value }) => isNamed(value));
}

function originOfUrl(url: unknown): OriginPattern | undefined {
  const parsed = typeof url === "string" ? URL.parse(url) : null;
  try {
    return parsed === null ? undefined : parseOrigin(parsed.origin);
  } catch {
    return undefined;
  }
}

/** Returns the modes that apply to the calls of a session: its own, and those of all sessions above it. */
export function modesOf({
  modeState,
  origin,
}: Pick<SessionCore, "modeState" | "origin">): readonly ModeState[] {
  return origin === undefined ? [modeState] : [modeState, ...modesOf(origin.parent)];
}
