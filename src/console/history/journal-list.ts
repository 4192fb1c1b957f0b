import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { RecordedCall } from "../api/history.ts";
import { get, messageOf, withQuery } from "../api/http.ts";

/** Which recorded calls are listed. An empty text matches all. */
export interface JournalFilter {
  readonly tool: string;
  readonly session: string;
  readonly code: string;
}

interface Page {
  readonly calls: readonly RecordedCall[];
  readonly next?: number | string;
}

/** The recorded calls that were read, the newest first. */
export interface JournalList {
  readonly calls: Signal<readonly RecordedCall[]>;
  readonly problem: Signal<string>;
  /** Whether there are older ones. */
  readonly hasMore: boolean;
  readonly loadOlder: () => Promise<void>;
}

/** Reads recorded calls, and reads them anew when the filter changes. */
export function useJournalList(filter: JournalFilter): JournalList {
  const calls = useSignal<readonly RecordedCall[]>([]);
  const next = useSignal<number | string | undefined>(undefined);
  const problem = useSignal("");
  const latest = useSignal(0);
  const load = async (before: number | string | undefined): Promise<void> => {
    const own = latest.peek() + 1;
    latest.value = own;
    try {
      const page = await get<Page>(withQuery("/v1/journal/calls", { ...filter, before, limit: 100 }));
      if (latest.peek() !== own) return;
      calls.value = before === undefined ? page.calls : [...calls.peek(), ...page.calls];
      next.value = page.next;
      problem.value = "";
    } catch (error) {
      if (latest.peek() === own) problem.value = messageOf(error);
    }
  };
  const { tool, session, code } = filter;
  useEffect(() => {
    void load(undefined);
  }, [tool, session, code]);
  return {
    ...{ calls, problem },
    hasMore: next.value !== undefined,
    loadOlder: () => load(next.peek()),
  };
}
