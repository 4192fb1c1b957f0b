import type { CanonicalJson } from "../json/canonical.ts";
import type { JsonObject, JsonValue } from "../json/value.ts";
import { isSandboxMode, type SandboxMode } from "../tool/sandbox-mode.ts";
import type { SideEffects } from "../tool/side-effects.ts";
import { type Capabilities, checkCapabilities } from "./grant/capabilities.ts";
import { checkLimits, type ResourceLimits } from "./grant/limits.ts";

/**
 * Decides who may run what, where and with what. One method, so that a team can write its own: see
 * `examples/custom-policy`. A policy that throws, answers nonsense or takes longer than the context's
 * `decisionTimeoutMs` denies.
 */
export interface RuntimePolicy {
  /** Decides on one call, after its arguments were validated and before anything runs. */
  check(request: PolicyRequest): PolicyDecision | Promise<PolicyDecision>;
}

/** What a policy knows of a call. Frozen. */
export interface PolicyRequest {
  readonly callId: string;
  readonly sessionId: string;
  /** The validated arguments: the very tree that the sandbox gets. Deeply frozen. */
  readonly input: JsonValue;
  /** The same as canonical text and digest: the very bytes that the sandbox gets. */
  readonly canonical: CanonicalJson;
  readonly tool: PolicySubject;
}

/** What a policy knows of a tool. */
export interface PolicySubject {
  readonly name: string;
  /** What the embedder declared the tool to do at worst. */
  readonly sideEffects: SideEffects;
  /** The sandboxes in which the tool has an implementation. */
  readonly sandboxes: readonly SandboxMode[];
  /** JSON Schema of the input. */
  readonly inputSchema: JsonObject;
}

/**
 * A policy's answer. `reason` and `question` are for the operator: they go to events, never to the model.
 * An `ask` is a denial where there is nobody to ask.
 */
export type PolicyDecision =
  | { readonly decision: "allow"; readonly grant: ExecutionGrant }
  | { readonly decision: "deny"; readonly reason: string }
  | { readonly decision: "ask"; readonly question: string };

/** In which sandbox a call runs, under which limits, with which capabilities. Frozen; made for one call. */
export interface ExecutionGrant {
  readonly sandbox: SandboxMode;
  readonly limits: ResourceLimits;
  readonly capabilities: Capabilities;
}

/** What {@link allow} takes: limits and capabilities may be left out. */
export interface GrantOptions {
  /** The sandbox to run in. The tool must have an implementation for it. */
  readonly sandbox: SandboxMode;
  /** Required limits. Default: the sandbox's own. */
  readonly limits?: ResourceLimits;
  /** Default: none. */
  readonly capabilities?: Capabilities;
}

/** Grants that this module checked and froze: nobody else can have made or changed them. */
const checkedGrants = new WeakSet<object>();

/**
 * Checks a grant and freezes a copy of it. A grant that was made here is returned as it is.
 *
 * @throws {TypeError} when the sandbox, a limit or a capability is unknown or of the wrong shape.
 */
export function checkGrant(grant: GrantOptions): ExecutionGrant {
  if (checkedGrants.has(grant)) return grant as ExecutionGrant;
  const { sandbox, limits = {}, capabilities = {}, ...unknown } = grant;
  if (!isSandboxMode(sandbox)) throw new TypeError("a grant must name one of the sandboxes");
  for (const key of Object.keys(unknown)) throw new TypeError(`unknown member '${key}' in a grant`);
  const checked = Object.freeze({
    sandbox,
    limits: checkLimits(limits),
    capabilities: checkCapabilities(capabilities),
  });
  checkedGrants.add(checked);
  return checked;
}

/**
 * The decision to let a call run. Frozen.
 *
 * @throws {TypeError} as {@link checkGrant}.
 */
export function allow(grant: GrantOptions): PolicyDecision {
  return Object.freeze({ decision: "allow", grant: checkGrant(grant) });
}

/** The decision to refuse a call. Frozen. The reason goes to events, never to the model. */
export function deny(reason: string): PolicyDecision {
  return Object.freeze({ decision: "deny", reason });
}

/** The decision, frozen, to have a person confirm a call first. */
export function ask(question: string): PolicyDecision {
  return Object.freeze({ decision: "ask", question });
}
