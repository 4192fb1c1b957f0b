import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { type Inquiry, listInquiries, type Resolution, readInquiry } from "../api/confirmations.ts";
import { ApiError } from "../api/http.ts";
import { rereading } from "../api/rereading.ts";
import { visible } from "../parts/foreign.tsx";

/** An inquiry of the list, and how it ended. */
export interface ListedInquiry {
  readonly inquiry: Inquiry;
  /** Absent as long as it is open. */
  readonly resolution?: Resolution;
}

/** The inquiries that ended and are still shown. */
const MAX_ENDED = 50;

/**
 * The inquiries, the oldest first. One that ends keeps its place until the person clears it, and new ones are added at the
 * end, so that nothing moves under a pointer or a key.
 */
export const inquiries: Signal<readonly ListedInquiry[]> = signal([]);

/** Whether the inquiries have been read once. */
export const areRead: Signal<boolean> = signal(false);

/** Why the inquiries could not be read; `""` if they could. */
export const inquiriesProblem: Signal<string> = signal("");

/** What happened last, for screen readers. */
export const announcement: Signal<string> = signal("");

/** The id of the inquiry that the person answered last; `""` if there is none. */
export const lastAnswered: Signal<string> = signal("");

/** The number of inquiries that wait. */
export const openCount: ReadonlySignal<number> = computed(
  () => inquiries.value.filter(({ resolution }) => resolution === undefined).length,
);

/** How inquiries ended that a person answers at once, until the last of them; otherwise `undefined`. */
let atOnce: Map<string, Resolution> | undefined;

/** Reads the open inquiries, and how those ended that were open. A call while it reads has it read once more. */
export const refreshInquiries: () => Promise<void> = rereading(async () => {
  if (atOnce === undefined) await merge(await listInquiries());
}, inquiriesProblem);

/** Changes the list once for all that are answered meanwhile: reading hundreds again after each answer takes minutes. */
export async function answerAtOnce(answer: () => Promise<unknown>): Promise<void> {
  const ended = new Map<string, Resolution>();
  atOnce = ended;
  try {
    await answer();
  } finally {
    atOnce = undefined;
    batch(() => {
      for (const [requestId, resolution] of ended) setResolution(requestId, resolution);
    });
    void refreshInquiries();
  }
}

async function merge(open: readonly Inquiry[]): Promise<void> {
  if (atOnce !== undefined) return;
  const byId = new Map(open.map((inquiry) => [inquiry.requestId, inquiry]));
  for (const { inquiry, resolution } of inquiries.peek()) {
    if (resolution === undefined && !byId.has(inquiry.requestId)) {
      setResolution(inquiry.requestId, await resolutionOf(inquiry));
    }
  }
  const listed = new Set(inquiries.peek().map(({ inquiry }) => inquiry.requestId));
  const added = open.filter(({ requestId }) => !listed.has(requestId));
  inquiries.value = [
    ...inquiries.peek().map((item) => {
      const inquiry = byId.get(item.inquiry.requestId);
      const isSame = inquiry === undefined || inquiry.digest === item.inquiry.digest;
      return isSame || item.resolution !== undefined ? item : { inquiry };
    }),
    ...added.map((inquiry) => ({ inquiry })),
  ];
  areRead.value = true;
  if (added.length === 1) announcement.value = `${added[0]?.toolName} waits for an answer.`;
  else if (added.length > 1) announcement.value = `${added.length} calls wait for an answer.`;
}

async function resolutionOf(inquiry: Inquiry): Promise<Resolution> {
  const ended = { decision: "ended", at: Date.now() };
  try {
    return (await readInquiry(inquiry)).resolution ?? ended;
  } catch (error) {
    // Its session may be closed. Anything else says nothing of how it ended: it is read again.
    if (error instanceof ApiError && [403, 404, 410].includes(error.status)) return ended;
    throw error;
  }
}

/** Remembers how an inquiry ended. The first time counts. */
export function setResolution(requestId: string, resolution: Resolution): void {
  if (atOnce !== undefined) {
    if (!atOnce.has(requestId)) atOnce.set(requestId, resolution);
    return;
  }
  const items = inquiries.peek();
  const item = items.find(({ inquiry }) => inquiry.requestId === requestId);
  if (item === undefined || item.resolution !== undefined) return;
  announcement.value = `${visible(item.inquiry.toolName)}: ${endOf(resolution)}.`;
  const changed = items.map((other) => (other === item ? { ...item, resolution } : other));
  let excess = changed.filter(({ resolution: end }) => end !== undefined).length - MAX_ENDED;
  inquiries.value = changed.filter(({ resolution: end }) => end === undefined || excess-- <= 0);
}

/** Removes the inquiries that ended from the list. */
export function clearEnded(): void {
  inquiries.value = inquiries.peek().filter(({ resolution }) => resolution === undefined);
}

const ENDS: Readonly<Record<string, string>> = {
  allow: "allowed",
  always: "allowed",
  deny: "denied",
  answer: "answered",
  timeout: "timed out",
  cancelled: "cancelled",
};

/** Says how an inquiry ended: `denied by carol`. */
export function endOf({ decision, by }: Resolution): string {
  const end = ENDS[decision] ?? decision;
  return by === undefined ? end : `${end} by ${visible(by)}`;
}
