import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Answer, WholeInquiry } from "../api/confirmations.ts";
import { Exact, Foreign, printable } from "../parts/foreign.tsx";

/** Has a person answer a question of a tool. */
export function QuestionForm({
  inquiry,
  isBusy,
  onAnswer,
}: {
  readonly inquiry: WholeInquiry;
  readonly isBusy: boolean;
  readonly onAnswer: (answer: Answer) => void;
}): JSX.Element {
  const text = useSignal("");
  const chosen = useSignal<readonly string[]>([]);
  const { options, multiple = false, digest, wholeQuestion, question } = inquiry;
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
