import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Answer, WholeInquiry } from "../api/confirmations.ts";
import { useKeys } from "../page/keys.ts";
import { ExactJson, Foreign } from "../parts/foreign.tsx";
import { Problem } from "../parts/problem.tsx";
import { ConfirmForm } from "./confirm-form.tsx";
import { EditForm } from "./edit-form.tsx";
import { QuestionForm } from "./question-form.tsx";

type Step = "first" | "edit" | "allow" | "deny";

/**
 * Has a person answer an inquiry in two steps.
 *
 * @param onAnswer Gets the answer without its digest, and returns why it is not valid, or `""`.
 */
export function Answering({
  inquiry,
  onAnswer,
}: {
  readonly inquiry: WholeInquiry;
  readonly onAnswer: (answer: Omit<Answer, "digest">) => Promise<string>;
}): JSX.Element {
  const step = useSignal<Step>("first");
  const edited = useSignal<string | undefined>(undefined);
  const isBusy = useSignal(false);
  const problem = useSignal("");
  const isQuestion = inquiry.kind === "question";
  const begin = (next: Step): void => {
    if (step.value === next || isBusy.value) return;
    edited.value = undefined;
    problem.value = "";
    step.value = next;
  };
  const cancel = (): void => {
    begin("first");
    document.getElementById("main")?.focus();
  };
  const answer = async (given: Omit<Answer, "digest">): Promise<void> => {
    if (isBusy.value) return;
    isBusy.value = true;
    document.getElementById("main")?.focus();
    problem.value = await onAnswer(given);
    isBusy.value = false;
    step.value = "first";
  };
  const canAllow = inquiry.choices.includes("allow");
  const canEdit = canAllow && inquiry.kind === "call" && inquiry.arguments !== undefined;
  useKeys({
    ...(canAllow && { a: () => begin("allow") }),
    ...(canEdit && { e: () => begin("edit") }),
    ...{ d: () => begin("deny"), Escape: cancel },
  });
  const decision = step.value;
  return (
    <>
      <Problem of={problem} />
      {isQuestion && decision === "first" && (
        <QuestionForm inquiry={inquiry} isBusy={isBusy.value} onAnswer={answer} />
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
          text={inquiry.arguments ?? "{}"}
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
          toolName={inquiry.choices.includes("always") ? inquiry.toolName : undefined}
          takesReason={!isQuestion}
          isBusy={isBusy.value}
          onAnswer={(given) =>
            answer({
              ...given,
              ...(edited.value !== undefined && { arguments: JSON.parse(edited.value) as unknown }),
            })
          }
          onCancel={cancel}
        >
          <strong>
            <Foreign text={inquiry.toolName} />
          </strong>
          {edited.value === undefined ? " with the arguments above" : " with these arguments instead"}? Digest{" "}
          <code>{inquiry.digest.slice(0, 12)}…</code>
          {edited.value !== undefined && <ExactJson text={edited.value} label="Edited arguments" />}
        </ConfirmForm>
      )}
    </>
  );
}
