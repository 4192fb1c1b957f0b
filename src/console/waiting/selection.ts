import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { inquiries, type ListedInquiry } from "./inquiries.ts";

const chosen: Signal<ReadonlySet<string>> = signal(new Set());

/** Whether an inquiry can be answered together with others: it is open, and the answer is to allow or to deny. */
export function canSelect({ inquiry, resolution }: ListedInquiry): boolean {
  return resolution === undefined && inquiry.choices.includes("allow");
}

/** The ids of the selected inquiries that are open. */
export const selected: ReadonlySignal<ReadonlySet<string>> = computed(
  () =>
    new Set(
      inquiries.value
        .filter((item) => canSelect(item) && chosen.value.has(item.inquiry.requestId))
        .map(({ inquiry }) => inquiry.requestId),
    ),
);

/** Selects inquiries, or no longer. */
export function select(items: readonly ListedInquiry[], isSelected: boolean): void {
  const ids = new Set(selected.peek());
  for (const item of items) {
    if (isSelected && canSelect(item)) ids.add(item.inquiry.requestId);
    else ids.delete(item.inquiry.requestId);
  }
  chosen.value = ids;
}

/** Whether every one of some inquiries that can be selected is. */
export function isAllSelected(items: readonly ListedInquiry[]): boolean {
  const selectable = items.filter(canSelect);
  return selectable.length > 0 && selectable.every(({ inquiry }) => selected.value.has(inquiry.requestId));
}
