import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { type Answer, readInquiry, type WholeInquiry } from "../api/confirmations.ts";
import { hasRole } from "../api/session.ts";
import { useKeys } from "../page/keys.ts";
import { useLoaded } from "../parts/loader.ts";
import { Problem } from "../parts/problem.tsx";
import { giveAnswer } from "./answering.ts";
import { ConfirmForm } from "./confirm-form.tsx";
import { EditForm } from "./edit-form.tsx";
import { endOf, type ListedInquiry } from "./inquiries.ts";
import { InquiryFacts } from "./inquiry-facts.tsx";
import { QuestionForm } from "./question-form.tsx";

/** Shows an inquiry, and has a person answer it in two steps. A component for each inquiry and digest. */
export function InquiryPanel({ item }: { readonly item: ListedInquiry }): JSX.Element {
  const { inquiry, resolution } = item;
  const { value, problem } = useLoaded(inquiry.requestId, () => readInquiry(inquiry));
  const whole = value.value;
  const end = resolution ?? whole?.resolution;
  const canAnswer = whole !== undefined && end === undefined && hasRole("approver");
  return (
    <aside class="panel" aria-label="Inquiry">
      <Problem of={problem} />
      {end !== undefined && (
        <p class="resolution" role="status">
          This was {endOf(end)}.
        </p>
      )}
      {whole !== undefined && <InquiryFacts inquiry={whole} />}
      {whole !== undefined && end === undefined && !hasRole("approver") && (
        <p class="quiet">You can read this. An approver of the session answers it.</p>
      )}
      {canAnswer && <Answering inquiry={whole} />}
    </aside>
  );
}

type Step = "first" | "edit" | "allow" | "deny";

function Answering({ inquiry }: { readonly inquiry: WholeInquiry }): JSX.Element {
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
  const answer = async (given: Answer): Promise<void> => {
    if (isBusy.value) return;
    isBusy.value = true;
    document.getElementById("main")?.focus();
    problem.value = await giveAnswer(inquiry, given);
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
  return (
    <>
      <Problem of={problem} />
      {isQuestion && step.value === "first" && (
        <QuestionForm inquiry={inquiry} isBusy={isBusy.value} onAnswer={answer} />
      )}
      {step.value === "first" && (
        <p class="buttons">
          {canAllow && (
            <button type="button" onClick={() => begin("allow")}>
              Allow… (a)
            </button>
          )}
          {canEdit && (
            <button type="button" onClick={() => begin("edit")}>
              Edit… (e)
            </button>
          )}
          <button type="button" onClick={() => begin("deny")}>
            {isQuestion ? "Decline… (d)" : "Deny… (d)"}
          </button>
        </p>
      )}
      {step.value === "edit" && (
        <EditForm
          text={inquiry.arguments ?? "{}"}
          onCancel={cancel}
          onDone={(text) => {
            edited.value = text;
            step.value = "allow";
          }}
        />
      )}
      {(step.value === "allow" || step.value === "deny") && (
        <ConfirmForm
          key={step.value}
          inquiry={inquiry}
          decision={step.value}
          edited={edited.value}
          isBusy={isBusy.value}
          onAnswer={answer}
          onCancel={cancel}
        />
      )}
    </>
  );
}
