import type { CanonicalJson } from "../json/canonical.ts";
import type { JsonObject, JsonValue } from "../json/value.ts";
import { isSandboxMode, type SandboxMode } from "../tool/sandbox-mode.ts";
import type { SideEffects } from "../tool/side-effects.ts";
import { type Capabilities, checkCapabilities } from "./grant/capabilities.ts";
import { checkLimits, type ResourceLimits } from "./grant/limits.ts";

/**
 * Decides which calls may run, in which sandbox, and with which limits and capabilities.
 * `examples/custom-policy` shows how to implement it. If a policy throws, returns an invalid decision or
 * takes longer than the context's `decisionTimeoutMs`, the call is denied.
 */
export interface RuntimePolicy {
  /** Decides on a call, after its arguments have been validated and before anything runs. */
  check(request: PolicyRequest): PolicyDecision | Promise<PolicyDecision>;
}

/** A call, as a policy sees it. Frozen. */
export interface PolicyRequest {
  readonly callId: string;
  readonly sessionId: string;
  /** The validated arguments: the same object that the sandbox gets. Deeply frozen. */
  readonly input: JsonValue;
  /** The arguments as canonical JSON text, with its digest: the same bytes that the sandbox gets. */
  readonly canonical: CanonicalJson;
  readonly tool: PolicySubject;
}

/** A tool, as a policy sees it. */
export interface PolicySubject {
  readonly name: string;
  /** The tool's most serious side effects, as declared at its registration. */
  readonly sideEffects: SideEffects;
  /** The sandboxes in which the tool has an implementation. */
  readonly sandboxes: readonly SandboxMode[];
  /** The JSON Schema of the tool's input. */
  readonly inputSchema: JsonObject;
}

/**
 * The decision of a policy. `reason` and `question` are for operators: they appear in events, and the model
 * never sees them. `ask` denies the call if no approver is available.
 */
export type PolicyDecision =
  | { readonly decision: "allow"; readonly grant: ExecutionGrant }
  | { readonly decision: "deny"; readonly reason: string }
  | { readonly decision: "ask"; readonly question: string };

/** The sandbox, limits and capabilities for a call. Frozen. */
export interface ExecutionGrant {
  readonly sandbox: SandboxMode;
  readonly limits: ResourceLimits;
  readonly capabilities: Capabilities;
}

/** The options of {@link allow}. */
export interface GrantOptions {
  /** The sandbox to run the call in. The tool must have an implementation for it. */
  readonly sandbox: SandboxMode;
  /** Limits to enforce. Default: those of the sandbox. */
  readonly limits?: ResourceLimits;
  /** Default: none. */
  readonly capabilities?: Capabilities;
}

/** Grants that this module checked and froze, and that therefore need no further check. */
const checkedGrants = new WeakSet<object>();

/**
 * Checks a grant, and returns a frozen copy. A grant that this function returned earlier is returned
 * unchanged.
 *
 * @throws {TypeError} if the sandbox, a limit or a capability is unknown or invalid.
 */
export function checkGrant(grant: GrantOptions): ExecutionGrant {
  if (checkedGrants.has(grant)) return grant as ExecutionGrant;
  const { sandbox, limits = {}, capabilities = {}, ...unknown } = grant;
  if (!isSandboxMode(sandbox)) throw new TypeError("a grant must have a valid sandbox mode as 'sandbox'");
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
 * Returns the decision to run a call, frozen.
 *
 * @throws {TypeError} if the sandbox, a limit or a capability is unknown or invalid.
 */
export function allow(grant: GrantOptions): PolicyDecision {
  return Object.freeze({ decision: "allow", grant: checkGrant(grant) });
}

/** Returns the decision to deny a call, frozen. The reason appears in events; the model never sees it. */
export function deny(reason: string): PolicyDecision {
  return Object.freeze({ decision: "deny", reason });
}

/** Returns the decision to have a person confirm a call first, frozen. */
export function ask(question: string): PolicyDecision {
  return Object.freeze({ decision: "ask", question });
}
