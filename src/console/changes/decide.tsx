import { type Signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** What becomes of held changes. */
export type Decision = "accept" | "reject";

/** Accepts or rejects in two steps. The second button is not where the first one is. */
export function Decide({
  what,
  canAccept = true,
  onDecide,
}: {
  readonly what: string;
  readonly canAccept?: boolean;
  readonly onDecide: (decision: Decision) => Promise<void>;
}): JSX.Element {
  const step = useSignal<Decision | undefined>(undefined);
  const isBusy = useSignal(false);
  if (step.value !== undefined) {
    return <Confirm decision={step.value} what={what} step={step} isBusy={isBusy} onDecide={onDecide} />;
  }
  return (
    <p class="buttons">
      {canAccept && (
        <button
          type="button"
          onClick={() => {
            step.value = "accept";
          }}
        >
          Accept {what}…
        </button>
      )}
      <button
        type="button"
        onClick={() => {
          step.value = "reject";
        }}
      >
        Reject {what}…
      </button>
    </p>
  );
}

function Confirm({
  decision,
  what,
  step,
  isBusy,
  onDecide,
}: {
  readonly decision: Decision;
  readonly what: string;
  readonly step: Signal<Decision | undefined>;
  readonly isBusy: Signal<boolean>;
  readonly onDecide: (decision: Decision) => Promise<void>;
}): JSX.Element {
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    button.current?.focus();
  }, []);
  const cancel = (): void => {
    step.value = undefined;
  };
  const confirm = async (): Promise<void> => {
    if (isBusy.value) return;
    isBusy.value = true;
    await onDecide(decision);
    isBusy.value = false;
    step.value = undefined;
  };
  const verb = decision === "accept" ? "Accept" : "Reject";
  return (
    <form
      class="confirm"
      aria-label={`Confirm to ${decision}`}
      onSubmit={(event) => {
        event.preventDefault();
        void confirm();
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") cancel();
      }}
    >
      <p>
        {verb} {what}?
      </p>
      <p class="buttons">
        <button type="button" onClick={cancel}>
          Cancel (Esc)
        </button>
        <button
          type="submit"
          class={decision === "accept" ? "primary" : "danger"}
          ref={button}
          disabled={isBusy.value}
        >
          {verb} (Enter)
        </button>
      </p>
    </form>
  );
}
