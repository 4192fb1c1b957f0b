import type { JSX } from "preact";
import { useKeys } from "../page/keys.ts";
import { listKeys } from "../page/list-keys.ts";
import { hashOf, route } from "../page/route.ts";
import { Badge } from "../parts/badge.tsx";
import { Foreign } from "../parts/foreign.tsx";
import { time } from "../parts/format.ts";
import { Problem } from "../parts/problem.tsx";
import {
  clearEnded,
  endOf,
  inquiries,
  inquiriesProblem,
  type ListedInquiry,
  openCount,
} from "./inquiries.ts";
import { InquiryPanel } from "./inquiry-panel.tsx";
import { Programs } from "./programs.tsx";

/** The inquiries that wait for a person, and those that have just ended. */
export function WaitingView(): JSX.Element {
  const items = inquiries.value;
  const { id } = route.value;
  const selected = items.find(({ inquiry }) => inquiry.requestId === id);
  useKeys(listKeys("waiting", id, () => items.map(({ inquiry }) => inquiry.requestId)));
  return (
    <div class={selected === undefined ? "split" : "split open wide"}>
      <section class="list" aria-labelledby="waiting-title">
        <div class="title">
          <h1 id="waiting-title">Waiting for me</h1>
          <p>{openCount} open</p>
          <button type="button" onClick={clearEnded} disabled={openCount.value === items.length}>
            Clear answered
          </button>
        </div>
        <Problem of={inquiriesProblem} />
        {items.length === 0 && <p class="empty">Nothing waits for an answer.</p>}
        {items.length > 0 && selected === undefined && (
          <p class="quiet">Click one to answer it, or press j.</p>
        )}
        <ul class="cards" aria-label="Inquiries">
          {items.map((item) => (
            <li key={item.inquiry.requestId}>
              <Card item={item} isSelected={item === selected} />
            </li>
          ))}
        </ul>
        <Programs
          of={items.map(({ inquiry, resolution }) => `${inquiry.requestId} ${resolution?.at}`).join()}
        />
      </section>
      {selected !== undefined && (
        <InquiryPanel key={`${selected.inquiry.requestId} ${selected.inquiry.digest}`} item={selected} />
      )}
    </div>
  );
}

function Card({
  item,
  isSelected,
}: {
  readonly item: ListedInquiry;
  readonly isSelected: boolean;
}): JSX.Element {
  const { inquiry, resolution } = item;
  return (
    <a
      class={resolution === undefined ? "card" : "card ended"}
      href={hashOf("waiting", inquiry.requestId)}
      {...(isSelected && { "aria-current": "true" as const })}
    >
      <span>
        <strong>
          <Foreign text={inquiry.toolName} />
        </strong>{" "}
        <Badge word={inquiry.sideEffects} />
      </span>
      <span class="summary">
        <Foreign text={inquiry.inputSummary ?? inquiry.question} />
      </span>
      <span class="quiet">
        {time(inquiry.askedAt)}
        {inquiry.principal !== undefined && (
          <>
            {" · "}
            <Foreign text={inquiry.principal} />
          </>
        )}
        {resolution !== undefined && ` · ${endOf(resolution)}`}
      </span>
    </a>
  );
}
