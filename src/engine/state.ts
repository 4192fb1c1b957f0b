import { performance } from "node:perf_hooks";
import { CanonicalJson } from "../json/canonical.ts";
import type { JsonValue } from "../json/value.ts";
import type { ExecutionGrant } from "../policy/grant/execution-grant.ts";
import type { ResourceLimits } from "../policy/grant/limits.ts";
import { compileNamePattern } from "../policy/match/name-pattern.ts";
import type { AllowDecision, AskDecision, DecisionTime, PolicyDecision } from "../policy/policy.ts";
import { checkPrincipal, type Principal } from "../policy/principal.ts";
import type { Sandbox, SandboxTask } from "../sandboxes/contract/sandbox.ts";
import type { AnsweredQuestion, GivenConfirmation, RecordedAnswer } from "./call/confirmation.ts";
import type { DispatchContext } from "./call/context.ts";
import type { CallTrace } from "./call/events.ts";
import type { CallPlace, CallSuspension, SuspendableCall } from "./call/suspension.ts";
import { callDigest, type ReceivedCall } from "./call.ts";
import type { DeclaredPath } from "./declared-arguments.ts";
import type { Caller, DispatchNested, NestedBudget } from "./nested.ts";
import type { PartialOutput } from "./partial-output.ts";
import type { RegisteredTool } from "./registered-tool.ts";
import { CallProgress } from "./reporting/progress.ts";
import { beginTrace, Reporter } from "./reporting/reporter.ts";
import type { WorkReport } from "./work-report.ts";

/**
 * State of one call through the dispatch steps. A step takes the stage of the call that it needs, one of the types
 * below, and sets what the next stage adds. All fields are set from the start, so V8 gives all calls one shape.
 */
export class CallState {
  /** `performance.now` when the call arrived. */
  readonly startedAt: number = performance.now();
  readonly received: ReceivedCall;
  readonly ctx: DispatchContext;
  /** The caller, frozen; `undefined` if the context names none, or an invalid one. */
  readonly principal: Principal | undefined;
  /** The call whose tool makes this one; `undefined` for a call of the model. */
  readonly caller: Caller | undefined;
  /** Dispatches the calls that this call's tool makes. */
  readonly dispatchNested: DispatchNested;
  /** Follows the call; `undefined` if the context has no tracer. */
  readonly trace: CallTrace | undefined;
  /** `undefined` unless a listener draws it. */
  readonly progress: CallProgress | undefined;
  readonly reporter: Reporter;
  /** `performance.now` when the call arrived, or when its last wait for a step ended. */
  resumedAt: number = this.startedAt;
  /** Index of the next step. */
  position = 0;
  /** The arguments as the model sent them, and from {@link ParsedCall} on the validated ones, deeply frozen. */
  input: JsonValue;
  registered: RegisteredTool | undefined = undefined;
  canonical: CanonicalJson | undefined = undefined;
  /** The paths that the tool declares among the arguments; `undefined` if it declares none, and until they are checked. */
  declaredPaths: readonly DeclaredPath[] | undefined = undefined;
  /** The policy's decision; `undefined` until then. */
  decision: PolicyDecision | undefined = undefined;
  /** The version of the policy that made the decision, if it says so. */
  policyRevision: string | undefined = undefined;
  /** The time of the decision. */
  decisionTime: DecisionTime | undefined = undefined;
  granted: ExecutionGrant | undefined = undefined;
  /** How a person confirmed the call; `undefined` until one does. */
  confirmation: GivenConfirmation | undefined = undefined;
  /** What a person answered last; `undefined` until one does. */
  answer: RecordedAnswer | undefined = undefined;
  /** Who answered the questions that the tool asked; `undefined` until it has asked one. */
  questions: readonly AnsweredQuestion[] | undefined = undefined;
  grant: ExecutionGrant | undefined = undefined;
  sandbox: Sandbox | undefined = undefined;
  limits: ResourceLimits | undefined = undefined;
  /** Counts the calls that the tool makes; `undefined` if it cannot make any. */
  nestedBudget: NestedBudget | undefined = undefined;
  /** Whether the journal has the call as one that runs. */
  isRecorded = false;
  /** Buffers what the tool streams; `undefined` unless the context asks for it. */
  partialOutput: PartialOutput | undefined = undefined;
  /** Lets the call outlive its process; `undefined` if it cannot, and until its sandbox gets it, or it is opened again. */
  suspension: CallSuspension | undefined = undefined;
  /** Collects what the tool does; `undefined` unless the tool declares that the model reads it. */
  workReport: WorkReport | undefined = undefined;
  /** What the sandbox was given; `undefined` until then. */
  task: SandboxTask | undefined = undefined;

  constructor(
    received: ReceivedCall,
    ctx: DispatchContext,
    caller: Caller | undefined,
    dispatchNested: DispatchNested,
  ) {
    this.received = received;
    this.ctx = ctx;
    this.principal = ctx.principal === undefined ? undefined : receivePrincipal(ctx.principal);
    this.caller = caller;
    this.dispatchNested = dispatchNested;
    this.trace = ctx.tracer === undefined ? undefined : beginTrace(ctx.tracer, received, ctx, caller?.trace);
    this.progress = ctx.events?.keepsProgress === true ? new CallProgress() : undefined;
    this.reporter = Reporter.of(received, ctx, this.principal, caller?.callId, this);
    this.input = received.arguments;
  }
}

/** Returns a frozen copy, or `undefined` if the principal is not valid. Never throws. */
function receivePrincipal(given: Principal): Principal | undefined {
  try {
    return checkPrincipal(given);
  } catch {
    return undefined;
  }
}

/** A call whose tool was found. */
export interface FoundCall extends CallState {
  registered: RegisteredTool;
}

/** A call whose arguments were validated. */
export interface ParsedCall extends FoundCall {
  /** The canonical form of `input`. */
  canonical: CanonicalJson;
}

/** A call that the policy allowed, or about which a person has to be asked first. */
export interface AuthorisedCall extends ParsedCall {
  decision: AllowDecision | AskDecision;
  /** The policy's grant. */
  granted: ExecutionGrant;
}

/** A call with the grant under which it can run. */
export interface GrantedCall extends AuthorisedCall {
  /** The policy's grant, narrowed to the caller's or to the upper bound. */
  grant: ExecutionGrant;
}

/** A call whose sandbox was found. */
export interface PlacedCall extends GrantedCall {
  sandbox: Sandbox;
  /** The limits to enforce. */
  limits: ResourceLimits;
}

/** A call that its sandbox was given. */
export interface StartedCall extends PlacedCall {
  task: SandboxTask;
}

/**
 * The name of a call's tool for texts that its maker reads: the alias under which the model was offered it, or the
 * tool's own name if another tool makes the call.
 */
export function shownName({ caller, ctx, received }: CallState): string {
  const { toolAlias } = ctx;
  return toolAlias === undefined || caller !== undefined ? received.name : aliasOf(received.name, toolAlias);
}

/** Applies an embedder's mapping. A name for which it fails stays as it is. */
export function aliasOf(name: string, toolAlias: (name: string) => string): string {
  try {
    return String(toolAlias(name));
  } catch {
    return name;
  }
}

/** Returns where a call was made. */
export function placeOf({ received, ctx }: CallState): CallPlace {
  const { sessionId, turnId = "", messageId = "" } = ctx;
  return { sessionId, turnId, messageId, callId: received.id };
}

/** Returns a call as it is suspended. */
export function suspendable(call: PlacedCall): SuspendableCall {
  const { received, principal } = call;
  return {
    ...placeOf(call),
    ...(principal !== undefined && { principal: principal.id }),
    toolName: received.name,
    digest: callDigest(received),
    describe: (open) => {
      const { grant, limits, confirmation, policyRevision, nestedBudget, workReport } = call;
      return {
        grant,
        limits,
        definitions: definitionsOf(call),
        nestedCalls: nestedBudget?.used ?? 0,
        ...(confirmation !== undefined && { confirmation }),
        ...(policyRevision !== undefined && { policyRevision }),
        ...(workReport !== undefined && { work: workReport.workWithout(open.map(({ number }) => number)) }),
      };
    },
  };
}

/** The digest of the definitions of the call's tool, and of the tools that it may call. */
export function definitionsOf({ registered, grant, ctx }: PlacedCall): string {
  const patterns = (grant.capabilities.tools ?? []).map(compileNamePattern);
  const callable = ctx.registry.subjects
    .filter(({ name }) => patterns.some((pattern) => pattern.matches(name)))
    .map(({ name, definition }): [string, string] => [name, definition?.digest ?? ""])
    .sort(([one], [other]) => (one < other ? -1 : 1));
  return new CanonicalJson([registered.definition.digest, ...callable]).digest;
}
