import { render, textOf } from "../../rendering/render.ts";
import type { Inquiry } from "../../sessions/confirmations/confirmation.ts";

/** A confirmation, as those who are notified see it. */
export interface NotifiedConfirmation {
  readonly requestId: string;
  readonly sessionId: string;
  /** Absent if the session has none. */
  readonly sessionName?: string;
  readonly toolName: string;
  readonly sideEffects: string;
  /** Where a person answers it. */
  readonly link?: string;
  /** A line of the arguments, redacted, escaped and cut. */
  readonly summary?: string;
}

/** The confirmations of one notification. */
export interface Notification {
  readonly inquiries: readonly NotifiedConfirmation[];
  /** Where all are listed. */
  readonly link?: string;
}

/** The most characters of a summary, and of a name in a text. */
const SUMMARY_CHARS = 200;
const NAME_CHARS = 100;
/** The most confirmations that a text has. */
const MAX_LISTED = 10;

/** Returns a line of the arguments of a call, or of a question, without secrets. */
export function summaryOf(inquiry: Inquiry): string {
  const { text } = inquiry.kind === "question" ? inquiry.shown.questionSummary : inquiry.shown.inputSummary;
  const line = text.replace(/\s+/g, " ");
  return line.length <= SUMMARY_CHARS ? line : `${line.slice(0, SUMMARY_CHARS).toWellFormed()}…`;
}

/** What a person reads of a confirmation. Every text is escaped: it has no control characters and no line breaks. */
export interface ConfirmationText {
  /** Tool, class and session. */
  readonly line: string;
  readonly summary?: string;
  readonly link?: string;
}

/** The texts of a notification. */
export interface ReadNotification {
  readonly title: string;
  /** At most 10. */
  readonly inquiries: readonly ConfirmationText[];
  /** How many more there are; absent if all are listed. */
  readonly more?: string;
  readonly link?: string;
}

/** Writes a notification for people. */
export function readable({ inquiries, link }: Notification): ReadNotification {
  const [first] = inquiries;
  const more = inquiries.length - MAX_LISTED;
  return {
    title:
      inquiries.length === 1 && first !== undefined
        ? `${printed(first.toolName)} waits for an answer`
        : `${inquiries.length} calls wait for an answer`,
    inquiries: inquiries
      .slice(0, MAX_LISTED)
      .map(({ toolName, sideEffects, sessionId, sessionName, ...more }) => ({
        line: `${printed(toolName)} (${sideEffects}) in the session ${printed(sessionName ?? sessionId)}`,
        ...(more.summary !== undefined && { summary: more.summary }),
        ...(more.link !== undefined && { link: more.link }),
      })),
    ...(more > 0 && { more: `And ${more} more.` }),
    ...(link !== undefined && { link }),
  };
}

/** Writes a notification as a text of several lines. */
export function plainText(notification: Notification): string {
  const { inquiries, more, link } = readable(notification);
  const parts = inquiries.map(({ line, summary, link: own }) =>
    [line, summary, own].filter((part) => part !== undefined).join("\n"),
  );
  if (more !== undefined) parts.push(link === undefined ? more : `${more}\n${link}`);
  return parts.join("\n\n");
}

function printed(name: string): string {
  return textOf(render(name, { chars: NAME_CHARS }));
}
