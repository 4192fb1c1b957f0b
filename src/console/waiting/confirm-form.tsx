import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Answer, WholeInquiry } from "../api/confirmations.ts";
import { ExactJson, Foreign } from "../parts/foreign.tsx";
import { type Scope, ScopeField, withScope } from "./scope.tsx";

/** What {@link ConfirmForm} asks about. */
export interface ConfirmFormProps {
  readonly inquiry: WholeInquiry;
  readonly decision: "allow" | "deny";
  /** Other arguments, as a JSON text that has been parsed once. */
  readonly edited: string | undefined;
  readonly isBusy: boolean;
  readonly onAnswer: (answer: Answer) => void;
  readonly onCancel: () => void;
}

/**
 * The second step of an answer. It belongs to one inquiry and its digest, and takes the focus, so that `Enter` answers and
 * any other key does not. Its button is not where the first step's is: a double click does not reach it.
 */
export function ConfirmForm({
  inquiry,
  decision,
  edited,
  isBusy,
  onAnswer,
  onCancel,
}: ConfirmFormProps): JSX.Element {
  const button = useRef<HTMLButtonElement>(null);
  const scope = useSignal<Scope>("once");
  useLayoutEffect(() => {
    button.current?.focus();
  }, []);
  const { digest, toolName, choices } = inquiry;
  const submit = (event: Event): void => {
    event.preventDefault();
    if (isBusy) return;
    const given = decision === "deny" ? { decision } : withScope(scope.value, toolName);
    onAnswer({ ...given, digest, ...(edited !== undefined && { arguments: JSON.parse(edited) }) });
  };
  return (
    <form
      class={`confirm ${decision}`}
      aria-label={decision === "allow" ? "Confirm to allow" : "Confirm to deny"}
      onSubmit={submit}
      onKeyDown={(event) => {
        if (event.key === "Escape") onCancel();
      }}
    >
      <p>
        {decision === "allow" ? "Allow " : "Deny "}
        <strong>
          <Foreign text={toolName} />
        </strong>
        {edited === undefined ? " with the arguments above" : " with these arguments instead"}? Digest{" "}
        <code>{digest.slice(0, 12)}…</code>
      </p>
      {edited !== undefined && <ExactJson text={edited} label="Edited arguments" />}
      {decision === "allow" && choices.includes("always") && (
        <ScopeField
          value={scope.value}
          onChange={(value) => {
            scope.value = value;
          }}
        />
      )}
      <p class="buttons">
        <button type="button" onClick={onCancel}>
          Cancel (Esc)
        </button>
        <button
          type="submit"
          class={decision === "allow" ? "primary" : "danger"}
          ref={button}
          disabled={isBusy}
        >
          {decision === "allow" ? "Allow (Enter)" : "Deny (Enter)"}
        </button>
      </p>
    </form>
  );
}
