import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useContext, useLayoutEffect, useRef } from "preact/hooks";
import type { Answer, Approval } from "../../shapes/confirmations.ts";
import { FoldingContext } from "../arguments/arguments.tsx";
import { count } from "../parts/format.ts";

/** For how long an answer is remembered. */
type Scope = "once" | "session" | "hour" | "ten";

const LABELS: Readonly<Record<Scope, string>> = {
  once: "this call only",
  session: "this tool, until the session is closed",
  hour: "this tool, in this session, for an hour",
  ten: "this tool, in this session, for 10 more calls",
};

/** The longest reason, in characters. */
const MAX_REASON_CHARS = 500;

/** What {@link ConfirmForm} asks about. */
export interface ConfirmFormProps {
  readonly decision: "allow" | "deny";
  /** What is answered, after the verb. */
  readonly children: ComponentChildren;
  /** The tool whose further calls the answer can be valid for. Default: the answer is for the calls that were shown. */
  readonly toolName?: string | undefined;
  /** Whether the model reads a reason. Default: `true`. */
  readonly takesReason?: boolean;
  readonly isBusy: boolean;
  /** Gets the answer without its digest. */
  readonly onAnswer: (answer: Omit<Answer, "digest">) => void;
  readonly onCancel: () => void;
}

/**
 * The second step of an answer. It belongs to what is shown and takes the focus, so that `Enter` answers and any other key
 * does not. Its button is not where the first step's is: a double click does not reach it.
 */
export function ConfirmForm({
  decision,
  children,
  toolName,
  takesReason = true,
  isBusy,
  onAnswer,
  onCancel,
}: ConfirmFormProps): JSX.Element {
  const button = useRef<HTMLButtonElement>(null);
  const reasonField = useRef<HTMLInputElement>(null);
  const scope = useSignal<Scope>("once");
  const reason = useSignal("");
  const folding = useContext(FoldingContext);
  const folded = [...folding.hidden.value.values()].reduce((sum, chars) => sum + chars, 0);
  useLayoutEffect(() => {
    // On a phone, the keyboard would cover what is shown.
    const hasKeyboard = matchMedia("(pointer: fine)").matches;
    (hasKeyboard ? (reasonField.current ?? button.current) : button.current)?.focus({ preventScroll: true });
  }, []);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (isBusy) return;
    const given = reason.value.trim();
    if (decision === "deny") onAnswer({ decision, ...(given !== "" && { reason: given }) });
    else onAnswer(toolName === undefined ? { decision } : withScope(scope.value, toolName));
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
        {children}
      </p>
      {decision === "allow" && folded > 0 && (
        <p class="problem">
          {count(folded, "character")} of the arguments are folded. Press o to read them first.
        </p>
      )}
      {decision === "allow" && toolName !== undefined && (
        <ScopeField
          value={scope.value}
          onChange={(value) => {
            scope.value = value;
          }}
        />
      )}
      {decision === "deny" && takesReason && (
        <label>
          Reason, which the model reads
          <input
            ref={reasonField}
            maxLength={MAX_REASON_CHARS}
            autoComplete="off"
            placeholder="optional"
            value={reason}
            onInput={({ currentTarget }) => {
              reason.value = currentTarget.value;
            }}
          />
        </label>
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

/** Returns the decision and the approval of an answer with a scope. */
function withScope(
  scope: Scope,
  toolName: string,
): { readonly decision: "allow" | "always"; readonly approval?: Approval } {
  const tools = [toolName];
  switch (scope) {
    case "once":
      return { decision: "allow" };
    case "session":
      return { decision: "always" };
    case "hour":
      return { decision: "always", approval: { tools, for: 3_600_000 } };
    case "ten":
      return { decision: "always", approval: { tools, for: "session", calls: 10 } };
  }
}

/** Asks for how long an answer is remembered. */
function ScopeField({
  value,
  onChange,
}: {
  readonly value: Scope;
  readonly onChange: (scope: Scope) => void;
}): JSX.Element {
  return (
    <label>
      Allow
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value as Scope)}>
        {Object.entries(LABELS).map(([scope, label]) => (
          <option key={scope} value={scope}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}
