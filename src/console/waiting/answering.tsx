import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Answer, WholeConfirmation } from "../../shapes/confirmations.ts";
import { useKeys } from "../page/keys.ts";
import { Exact, ExactJson, Foreign } from "../parts/foreign.tsx";
import { printable, printableJson } from "../parts/format.ts";
import { Problem } from "../parts/loaded.tsx";
import { ConfirmForm } from "./confirm-form.tsx";

type Step = "first" | "edit" | "allow" | "deny";

/**
 * Lets a person answer a confirmation in two steps.
 *
 * @param onAnswer Gets the answer without its digest, and returns why it is not valid, or `""`.
 */
export function Answering({
  confirmation,
  mayEdit = true,
  onAnswer,
}: {
  readonly confirmation: WholeConfirmation;
  /** Whether the person can change the arguments. Default: `true`. */
  readonly mayEdit?: boolean;
  readonly onAnswer: (answer: Omit<Answer, "digest">) => Promise<string>;
}): JSX.Element {
  const step = useSignal<Step>("first");
  const edited = useSignal<string | undefined>(undefined);
  const isBusy = useSignal(false);
  const problem = useSignal("");
  const isQuestion = confirmation.kind === "question";
  const begin = (next: Step): void => {
    if (step.value === next || isBusy.value) return;
    edited.value = undefined;
    problem.value = "";
    step.value = next;
  };
  const cancel = (): void => {
    begin("first");
    focusHeading();
  };
  const answer = async (given: Omit<Answer, "digest">): Promise<void> => {
    if (isBusy.value) return;
    isBusy.value = true;
    focusHeading();
    problem.value = await onAnswer(given);
    isBusy.value = false;
    step.value = "first";
  };
  const canAllow = confirmation.choices.includes("allow");
  const canEdit = mayEdit && canAllow && confirmation.kind === "call" && confirmation.arguments !== undefined;
  useKeys({
    ...(canAllow && { a: () => begin("allow") }),
    ...(canEdit && { e: () => begin("edit") }),
    d: () => begin("deny"),
    Escape: cancel,
  });
  const decision = step.value;
  return (
    <>
      <Problem of={problem} />
      {isQuestion && decision === "first" && (
        <QuestionForm confirmation={confirmation} isBusy={isBusy.value} onAnswer={answer} />
      )}
      {decision === "first" && (
        <p class="buttons first">
          {canAllow && (
            <button type="button" onClick={() => begin("allow")}>
              Allow… (a)
            </button>
          )}
          {canEdit && (
            <button type="button" class="minor" onClick={() => begin("edit")}>
              Edit… (e)
            </button>
          )}
          <button type="button" onClick={() => begin("deny")}>
            {isQuestion ? "Decline… (d)" : "Deny… (d)"}
          </button>
        </p>
      )}
      {decision === "edit" && (
        <EditForm
          text={confirmation.arguments ?? "{}"}
          onCancel={cancel}
          onDone={(text) => {
            edited.value = text;
            step.value = "allow";
          }}
        />
      )}
      {(decision === "allow" || decision === "deny") && (
        <ConfirmForm
          key={decision}
          decision={decision}
          toolName={confirmation.choices.includes("always") ? confirmation.toolName : undefined}
          takesReason={!isQuestion}
          isBusy={isBusy.value}
          onAnswer={(given) =>
            answer({
              ...given,
              ...(edited.value !== undefined && { arguments: JSON.parse(edited.value) }),
            })
          }
          onCancel={cancel}
        >
          <strong>
            <Foreign text={confirmation.toolName} />
          </strong>
          {edited.value === undefined ? " with the arguments above" : " with these arguments instead"}? Digest{" "}
          <code>{confirmation.digest.slice(0, 12)}…</code>
          {edited.value !== undefined && <ExactJson text={edited.value} label="Edited arguments" />}
        </ConfirmForm>
      )}
    </>
  );
}

/** Has screen readers continue with the confirmation. Unlike on a button, no key answers there. */
function focusHeading(): void {
  document.querySelector<HTMLElement>(".confirmation :is(h1, h2)[tabindex]")?.focus({ preventScroll: true });
}

/** Lets a person answer a question of a tool. */
function QuestionForm({
  confirmation,
  isBusy,
  onAnswer,
}: {
  readonly confirmation: WholeConfirmation;
  readonly isBusy: boolean;
  readonly onAnswer: (answer: Answer) => void;
}): JSX.Element {
  const text = useSignal("");
  const chosen = useSignal<readonly string[]>([]);
  const { options, multiple = false, digest, wholeQuestion, question } = confirmation;
  const submit = (event: Event): void => {
    event.preventDefault();
    const [first] = chosen.value;
    const answer = options === undefined ? text.value : multiple ? chosen.value : first;
    if (answer !== undefined) onAnswer({ decision: "answer", digest, answer });
  };
  const choose = (option: string, isChosen: boolean): void => {
    const others = multiple ? chosen.value.filter((other) => other !== option) : [];
    chosen.value = isChosen ? [...others, option] : others;
  };
  return (
    <form class="confirm" aria-label="Answer the question" onSubmit={submit}>
      <Exact text={wholeQuestion ?? question} label="Question" />
      {options === undefined ? (
        <label>
          Answer
          <textarea
            rows={4}
            value={text}
            onInput={({ currentTarget }) => {
              text.value = currentTarget.value;
            }}
          />
        </label>
      ) : (
        <fieldset>
          <legend>{multiple ? "Choose any" : "Choose one"}</legend>
          {options.map((option) => (
            <label key={option}>
              <input
                type={multiple ? "checkbox" : "radio"}
                name="option"
                checked={chosen.value.includes(option)}
                onChange={({ currentTarget }) => choose(option, currentTarget.checked)}
              />
              <Foreign text={printable(option)} />
            </label>
          ))}
        </fieldset>
      )}
      <p class="buttons">
        <button type="submit" class="primary" disabled={isBusy}>
          Answer
        </button>
      </p>
    </form>
  );
}

/** Lets a person edit the arguments of a call. Nothing is sent before the next step shows them again. */
function EditForm({
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
