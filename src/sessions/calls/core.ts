import type { MaybePromise } from "../../base/promises.ts";
import type { DispatchContext } from "../../engine/call/context.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import type { ReceivedCall } from "../../engine/call.ts";
import type { Refusal } from "../../engine/refusal.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import type { JsonValue } from "../../json/value.ts";
import type { CallHistory } from "../../policy/call-history.ts";
import type { PolicyRequest, RuntimePolicy } from "../../policy/policy.ts";
import type { Principal } from "../../policy/principal.ts";
import type { CallIdentity } from "../../record/identity.ts";
import type { Redaction } from "../../redaction/redaction.ts";
import type { StageChanges } from "../../sandboxes/contract/staged-changes.ts";
import type { PauseWallTime } from "../../tool/wall-time.ts";
import type { ApprovalPlace, Approvals } from "../approvals.ts";
import type { ConfirmationRecord } from "../confirmations/confirmation.ts";
import type { ConfirmationBroker, Confirmer } from "../confirmations/confirmation-broker.ts";
import type { CallGates, DurableRuntime } from "../durable-runtime.ts";
import type { LedgerScope } from "../ledger/ledgers.ts";
import type { ClassLevels } from "../levels.ts";
import type { ModeState } from "../modes/mode.ts";
import type { Settings } from "../options.ts";
import type { ProvenanceLedger } from "../provenance.ts";
import type { Quotas } from "../quotas.ts";
import type { ShadowPlace } from "../shadow-grants.ts";
import type { GuardedStore } from "../store/guarded-store.ts";
import type { Lanes } from "./lanes.ts";

/** What the calls of a session need of it. */
export interface SessionCore {
  readonly id: string;
  readonly principal: Principal | undefined;
  /** An absolute path. */
  readonly workspace: string | undefined;
  readonly modeState: ModeState;
  /** The call that runs the agent whose session this is; `undefined` for the session of a person. */
  readonly origin: AgentOrigin | undefined;
  /** Counts a message with calls. Returns why it is refused; `undefined` if it is not. */
  admitMessage(): Refusal | undefined;
  /** Opens the files in which changes are staged; `undefined` if the session cannot stage any. */
  readonly stageChanges: StageChanges | undefined;
  /** Set if the session works in a shadow: its calls get the shadow in place of the workspace. */
  readonly shadowPlace: ShadowPlace | undefined;
  readonly settings: Settings;
  /** The tools that the session can see. */
  readonly registry: ToolRegistry;
  /** The embedder's. */
  readonly policy: RuntimePolicy;
  /** Hides secrets from those who are asked, and from what is stored of a cancelled call. */
  readonly redaction: Redaction;
  /** The levels of classes in a trusted workspace; `undefined` in any other workspace. */
  readonly trusted: Partial<ClassLevels> | undefined;
  /** Where values came from; `undefined` if neither the policy nor the journal depends on it. */
  readonly provenance: ProvenanceLedger | undefined;
  readonly lanes: Lanes;
  readonly ledger: LedgerScope;
  /** `undefined` if there is no limit. */
  readonly quotas: Quotas | undefined;
  readonly confirmations: ConfirmationBroker;
  /** Runs the calls of the session; `undefined` if they run in this process. */
  readonly durable: DurableRuntime | undefined;
  /** Where calls are stored; `undefined` if they are not. */
  readonly store: GuardedStore | undefined;
  /** Whether this process is ending, so that waiting calls continue in the next one. */
  readonly isSuspended: boolean;
  /** Approves the plan of the session, if its mode awaits one. */
  approvePlan(by: string, confirmationId: string): Promise<void>;
  /** How many calls of a tool may run at once. */
  placesOf(tool: string): number;
  /** What people approved, in all sessions. */
  readonly approvalTable: Approvals;
  /** Where the session's approvals apply. */
  readonly place: ApprovalPlace;
}

/** Maximum number of characters of a call's id in a name of it. */
const MAX_ID = 256;

/** Where the session of an agent comes from: the call of another session that runs the agent. */
export interface AgentOrigin {
  /** The session of the call. */
  readonly parent: SessionCore;
  /** The call that runs the agent. */
  readonly callId: string;
  /** How many agents are above each other: 1 for one that a session of a person runs. */
  readonly depth: number;
  /** Maximum number of messages with calls that the agent may send. */
  readonly maxMessages: number;
  /** The call of the session of a person, which runs this agent or one above it. */
  readonly root: RootCall;
  /** Stops the wall time of the calls that run this agent and those above it. */
  readonly pause: PauseWallTime;
}

/** A call that is under way in a session of a person. */
export interface RootCall {
  readonly session: SessionCore;
  readonly turn: TurnCore;
  readonly messageId: string;
  readonly callId: string;
}

/** The members of a context that each message has for itself. */
export interface MessageContext extends Pick<DispatchContext, "policy"> {
  readonly confirm: NonNullable<DispatchContext["confirm"]>;
  readonly ask: NonNullable<DispatchContext["ask"]>;
  readonly stageChanges: NonNullable<DispatchContext["stageChanges"]>;
  readonly journal: DispatchContext["journal"];
  readonly events: DispatchContext["events"];
  readonly tracer: DispatchContext["tracer"];
  readonly suspensions: DispatchContext["suspensions"];
  readonly gates?: CallGates;
}

/** What the calls of a turn need of it. */
export interface TurnCore {
  readonly id: string;
  /** What the user said; `undefined` if it is not known. */
  readonly userText: string | undefined;
  readonly session: SessionCore;
  /** Whether no person can be asked about its calls. */
  readonly unattended: boolean;
  /** Aborted if the turn is cancelled. */
  readonly signal: AbortSignal;
  /** What the policy may depend on; `undefined` if it does not. */
  readonly history: CallHistory | undefined;
  readonly ledger: LedgerScope;
  /** Records that a call was not entered in the ledger. */
  markMissing(): void;
  begin(message: UnderWay): void;
  end(message: UnderWay): void;
}

/** A message with calls that have no result yet. */
export interface UnderWay {
  readonly id: string;
  /** Whether the model made a call with this id, which has no result yet. */
  isRunning(callId: string): boolean;
  /** Ends these calls, although their tools do not stop. */
  abandon(): void;
  /** Releases the session's slot of a call of the message: see `Turn.suspendSlot`. */
  suspendSlot?(callId: string): () => Promise<void>;
}

/** What happens to the calls of a message when the process ends. */
export interface RestartableMessage {
  /**
   * Whether a call that has not begun continues in the next process.
   *
   * @param parent The call whose tool makes it; `undefined` for a call of the model.
   */
  goesOn(parent: string | undefined): boolean;
  /** Whether a call that has begun is suspended, and continues in the next process. */
  isSuspended(callId: string): boolean;
}

/** The part of its message that a call uses. */
export interface MessageCore {
  readonly id: string;
  readonly session: SessionCore;
  readonly turn: TurnCore;
  readonly context: DispatchContext;
  /** Asks people about its calls. */
  readonly confirmations: Confirmer;
  /** Why its calls are refused; `undefined` if they may run. */
  readonly refusal: Refusal | undefined;
  /** Enters a call that the policy is about to decide on. Returns what the policy may depend on. */
  historyOf(request: PolicyRequest): CallHistory | undefined;
  /** Like {@link historyOf}, for other arguments of a call that was entered. */
  historyOfEdit(callId: string): CallHistory | undefined;
  /** Whether another process runs the call, or the call whose tool makes it, so that its outcome here is ignored. */
  isLost(callId: string): boolean;
  /** Returns what an earlier process asked about a call: see `Confirmer.earlier`. */
  askedBefore(callId: string): MaybePromise<readonly ConfirmationRecord[]>;
  /** Counts a call that the policy does not deny. Returns a promise only if the store needs time. */
  count(request: PolicyRequest, quotas: Quotas): Promise<void> | undefined;
  /** Identifies a call of the message, or one that its tool makes, whose arguments are `input`. */
  identityOf(callId: string, name: string, input: JsonValue): CallIdentity;
  /** Requires that the changes of a call are staged: it does not run otherwise. */
  stageCall(callId: string): void;
  /** Called when a call of the message has its result. */
  endCall(): void;
  /** Stores the result of a call. Returns a promise, which never rejects, only if there is something to wait for. */
  store(received: ReceivedCall, result: ToolExecution | null): Promise<void> | undefined;
}

/** Names the call that runs an agent, in the records and events of the agent's calls: `<session>/<call>`. */
export function parentName({ parent, callId }: Pick<AgentOrigin, "parent" | "callId">): string {
  return `${parent.id}/${callId.slice(0, MAX_ID)}`;
}
