import type { CanonicalJson } from "../json/canonical.ts";
import type { JsonObject, JsonValue } from "../json/value.ts";
import type { SandboxMode } from "../tool/sandbox-mode.ts";
import type { SideEffects } from "../tool/side-effects.ts";
import type { ArgumentPath, ToolAccess } from "../tool/tool-traits.ts";
import type { PolicyDecision } from "./decision.ts";
import type { PolicyExplanation } from "./explanation.ts";
import type { CallHistory } from "./history/call-history.ts";
import type { TrackedFields } from "./history/value-provenance.ts";
import type { PolicyPlace } from "./policy-place.ts";
import type { Principal } from "./principal.ts";

/**
 * Decides which calls may run, in which sandbox, and with which limits and capabilities.
 * `examples/custom-policy` shows how to implement it. If a policy throws, returns an invalid decision or
 * takes longer than the context's `decisionTimeoutMs`, the call is denied.
 */
export interface RuntimePolicy {
  /** Decides on a call, after its arguments have been validated and before anything runs. */
  check(request: PolicyRequest): PolicyDecision | Promise<PolicyDecision>;
  /**
   * Explains what `check` decides on the same call: which rules matched, and where the grant comes from. Default: the
   * policy explains nothing but its decision.
   */
  explain?(request: PolicyRequest): PolicyExplanation | Promise<PolicyExplanation>;
  /**
   * Returns whether some call of a tool by a principal could run, perhaps after a question. `false` is certain: such a tool need
   * not be listed. Must not throw. Default: it could.
   */
  mayAllow?(tool: PolicySubject, principal: Principal | undefined): boolean;
  /**
   * Identifies this version of the policy in events and the journal, such as a digest of its file. It is read immediately
   * before `check` is called: a policy whose rules can be replaced chooses them before `check` returns, also if it
   * returns a promise. Default: none.
   */
  readonly revision?: string | undefined;
  /**
   * The policy as data: the canonical JSON of the options of each `RulePolicy` or `CedarPolicy` that it joins. A journal
   * keeps them by their digests, of which `revision` consists. Default: the policy is in code.
   */
  readonly sources?: readonly string[] | undefined;
  /** Where each of the `sources` was read; `undefined` for those that were made in code. Default: not known. */
  readonly places?: readonly (PolicyPlace | undefined)[] | undefined;
  /**
   * Whether decisions depend on {@link PolicyRequest.history}. A session keeps the history of its calls only then.
   * Default: `false`.
   */
  readonly usesHistory?: boolean | undefined;
  /**
   * The fields of results whose values `history.provenance` is asked about. A session remembers only those. Default:
   * none.
   */
  readonly trackedFields?: TrackedFields | undefined;
}

/** A call, as a policy sees it. Frozen. */
export interface PolicyRequest {
  readonly callId: string;
  readonly sessionId: string;
  /** The turn of the conversation; absent if the context does not say. */
  readonly turnId?: string | undefined;
  /** Who calls; absent if the context does not say. */
  readonly principal?: Principal | undefined;
  /** The validated arguments: the same object that the sandbox gets. Deeply frozen. */
  readonly input: JsonValue;
  /** The arguments as canonical JSON text, with its digest: the same bytes that the sandbox gets. */
  readonly canonical: CanonicalJson;
  readonly tool: PolicySubject;
  /** The absolute path of the session's workspace. Default: none. */
  readonly workspace?: string | undefined;
  /** Where the paths lead that the tool declares among its arguments. Default: it is not known, or there are none. */
  readonly paths?: readonly ArgumentPath[] | undefined;
  /**
   * Who confirmed the call: the policy is consulted once more after a person's answer. It can still deny the call;
   * `ask` stands for `allow` now. Default: the call was not confirmed.
   */
  readonly confirmedBy?: string | undefined;
  /** What came before the call. Only sessions set it, and only if the policy {@link RuntimePolicy.usesHistory}. */
  readonly history?: CallHistory | undefined;
}

/** A tool, as a policy sees it. */
export interface PolicySubject {
  readonly name: string;
  /** The tool's most serious side effects, as declared at its registration. */
  readonly sideEffects: SideEffects;
  /** Labels of the tool, which rules can name. Default: none. */
  readonly tags?: readonly string[];
  /** The sandboxes in which the tool has an implementation. */
  readonly sandboxes: readonly SandboxMode[];
  /** Whether the tool, where it runs on the host, works on files that its grant gives it as `fs`. Default: it does not. */
  readonly usesFiles?: boolean;
  /**
   * The definition of the tool: everything that the model or a policy is told, and what its implementations are. The
   * digest is computed when it is first read.
   */
  readonly definition?: { readonly digest: string };
  /** What the tool says of the files and servers that its calls use. Absent if it says nothing. */
  readonly access?: ToolAccess;
  /** The JSON Schema of the tool's input. */
  readonly inputSchema: JsonObject;
  /** The JSON Schema of the tool's output. Absent if it declares none. */
  readonly outputSchema?: JsonObject;
}
