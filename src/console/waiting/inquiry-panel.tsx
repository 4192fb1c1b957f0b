import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Answer, WholeInquiry } from "../api/confirmations.ts";
import { hasRole } from "../api/session.ts";
import { Folding, FoldingContext } from "../arguments/folding.ts";
import { calls } from "../live/calls.ts";
import { useKeys } from "../page/keys.ts";
import { go, hashOf } from "../page/route.ts";
import { Badge } from "../parts/badge.tsx";
import { Foreign } from "../parts/foreign.tsx";
import { useLoaded } from "../parts/loader.ts";
import { Problem } from "../parts/problem.tsx";
import { Answering } from "./answering.tsx";
import { giveAnswer } from "./give-answer.ts";
import { endOf, inquiries, type ListedInquiry, lastAnswered } from "./inquiries.ts";
import { InquiryFacts } from "./inquiry-facts.tsx";
import { openAfter, shownInquiries } from "./listing.ts";
import { readWhole } from "./whole-inquiries.ts";

/** Shows an inquiry, and has a person answer it in two steps. A component for each inquiry and digest. */
export function InquiryPanel({ item }: { readonly item: ListedInquiry }): JSX.Element {
  const { inquiry, resolution } = item;
  const { value, problem } = useLoaded(inquiry.requestId, () => readWhole(inquiry));
  const heading = useRef<HTMLHeadingElement>(null);
  const isExact = useSignal(false);
  const folding = useMemo(() => new Folding(), []);
  const whole = value.value;
  const end = resolution ?? whole?.resolution;
  useLayoutEffect(() => heading.current?.focus({ preventScroll: true }), []);
  useKeys({
    x: () => {
      isExact.value = !isExact.value;
    },
    o: () => {
      folding.isOpen.value = true;
    },
  });
  const answer = async (given: Omit<Answer, "digest">): Promise<string> => {
    const problemOfAnswer = await giveAnswer(inquiry, { ...given, digest: (whole ?? inquiry).digest });
    const next = openAfter(shownInquiries.peek(), inquiry.requestId);
    if (problemOfAnswer !== "" || next === undefined) {
      heading.current?.focus({ preventScroll: true });
      return problemOfAnswer;
    }
    lastAnswered.value = inquiry.requestId;
    go("waiting", next.inquiry.requestId);
    return "";
  };
  const open = inquiries.value.filter((other) => other.resolution === undefined);
  const at = open.findIndex((other) => other.inquiry.requestId === inquiry.requestId);
  return (
    <FoldingContext.Provider value={folding}>
      <aside class="panel inquiry" aria-label="Inquiry">
        <section class="reading" aria-label="What is asked" tabIndex={0}>
          <LastAnswer />
          <Problem of={problem} />
          {end !== undefined && (
            <p class="resolution" role="status">
              This was {endOf(end)}.
            </p>
          )}
          <div class="title">
            <h2 ref={heading} tabIndex={-1}>
              <Foreign text={inquiry.toolName} /> <Badge word={inquiry.sideEffects} />
            </h2>
            {whole?.arguments !== undefined && (
              <button
                type="button"
                aria-pressed={isExact.value}
                onClick={() => {
                  isExact.value = !isExact.value;
                }}
              >
                Exact JSON (x)
              </button>
            )}
            {at >= 0 && open.length > 1 && (
              <span class="quiet">
                {at + 1} of {open.length}
              </span>
            )}
          </div>
          {whole !== undefined && <InquiryFacts inquiry={whole} isExact={isExact.value} />}
        </section>
        {whole !== undefined && end === undefined && <Actions inquiry={whole} onAnswer={answer} />}
      </aside>
    </FoldingContext.Provider>
  );
}

function Actions({
  inquiry,
  onAnswer,
}: {
  readonly inquiry: WholeInquiry;
  readonly onAnswer: (answer: Omit<Answer, "digest">) => Promise<string>;
}): JSX.Element {
  return (
    <div class="actions">
      {hasRole("approver") ? (
        <Answering inquiry={inquiry} onAnswer={onAnswer} />
      ) : (
        <p class="quiet">You can read this. An approver of the session answers it.</p>
      )}
    </div>
  );
}

/** Says what became of the inquiry that was answered before the one that is shown, and of its call. */
function LastAnswer(): JSX.Element | null {
  const item = inquiries.value.find(({ inquiry }) => inquiry.requestId === lastAnswered.value);
  if (item?.resolution === undefined) return null;
  const { inquiry, resolution } = item;
  const call = calls.value.find(
    ({ callId, sessionId, toolName }) =>
      callId === inquiry.callId && sessionId === inquiry.sessionId && toolName === inquiry.toolName,
  );
  return (
    <p class="last" role="status">
      Before:{" "}
      <a href={hashOf("waiting", inquiry.requestId)}>
        <Foreign text={inquiry.toolName} />
      </a>{" "}
      was {endOf(resolution)}
      {call !== undefined && (
        <>
          ; the call is{" "}
          <a href={hashOf("live", call.ref)}>
            {call.state}
            {call.code !== undefined && ` (${call.code})`}
          </a>
        </>
      )}
      .
    </p>
  );
}
