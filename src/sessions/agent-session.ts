import { Refusal } from "../engine/refusal.ts";
import type { StageChanges } from "../sandboxes/contract/staged-changes.ts";
import type { AgentOrigin } from "./calls/core.ts";
import type { ProvenanceLedger } from "./provenance/ledger.ts";
import { Session, type TurnOptions } from "./session.ts";
import type { SessionState } from "./session-base.ts";
import type { Shared } from "./shared.ts";
import type { SessionRecord } from "./store/records.ts";
import type { Turn } from "./turns/turn.ts";

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
