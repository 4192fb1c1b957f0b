import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { confirmations, type ListedConfirmation } from "./confirmations.ts";

const chosen: Signal<ReadonlySet<string>> = signal(new Set());

/** The ids of the selected confirmations that are open. */
export const selected: ReadonlySignal<ReadonlySet<string>> = computed(
  () =>
    new Set(
      confirmations.value
        .filter((item) => canSelect(item) && chosen.value.has(item.confirmation.requestId))
        .map(({ confirmation }) => confirmation.requestId),
    ),
);

/** Part of the tool, session, principal or arguments of the confirmations that are listed. */
export const confirmationFilter: Signal<string> = signal("");

/** Whether the confirmations are listed by tool and session. */
export const isGrouped: Signal<boolean> = signal(false);

/** Confirmations of one tool and session. */
export interface ConfirmationGroup {
  readonly key: string;
  readonly items: readonly ListedConfirmation[];
}

/** The listed confirmations: one group for each tool and session, or one for all. */
export const confirmationGroups: ReadonlySignal<readonly ConfirmationGroup[]> = computed(() => {
  const wanted = confirmationFilter.value.toLowerCase();
  const found = confirmations.value.filter((item) => matches(item, wanted));
  if (!isGrouped.value) return [{ key: "", items: found }];
  const groups = Map.groupBy(found, ({ confirmation }) =>
    JSON.stringify([confirmation.toolName, confirmation.sessionId]),
  );
  return [...groups].map(([key, items]) => ({ key, items }));
});

/** The listed confirmations, from the first to the last. */
export const shownConfirmations: ReadonlySignal<readonly ListedConfirmation[]> = computed(() =>
  confirmationGroups.value.flatMap(({ items }) => items),
);

function matches({ confirmation }: ListedConfirmation, wanted: string): boolean {
  const { toolName, sessionId, sessionName = "", principal = "", inputSummary = "", question } = confirmation;
  return (
    wanted === "" ||
    [toolName, sessionId, sessionName, principal, inputSummary, question].some((text) =>
      text.toLowerCase().includes(wanted),
    )
  );
}

/** The first open confirmation after another one; if there is no later one, before it. */
export function openAfter(
  items: readonly ListedConfirmation[],
  requestId: string,
): ListedConfirmation | undefined {
  const at = items.findIndex(({ confirmation }) => confirmation.requestId === requestId);
  const others = [...items.slice(at + 1), ...items.slice(0, Math.max(0, at))];
  return others.find(({ resolution }) => resolution === undefined);
}

/** Whether a confirmation can be answered in a batch: it is open, and the answer is to allow or to deny. */
export function canSelect({ confirmation, resolution }: ListedConfirmation): boolean {
  return resolution === undefined && confirmation.choices.includes("allow");
}

/** Selects confirmations, or removes them from the selection. */
export function select(items: readonly ListedConfirmation[], isSelected: boolean): void {
  const ids = new Set(selected.peek());
  for (const item of items) {
    if (isSelected && canSelect(item)) ids.add(item.confirmation.requestId);
    else ids.delete(item.confirmation.requestId);
  }
  chosen.value = ids;
}

/** Whether all that can be selected of some confirmations are selected. */
export function isAllSelected(items: readonly ListedConfirmation[]): boolean {
  const selectable = items.filter(canSelect);
  return (
    selectable.length > 0 &&
    selectable.every(({ confirmation }) => selected.value.has(confirmation.requestId))
  );
}
