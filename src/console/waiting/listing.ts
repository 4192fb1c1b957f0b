import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { inquiries, type ListedInquiry } from "./inquiries.ts";

/** Part of the tool, session, principal or arguments of the inquiries that are listed. */
export const inquiryFilter: Signal<string> = signal("");

/** Whether the inquiries are listed by tool and session. */
export const isGrouped: Signal<boolean> = signal(false);

/** Inquiries of one tool and session. */
export interface InquiryGroup {
  readonly key: string;
  readonly items: readonly ListedInquiry[];
}

/** The listed inquiries: one group for each tool and session, or one for all. */
export const inquiryGroups: ReadonlySignal<readonly InquiryGroup[]> = computed(() => {
  const wanted = inquiryFilter.value.toLowerCase();
  const found = inquiries.value.filter((item) => matches(item, wanted));
  if (!isGrouped.value) return [{ key: "", items: found }];
  const groups = Map.groupBy(found, ({ inquiry }) => JSON.stringify([inquiry.toolName, inquiry.sessionId]));
  return [...groups].map(([key, items]) => ({ key, items }));
});

/** The listed inquiries, from the first to the last. */
export const shownInquiries: ReadonlySignal<readonly ListedInquiry[]> = computed(() =>
  inquiryGroups.value.flatMap(({ items }) => items),
);

function matches({ inquiry }: ListedInquiry, wanted: string): boolean {
  const { toolName, sessionId, sessionName = "", principal = "", inputSummary = "", question } = inquiry;
  return (
    wanted === "" ||
    [toolName, sessionId, sessionName, principal, inputSummary, question].some((text) =>
      text.toLowerCase().includes(wanted),
    )
  );
}

/** The first open inquiry after another one, or else before it. */
export function openAfter(items: readonly ListedInquiry[], requestId: string): ListedInquiry | undefined {
  const at = items.findIndex(({ inquiry }) => inquiry.requestId === requestId);
  const others = [...items.slice(at + 1), ...items.slice(0, Math.max(0, at))];
  return others.find(({ resolution }) => resolution === undefined);
}
