import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { printableJson } from "../parts/foreign.tsx";
import { Problem } from "../parts/problem.tsx";

/** Has a person edit the arguments of a call. Nothing is sent before the next step shows them again. */
export function EditForm({
  text,
  onDone,
  onCancel,
}: {
  /** JSON. */
  readonly text: string;
  /** Gets JSON. */
  readonly onDone: (text: string) => void;
  readonly onCancel: () => void;
}): JSX.Element {
  const field = useRef<HTMLTextAreaElement>(null);
  const value = useSignal(printableJson(text));
  const problem = useSignal("");
  useLayoutEffect(() => {
    field.current?.focus();
  }, []);
  const done = (): void => {
    try {
      onDone(JSON.stringify(JSON.parse(value.value)));
    } catch {
      problem.value = "This is not JSON. Correct it, or cancel.";
    }
  };
  return (
    <form
      class="confirm"
      aria-label="Edit the arguments"
      onSubmit={(event) => {
        event.preventDefault();
        done();
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onCancel();
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) done();
      }}
    >
      <label>
        Arguments, as JSON
        <textarea
          class="foreign"
          rows={12}
          dir="ltr"
          spellcheck={false}
          ref={field}
          value={value}
          onInput={({ currentTarget }) => {
            value.value = currentTarget.value;
          }}
        />
      </label>
      <Problem of={problem} />
      <p class="buttons">
        <button type="button" onClick={onCancel}>
          Cancel (Esc)
        </button>
        <button type="submit">Review (Ctrl+Enter)</button>
      </p>
    </form>
  );
}
