import { randomBytes } from "node:crypto";
import type { EventStream } from "../engine/call/events.ts";
import type { ToolRegistry } from "../engine/registry.ts";
import type { Client } from "../http/clients.ts";
import type { Exchange } from "../http/exchange.ts";
import { draining, notFound, overloaded, paused } from "../http/refusals.ts";
import type { UnreadBytes } from "../http/respond.ts";
import type { JournalHistory } from "../journal/history/journal-history.ts";
import type { Redaction } from "../redaction/redaction.ts";
import type { SessionCore } from "../sessions/calls/core.ts";
import type { SessionMode } from "../sessions/modes/mode.ts";
import type { ResumedMessage, Session } from "../sessions/session.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { AcceptedMessage, Turn } from "../sessions/turn.ts";
import type { SessionEvent } from "../shapes/turns.ts";
import type { Admin } from "./admin.ts";
import type { CallRepeats } from "./call-repeats.ts";
import type { Console } from "./console/console.ts";
import {
  EventLogs,
  type EventStreamOptions,
  type FinalEvent,
  type LoggedEvent,
  type StreamRoom,
} from "./event-stream.ts";
import { MessagesUnderWay, RetainedTurns, type TurnPlace } from "./message-bounds.ts";
import { AnswerLinks } from "./notifying/answer-links.ts";
import { Notifier } from "./notifying/notifier.ts";
import type { Notify } from "./notifying/notify.ts";
import { PushDevices } from "./notifying/web-push.ts";
import { nestedEvent, publicConfirmationEvent, publicEvent } from "./public-event.ts";

/** What people can look at besides sessions. */
export interface Inspected {
  /** With the tools of today: a reload replaces them. */
  readonly registry: ToolRegistry;
  /** Hides secrets in what is shown. */
  readonly redaction: Redaction;
  /** `undefined` if there is no journal. */
  readonly history?: JournalHistory | undefined;
  /** Calls tools again. `undefined` if there is no journal. */
  readonly repeats?: CallRepeats | undefined;
}

/** Counts the streams of events with which approvers follow sessions. */
export class AttachedApprovers {
  /** By the ids of sessions; no entry is zero. */
  readonly #streams = new Map<string, number>();

  /** @param ended Aborted when the stream has ended. */
  attach(sessionId: string, ended: AbortSignal): void {
    if (ended.aborted) return;
    this.#count(sessionId, 1);
    ended.addEventListener("abort", () => this.#count(sessionId, -1), { once: true });
  }

  has(sessionId: string): boolean {
    return this.#streams.has(sessionId);
  }

  #count(sessionId: string, change: 1 | -1): void {
    const streams = (this.#streams.get(sessionId) ?? 0) + change;
    if (streams > 0) this.#streams.set(sessionId, streams);
    else this.#streams.delete(sessionId);
  }
}

/** What a caller may choose when it opens a session. */
export interface CallerBounds {
  /** The loosest mode. */
  readonly mode: SessionMode;
  /** Absolute paths: the workspaces are these, or below them. */
  readonly workspaces: readonly string[];
  /** The longest body. */
  readonly bodyBytes: number;
}

/** Options of {@link SessionService}. */
export interface ServiceOptions {
  readonly sessions: Sessions;
  readonly admin: Admin;
  /** The events of the calls of all sessions, and of nothing else. */
  readonly events: EventStream;
  readonly bounds: CallerBounds;
  readonly room: StreamRoom;
  readonly inspected: Inspected;
  /** Whether a principal may answer for a session now. */
  readonly approves: (id: string, session: Session) => boolean;
  /** Receives the confirmations that no attached approver sees. Default: none. */
  readonly notify?: Notify | undefined;
  /** Default: there is no page for people. */
  readonly console?: Console | undefined;
}

/** How often the index of the journal is read on. */
const READ_ON_MS = 60_000;

/** What the routes share: the sessions, and the events that are retained for their clients. */
export class SessionService {
  readonly sessions: Sessions;
  readonly admin: Admin;
  readonly bounds: CallerBounds;
  readonly inspected: Inspected;
  readonly console: Console | undefined;
  readonly logs: EventLogs = new EventLogs();
  readonly messages: MessagesUnderWay;
  readonly retained: RetainedTurns;
  readonly #room: StreamRoom;
  /** Part of the ids of events: those of another process have another one. */
  readonly epoch: string = randomBytes(6).toString("hex");
  readonly #ending = new AbortController();
  /** Absent if notifications have no links that answer. */
  readonly answerLinks: AnswerLinks | undefined;
  /** Absent unless people can subscribe on the page. */
  readonly pushDevices: PushDevices | undefined;
  readonly #approvers = new AttachedApprovers();
  readonly #notifier: Notifier | undefined;
  #readingOn: NodeJS.Timeout | undefined;
  /** The ends of the messages under way. */
  readonly #ends = new Map<string, Promise<FinalEvent>>();

  constructor(options: ServiceOptions) {
    const { sessions, admin, events, bounds, room, inspected, approves, notify, console } = options;
    this.#room = room;
    this.console = console;
    this.admin = admin;
    this.inspected = inspected;
    this.sessions = sessions;
    this.retained = new RetainedTurns(bounds.bodyBytes, ({ sessionId, id }) => {
      const session = sessions.get(sessionId);
      if (session !== undefined) void session.forgetTurn(id);
    });
    this.bounds = bounds;
    this.messages = new MessagesUnderWay(sessions);
    sessions.observe({
      onIdle: () => this.messages.check(),
      onClosed: (sessionId) => {
        this.logs.close(sessionId);
        this.retained.close(sessionId);
      },
    });
    this.answerLinks = AnswerLinks.open(notify);
    this.pushDevices = PushDevices.open(notify);
    const notifier =
      notify &&
      new Notifier({
        notify,
        devices: this.pushDevices,
        mayAnswer: (by, { sessionId }) => {
          const session = sessions.get(sessionId);
          return session !== undefined && approves(by, session);
        },
        nameOf: (sessionId) => sessions.get(sessionId)?.name,
        isSeen: (sessionId) => this.withAbove(sessionId).some((id) => this.#approvers.has(id)),
        answerLink: (confirmation) => this.answerLinks?.issue(confirmation),
      });
    this.#notifier = notifier;
    events.on((event) => {
      const shown = publicEvent(event);
      if (shown === undefined) return;
      const { parent, sessionId } = event;
      const toCaller = parent === undefined ? undefined : nestedEvent({ ...event, parent });
      const logged = loggedEvent(shown, toCaller);
      this.addEvent(sessionId, logged);
      if ("execution" in event && parent === undefined) this.retained.grow(sessionId, logged.data.length);
    });
    sessions.onConfirmation((event) => {
      const { sessionId, parent } = event.confirmation;
      const toCaller = parent === undefined ? undefined : publicConfirmationEvent(event, true);
      const logged = loggedEvent(publicConfirmationEvent(event, false), toCaller);
      for (const id of this.withAbove(sessionId)) this.addEvent(id, logged);
      notifier?.take(event);
      if (event.type === "resolved") this.answerLinks?.forget(event.confirmation.id);
      console?.confirmationsChanged();
    });
    sessions.onModeChange((change) =>
      this.addEvent(change.sessionId, loggedEvent({ type: "session.mode_changed", ...change })),
    );
    sessions.onChanges(({ type, ...event }) =>
      this.addEvent(event.sessionId, loggedEvent({ type: `changes.${type}`, ...event })),
    );
    // Somebody may want to see the overview, which has little to read then.
    const readOn = (): void => void inspected.history?.readOn().catch(() => {});
    if (console !== undefined) {
      readOn();
      this.#readingOn = setInterval(readOn, READ_ON_MS).unref();
    }
    for (const message of sessions.takeResumed()) void this.#followResumed(message);
  }

  /** Aborted when the server begins to shut down. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /**
   * Returns a session that the client may know about.
   *
   * @throws {RequestRefusal} 404.
   */
  session(client: Client, id: string): Session {
    const session = this.sessions.get(id);
    if (session !== undefined && client.sees(session)) return session;
    throw notFound();
  }

  /** See {@link withSessionsAbove}. */
  withAbove(sessionId: string): readonly string[] {
    return withSessionsAbove(this.sessions, sessionId);
  }

  /** @throws {RequestRefusal} 503 if the server is shutting down. */
  refuseIfEnding(): void {
    if (this.ending.aborted) throw draining();
  }

  /** @throws {RequestRefusal} 503 if the server is paused. */
  refuseIfPaused(): void {
    if (this.admin.isPaused) throw paused();
  }

  /**
   * Takes room for a stream of events. Its signal is aborted when the connection is closed, the client's credential is
   * revoked, or the server shuts down.
   *
   * @throws {RequestRefusal} 429 if there are too many streams.
   */
  stream({ client, closed, revoked }: Exchange): Pick<EventStreamOptions, "signal" | "unread"> {
    const { streams } = this.#room;
    const { name } = client;
    if (!streams.acquire(name, 1)) throw overloaded("too many streams of events are open");
    closed.addEventListener("abort", () => streams.release(name, 1), { once: true });
    if (closed.aborted) streams.release(name, 1);
    return { signal: AbortSignal.any([closed, revoked, this.ending]), unread: this.unreadOf(client) };
  }

  /** Where the bytes that a client has not read count. */
  unreadOf({ name }: Client): UnreadBytes {
    const { unread } = this.#room;
    return {
      acquire: (bytes) => unread.acquire(name, bytes),
      release: (bytes) => unread.release(name, bytes),
    };
  }

  /** Counts an approver as attached to a session, until the connection is closed. */
  attach({ client, closed }: Exchange, session: Session): void {
    if (client.approves(session)) this.#approvers.attach(session.id, closed);
  }

  /** Adds an event, and returns its number; 0 if the session is closed, so that its log does not begin again. */
  addEvent(sessionId: string, event: Omit<LoggedEvent, "number">): number {
    return this.sessions.get(sessionId) === undefined ? 0 : this.logs.add(sessionId, event);
  }

  /**
   * Adds the event that a message has ended when it ends, once if the message is sent again meanwhile, and returns it.
   * Rejects if the results cannot be read.
   */
  endOf({ id: turnId, session }: Turn, { id: messageId, results }: AcceptedMessage): Promise<FinalEvent> {
    const key = JSON.stringify([session.id, turnId, messageId]);
    const known = this.#ends.get(key);
    if (known !== undefined) return known;
    const end = results
      .then((executions) => {
        const ended = loggedEvent({ type: "turn.ended", turnId, messageId, executions });
        return { number: this.addEvent(session.id, ended), ...ended };
      })
      .finally(() => this.#ends.delete(key));
    this.#ends.set(key, end);
    return end;
  }

  /** Follows the messages of an earlier process that continue, like those that are accepted here. */
  async #followResumed(message: ResumedMessage): Promise<void> {
    const { turn, id } = message;
    const { session } = turn;
    const end = this.messages.begin(session.id);
    // It has been accepted already, whether or not there is room. Its own bytes are those of an earlier process.
    const admitted = this.retained.begin(placeOf(session, turn.id), id, 0);
    const counted = typeof admitted === "string" ? undefined : admitted;
    counted?.cancelWith(() => void turn.cancel());
    let bytes = 0;
    try {
      bytes = (await this.endOf(turn, message)).data.length;
    } catch {
      // The store could not be read: clients have to read the turn.
    } finally {
      counted?.end(bytes);
      end?.();
    }
  }

  /**
   * Waits for the calls that run, but not for people: those calls wait on in the store.
   *
   * @param maxMs After which calls are cancelled.
   */
  async close(maxMs: number): Promise<void> {
    this.#ending.abort();
    clearInterval(this.#readingOn);
    this.console?.logins.close();
    this.#notifier?.close();
    await this.messages.idle(maxMs);
    await this.sessions.close();
    this.logs.closeAll();
  }
}

/** @param toCaller What the caller of the session reads in its place. Default: the same. */
function loggedEvent(event: SessionEvent, toCaller?: SessionEvent): Omit<LoggedEvent, "number"> {
  return {
    type: event.type,
    data: JSON.stringify(event),
    ...(toCaller && { callerData: JSON.stringify(toCaller) }),
  };
}

/** Where the messages of a turn are counted. */
export function placeOf(
  { id: sessionId, principal }: Pick<Session, "id" | "principal">,
  turnId: string,
): TurnPlace {
  return { sessionId, principal: principal?.id ?? "", turnId };
}

/**
 * Returns the ids of a session and of those above it: the session of an agent has above it the one whose call runs the agent.
 * What a person is asked about an agent concerns the clients of all of them.
 */
function withSessionsAbove(sessions: Pick<Sessions, "get">, id: string): readonly string[] {
  const ids = [id];
  let session: Pick<SessionCore, "origin"> | undefined = sessions.get(id);
  while (session?.origin !== undefined) {
    const { parent }: { readonly parent: SessionCore } = session.origin;
    ids.push(parent.id);
    session = parent;
  }
  return ids;
}
