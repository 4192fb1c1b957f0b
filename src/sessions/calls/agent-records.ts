import { EventStream } from "../../engine/call/events.ts";
import type { CallJournal, DeniedRecord, DispatchedRecord, EndedRecord } from "../../engine/call/journal.ts";
import type { AgentOrigin } from "./core.ts";

/** The most characters of a call's id in a name of it. */
const MAX_ID = 256;

/** Names the call that runs an agent, in the records and events of the agent's calls: `<session>/<call>`. */
export function parentName({ parent, callId }: Pick<AgentOrigin, "parent" | "callId">): string {
  return `${parent.id}/${callId.slice(0, MAX_ID)}`;
}

/** Records calls of an agent with the call that runs it as their `parent`, except those that their own tools make. */
export class AgentJournal implements CallJournal {
  readonly #journal: CallJournal;
  readonly #parent: string;

  constructor(journal: CallJournal, parent: string) {
    this.#journal = journal;
    this.#parent = parent;
  }

  get awaitsEvery(): boolean {
    return this.#journal.awaitsEvery === true;
  }

  get problem(): string | undefined {
    return this.#journal.problem;
  }

  begin(record: DispatchedRecord): undefined | Promise<void> {
    return this.#journal.begin({ parent: this.#parent, ...record });
  }

  end(record: EndedRecord): unknown {
    return this.#journal.end({ parent: this.#parent, ...record });
  }

  deny(record: DeniedRecord): unknown {
    return this.#journal.deny({ parent: this.#parent, ...record });
  }
}

/** Returns a stream that passes events of an agent's calls on, with the call that runs it as their `parent`. */
export function agentEvents(events: EventStream, parent: string): EventStream {
  const own = new EventStream();
  own.on((event) => events.emit({ parent, ...event }));
  return own;
}
