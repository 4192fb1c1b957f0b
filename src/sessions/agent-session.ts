import { Refusal } from "../engine/refusal.ts";
import type { StageChanges } from "../sandboxes/contract/staged-changes.ts";
import type { SideEffects } from "../tool/side-effects.ts";
import type { ToolTraits } from "../tool/tool-traits.ts";
import { type PauseWallTime, pauseBoth } from "../tool/wall-time.ts";
import type { AgentOrigin } from "./calls/core.ts";
import { newId } from "./ids.ts";
import { writeStoredMode } from "./modes/mode.ts";
import type { ProvenanceLedger } from "./provenance.ts";
import { Session, type TurnOptions } from "./session.ts";
import type { SessionState } from "./session-base.ts";
import type { Shared } from "./shared.ts";
import type { SessionRecord } from "./store/store.ts";
import type { Turn } from "./turn.ts";

/** Maximum number of agents above each other. */
export const MAX_AGENT_DEPTH = 3;

const TOO_DEEP = "Permission denied: agents may be nested three deep";

/** The call that is to run an agent, as its tool knows it. */
export interface AgentCall {
  readonly turnId: string | undefined;
  readonly messageId: string | undefined;
  readonly callId: string;
  /** Stops its wall time. Default: it cannot be stopped. */
  readonly pause?: PauseWallTime | undefined;
}

/** What an agent is to have less of than the session of the call that runs it. */
export interface AgentOptions {
  /** Maximum number of messages with calls that the agent may send. */
  readonly maxMessages: number;
  /** Patterns of the names of its tools. Default: those of the session above. */
  readonly tools?: readonly string[];
  /** Which of these tools it has. Default: all. */
  readonly hasTool?: (tool: ToolTraits & { readonly sideEffects: SideEffects }) => boolean;
}

/**
 * The session of an agent that a call of another session runs. It shares with the session of a person above it what calls
 * use up and depend on: quotas, the ledger, where values came from, and staged changes.
 */
export class AgentSession extends Session {
  override readonly origin: AgentOrigin;
  #messages = 0;

  /** @internal */
  constructor(shared: Shared, record: SessionRecord, state: SessionState, origin: AgentOrigin) {
    super(shared, record, state);
    this.origin = origin;
  }

  /** Begins a turn. What the user said is what the user of the session above said: a prompt is the words of a model. */
  override turn(options: TurnOptions = {}): Turn {
    const { userText } = this.origin.root.turn;
    const { id } = options;
    return super.turn({ ...(id !== undefined && { id }), ...(userText !== undefined && { userText }) });
  }

  /** @internal */
  override admitMessage(): Refusal | undefined {
    const { maxMessages } = this.origin;
    if (++this.#messages <= maxMessages) return undefined;
    const reason = `this agent had its ${maxMessages} iterations: it must answer with what it knows`;
    return new Refusal("permission_denied", `Permission denied: ${reason}`, { detail: reason });
  }

  /** @internal */
  override get provenance(): ProvenanceLedger | undefined {
    return this.origin.root.session.provenance;
  }

  /** @internal */
  override get stageChanges(): StageChanges | undefined {
    return this.origin.root.session.stageChanges;
  }
}

/**
 * Returns where the session of an agent comes from.
 *
 * @throws {Refusal} `permission_denied` if the call is not one that the model of the session makes now, and if there are
 *   {@link MAX_AGENT_DEPTH} agents above.
 */
export async function originOf(
  parent: Session,
  { turnId, messageId, callId, pause: own = () => () => {} }: AgentCall,
  { maxMessages }: Pick<AgentOptions, "maxMessages">,
): Promise<AgentOrigin> {
  const turn = turnId === undefined ? undefined : await parent.findTurn(turnId);
  if (turn === undefined || messageId === undefined || !turn.isRunning(messageId, callId)) {
    // A call of a tool has only what its tool was granted, and a call of another wire only names the session.
    const reason = "only the model of a session can have an agent run";
    throw new Refusal("permission_denied", `Permission denied: ${reason}`, { detail: reason });
  }
  const above = parent.origin;
  const depth = (above?.depth ?? 0) + 1;
  if (depth > MAX_AGENT_DEPTH) throw new Refusal("permission_denied", TOO_DEEP, { detail: TOO_DEEP });
  const root = above?.root ?? { session: parent, turn, messageId, callId };
  const pause = above === undefined ? own : pauseBoth(own, above.pause);
  return Object.freeze({ parent, callId, depth, maxMessages, root, pause });
}

/** What is stored of the session of an agent: that of the session above, as a worker. */
export function recordOfAgent(
  { principal, workspace, modeState, store }: Session,
  { parent, callId }: AgentOrigin,
  tools: readonly string[] | undefined,
): SessionRecord {
  return Object.freeze({
    id: newId(),
    mode: writeStoredMode(modeState),
    kind: "worker",
    openedAt: Date.now(),
    ...(principal !== undefined && { principal }),
    ...(workspace !== undefined && { workspace }),
    ...(tools !== undefined && { tools: Object.freeze([...tools]) }),
    ...(store === undefined && { durable: false }),
    parent: Object.freeze({ sessionId: parent.id, callId }),
  });
}

/** What the session of an agent shares with the one above. */
export function stateOfAgent(above: Session, { hasTool }: Pick<AgentOptions, "hasTool">): SessionState {
  const { registry } = above;
  const { quotas, realWorkspace, trusted } = above.state;
  const tools =
    hasTool === undefined
      ? registry
      : registry.view((tool) => hasTool({ ...tool, sideEffects: tool.sideEffects ?? "destructive" }));
  return {
    quotas,
    realWorkspace,
    trusted,
    turnIds: [],
    registry: tools,
    ledger: above.ledger,
    changes: above.changes,
  };
}
