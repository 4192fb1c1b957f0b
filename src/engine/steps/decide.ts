import { adopt, isThenable, type MaybePromise } from "../../base/promises.ts";
import { describeThrown } from "../../base/thrown.ts";
import { race } from "../../base/timers.ts";
import { checkGrant, type ExecutionGrant } from "../../policy/grant/execution-grant.ts";
import { type FsGrant, isFileGrant } from "../../policy/grant/fs-grant.ts";
import {
  type AllowDecision,
  type AskDecision,
  checkDecision,
  DecisionTime,
  type DenyDecision,
  type NearMiss,
  type PolicyDecision,
  type PolicyRequest,
} from "../../policy/policy.ts";
import { shownPath } from "../../tool/tool-failure.ts";
import { boundGrant, boundSandbox } from "../bounds.ts";
import {
  type AgentHooks,
  DEFAULT_DECISION_TIMEOUT_MS,
  type DispatchContext,
  type ToolStart,
} from "../call/context.ts";
import { elapsedMs, type ToolCall } from "../call.ts";
import { argumentPaths, type DeclaredPath } from "../declared-arguments.ts";
import { protectedPlaceText, protectedQuestion } from "../errors.ts";
import { narrowGrant } from "../nested.ts";
import { cancelled, denial, Refusal } from "../refusal.ts";
import { linkProgress } from "../reporting/progress.ts";
import {
  type AuthorisedCall,
  type CallState,
  type GrantedCall,
  type ParsedCall,
  type PlacedCall,
  shownName,
} from "../state.ts";

/**
 * Asks the `onToolCall` hook, which sees the call as the model sent it.
 *
 * @returns `"abort"` if the hook aborts the call before it has begun.
 * @throws {Refusal} `permission_denied` if the hook denies the call, aborts it later or fails, `cancelled`.
 */
export function passGate(call: CallState): MaybePromise<"abort" | undefined> {
  const { received, ctx } = call;
  if (ctx.signal?.aborted) throw cancelled();
  if (ctx.hooks === undefined) return undefined;
  const { id, name, arguments: args } = received;
  return decide(
    received.isSuspended ? RESUMED_QUESTION : CALL_QUESTION,
    Object.freeze({ id, name, arguments: args }),
    shownName(call),
    ctx,
  );
}

const CALL_QUESTION: Question<ToolCall, "abort" | undefined> = {
  to: "hook",
  ask: (call, { hooks }) => (hooks as AgentHooks).onToolCall?.(call),
  read: (answer, tool) => (answer === "abort" ? answer : readVerdict(answer, tool)),
};

/** A call that an earlier process began cannot be left out any more: what it did is reported. */
const RESUMED_QUESTION: typeof CALL_QUESTION = {
  ...CALL_QUESTION,
  read: (answer, tool) => {
    if (answer === "abort") throw denial(tool, "hook", "the hook aborts a call that had begun");
    return readVerdict(answer, tool);
  },
};

/**
 * Asks the `onToolStart` hook, which sees the validated arguments and the grant.
 *
 * @throws {Refusal} `permission_denied` if the hook denies the call or fails, `cancelled`.
 */
export function passLastHook(call: PlacedCall): MaybePromise<undefined> {
  const { received, ctx, principal, input, grant } = call;
  const { hooks, sessionId } = ctx;
  if (hooks === undefined) return undefined;
  const { id: callId, name: toolName } = received;
  const start: ToolStart =
    principal === undefined
      ? { callId, sessionId, toolName, input, grant }
      : { callId, sessionId, toolName, principal, input, grant };
  return decide(START_QUESTION, Object.freeze(start), shownName(call), ctx);
}

const START_QUESTION: Question<ToolStart, undefined> = {
  to: "hook",
  ask: (start, { hooks }) => (hooks as AgentHooks).onToolStart?.(start),
  read: readVerdict,
};

/**
 * Reads a hook's verdict: returns if the call may continue.
 *
 * @throws {Refusal} `permission_denied` if the hook denied the call, or returned anything else.
 */
function readVerdict(verdict: unknown, tool: string): undefined {
  if (verdict === undefined || verdict === "continue") return;
  if (typeof verdict === "object" && verdict !== null && "deny" in verdict) {
    throw denial(tool, "hook", describeThrown(verdict.deny).detail);
  }
  throw denial(tool, "hook-failed", "the hook returned an invalid verdict");
}

/** A question to a hook or the policy, which are foreign code. One object serves all calls. */
interface Question<About, Answer> {
  readonly to: "hook" | "policy";
  /** Calls the hook or policy. May throw. */
  ask(about: About, ctx: DispatchContext): unknown;
  /** Reads the answer. May throw a {@link Refusal} or any other error. */
  read(answer: unknown, tool: string): Answer;
}

/**
 * Asks a question and waits for the answer until `decisionTimeoutMs`. An error, a late answer and an invalid answer
 * all deny the call. A synchronous answer needs neither a timer nor a promise.
 *
 * @param tool The name of the tool, for the text.
 * @throws {Refusal} `permission_denied` or `cancelled`.
 */
function decide<About, Answer>(
  question: Question<About, Answer>,
  about: About,
  tool: string,
  ctx: DispatchContext,
): MaybePromise<Answer> {
  try {
    const answer = question.ask(about, ctx);
    return isThenable(answer) ? answerInTime(answer, question, tool, ctx) : question.read(answer, tool);
  } catch (thrown) {
    throw asRefusal(thrown, question.to, tool);
  }
}

async function answerInTime<Answer>(
  answer: PromiseLike<unknown>,
  { to, read }: Question<never, Answer>,
  tool: string,
  { signal, decisionTimeoutMs = DEFAULT_DECISION_TIMEOUT_MS }: DispatchContext,
): Promise<Answer> {
  try {
    // Read first, so that no answer is taken for the end of the race.
    const reading = adopt(answer).then((value) => read(value, tool));
    const end = await race(reading, { timeoutMs: decisionTimeoutMs, signals: [signal] });
    if (end === "aborted") throw cancelled();
    if (end === "timeout") throw failed(to, tool, `no decision within ${decisionTimeoutMs} ms`);
    return end;
  } catch (thrown) {
    throw asRefusal(thrown, to, tool);
  }
}

function asRefusal(thrown: unknown, to: "hook" | "policy", tool: string): Refusal {
  return Refusal.is(thrown) ? thrown : failed(to, tool, describeThrown(thrown).detail);
}

function failed(to: "hook" | "policy", tool: string, reason: string): Refusal {
  return denial(tool, `${to}-failed`, reason);
}

/** A declared path in a place that a person is asked about. */
interface AskedPath {
  readonly declared: DeclaredPath;
  readonly reason: string;
}

/**
 * Asks the policy, and sets `decision`, `policyRevision` and `granted`. A decision to ask a person passes with the grant that it has, if
 * there is a person to ask or the call is confirmed already.
 *
 * @throws {Refusal} `permission_denied` unless the policy returns a valid grant, `cancelled`.
 */
export function authorise(call: ParsedCall): undefined | Promise<undefined> {
  const decidedFrom = call.reporter.reportsDecisions ? performance.now() : 0;
  // Read now: by the time of an answer that comes later, the policy may have been replaced.
  call.policyRevision = call.ctx.policy.revision;
  const decision = decide(POLICY_QUESTION, requestOf(call), shownName(call), call.ctx);
  return decision instanceof Promise
    ? decision.then((decided) => set(call, decided, decidedFrom))
    : set(call, decision, decidedFrom);
}

function requestOf(call: ParsedCall): PolicyRequest {
  const { ctx, principal, input, canonical, confirmation } = call;
  call.decisionTime = new DecisionTime();
  const { id: callId } = call.received;
  const { sessionId, turnId, workspace } = ctx;
  const tool = call.registered.subject;
  const confirmedBy = confirmation?.by;
  // One shape for all requests: spreading the members that are known would take longer than the decision.
  const request = {
    callId,
    sessionId,
    turnId,
    principal,
    input,
    canonical,
    tool,
    workspace,
    paths: call.declaredPaths && argumentPaths(call.declaredPaths),
    confirmedBy,
    time: call.decisionTime,
  };
  if (call.progress !== undefined) linkProgress(request, call.progress);
  return Object.freeze(request);
}

/** @throws {Refusal} unless the decision is to allow the call, or to ask about it and there is a grant. */
function set(call: ParsedCall, decision: PolicyDecision, decidedFrom: number): undefined {
  call.decision = decision;
  const { policyRevision, confirmation, reporter } = call;
  if (reporter.reportsDecisions) {
    reporter.decided(decision, policyRevision, confirmation?.by, elapsedMs(decidedFrom));
  }
  if (decision.decision === "deny") throw refusalOf(decision, shownName(call));
  if (decision.grant === undefined || (decision.decision === "ask" && !canAsk(call))) {
    throw denial(shownName(call), "no-approver", describeThrown((decision as AskDecision).question).detail);
  }
  call.granted = decision.grant;
}

/**
 * Whether a person can be asked about the call, or has confirmed it. The wall time of the calls whose tools make this
 * one has to stand still while a person thinks.
 */
function canAsk({ ctx, caller, confirmation }: CallState): boolean {
  if (confirmation !== undefined) return true;
  return ctx.confirm !== undefined && (caller === undefined || caller.pause !== undefined);
}

function refusalOf(decision: DenyDecision, tool: string): Refusal {
  const { detail } = describeThrown(decision.reason);
  return denial(tool, "policy", `${detail}${describeNear(decision.near)}`);
}

function describeNear(near: readonly NearMiss[] = []): string {
  if (near.length === 0) return "";
  const listed = near.map(({ rule, missed }) => `'${rule}' would allow it but for ${missed}`);
  return `: ${listed.join(", ")}`;
}

const POLICY_QUESTION: Question<PolicyRequest, PolicyDecision> = {
  to: "policy",
  ask: (request, { policy }) => policy.check(request),
  read: (answer, tool) => readDecision(answer as PolicyDecision, tool),
};

/** @throws {Refusal | TypeError} unless it is a valid decision. */
function readDecision(decision: PolicyDecision, tool: string): PolicyDecision {
  switch (decision?.decision) {
    case "allow":
    case "ask":
    case "deny":
      return checkDecision(decision);
    default:
      throw denial(tool, "policy-failed", "the policy returned an invalid decision");
  }
}

/**
 * Sets `grant` to the policy's grant, narrowed to the caller's, or else to the upper bound of the context. The sandboxes
 * of the upper bound apply to every call.
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

/**
 * Checks the paths that a call would write in protected places which its grant does not open. For a call of a host tool, a
 * person is asked to open those listed in `asked`, for this call only. Every other call is refused here, because the sandbox
 * would refuse it only after a person had been asked.
 *
 * @throws {Refusal} `permission_denied`.
 */
function openProtected(call: GrantedCall): void {
  const asked = (call.declaredPaths ?? []).flatMap((declared) => askedPath(call, declared));
  if (asked.length === 0) return;
  const [{ declared, reason }] = asked as [AskedPath, ...AskedPath[]];
  const isForHost = asked.some((each) => !each.declared.opensProtected);
  if ((isForHost && call.grant.sandbox !== "host") || !canAsk(call)) throw refusal(declared, reason);
  const grant = opened(call.grant, asked);
  call.grant = grant;
  if (call.confirmation === undefined) call.decision = question(call.decision, call.granted, asked);
}

function askedPath({ ctx, grant }: GrantedCall, declared: DeclaredPath): readonly AskedPath[] {
  const { access, resolved } = declared;
  const { workspace } = ctx;
  if (access !== "write" || resolved === undefined || workspace === undefined) return [];
  const holding = (grant.capabilities.fs ?? []).filter((each) => each.write && resolved.isIn(placeOf(each)));
  const opening = [{ named: namesIn(workspace), writesProtected: undefined }, ...holding.map(protectionOf)];
  const found = opening.map((each) => resolved.protectedPlaces(each));
  // Each grant can open it, and the workspace can name it.
  const least = found.reduce((a, b) => (b.length < a.length ? b : a));
  const denied = least.find(
    ({ list, isOwn, path }) =>
      list === "denied" && (!declared.opensProtected || isOwn || path.startsWith(".git/")),
  );
  if (denied !== undefined) throw refusal(declared, denied.reason);
  const [place] = least;
  return place === undefined ? [] : [{ declared, reason: place.reason }];
}

function refusal({ path }: DeclaredPath, reason: string): Refusal {
  return new Refusal("permission_denied", protectedPlaceText(shownPath(path), reason), {
    detail: "a declared path is in a protected place that no grant opens",
  });
}

/** Nothing that was allowed earlier in the session answers it. */
function question(
  decision: AllowDecision | AskDecision,
  grant: ExecutionGrant,
  asked: readonly AskedPath[],
): AskDecision {
  const paths = asked.map(({ declared, reason }) => `'${shownPath(declared.path)}', which ${reason}`);
  const also = protectedQuestion(paths);
  const { rules, sandboxes, policyDecision = decision.decision } = decision;
  return Object.freeze({
    decision: "ask",
    question: decision.decision === "ask" ? `${decision.question} ${also}` : also,
    grant,
    policyDecision,
    ...(rules !== undefined && { rules }),
    ...(sandboxes !== undefined && { sandboxes }),
  });
}

/** Returns a grant that opens the paths, wherever it lets the tool write. */
function opened(grant: ExecutionGrant, asked: readonly AskedPath[]): ExecutionGrant {
  const fs = (grant.capabilities.fs ?? []).map((each): FsGrant => {
    if (!each.write || each.writesProtected === true) return each;
    const paths = asked.flatMap(({ declared }) => declared.resolved?.pathsIn(placeOf(each)) ?? []);
    const open = [...(each.writesProtected ?? []), ...paths.filter((path) => path !== "")];
    return open.length === 0 ? each : { ...each, writesProtected: open };
  });
  return fs.length === 0 ? grant : checkGrant({ ...grant, capabilities: { ...grant.capabilities, fs } });
}

function protectionOf(grant: FsGrant): {
  named: readonly string[];
  writesProtected: FsGrant["writesProtected"];
} {
  return { named: namesIn(placeOf(grant)), writesProtected: grant.writesProtected };
}

/** The place that a grant names. */
function placeOf(grant: FsGrant): string {
  return isFileGrant(grant) ? (grant.within ?? grant.file) : grant.directory;
}

function namesIn(path: string): readonly string[] {
  return path.split("/").filter((name) => name !== "");
}
