import type { JSX } from "preact";
import { hasRole } from "../api/session.ts";
import { summaryLine } from "../arguments/summary-line.ts";
import { useKeys } from "../page/keys.ts";
import { listKeys } from "../page/list-keys.ts";
import { hashOf, route } from "../page/route.ts";
import { Badge } from "../parts/badge.tsx";
import { Foreign, visible } from "../parts/foreign.tsx";
import { count, time } from "../parts/format.ts";
import { Problem } from "../parts/problem.tsx";
import {
  areRead,
  clearEnded,
  endOf,
  inquiries,
  inquiriesProblem,
  type ListedInquiry,
  openCount,
} from "./inquiries.ts";
import { InquiryPanel } from "./inquiry-panel.tsx";
import { type InquiryGroup, inquiryFilter, inquiryGroups, isGrouped, shownInquiries } from "./listing.ts";
import { Programs } from "./programs.tsx";
import { PushButton } from "./push-button.tsx";
import { canSelect, isAllSelected, select, selected } from "./selection.ts";
import { isTogether, TogetherPanel, together } from "./together-panel.tsx";

/** The inquiries that wait for a person, and those that have just ended. */
export function WaitingView(): JSX.Element {
  const items = inquiries.value;
  const { id } = route.value;
  const shown = items.find(({ inquiry }) => inquiry.requestId === id);
  const hasPanel = shown !== undefined || isTogether(id);
  useKeys({
    ...listKeys("waiting", id, () => shownInquiries.peek().map(({ inquiry }) => inquiry.requestId)),
    g: () => {
      isGrouped.value = !isGrouped.value;
    },
    s: () => {
      if (shown !== undefined) select([shown], !selected.peek().has(id));
    },
    S: () => select(shownInquiries.peek(), !isAllSelected(shownInquiries.peek())),
    t: together,
  });
  return (
    <div class={hasPanel ? "split open wide" : "split"}>
      <section class="list" aria-labelledby="waiting-title">
        <div class="title">
          <h1 id="waiting-title">Waiting for me</h1>
          <p>{openCount} open</p>
          <button type="button" onClick={clearEnded} disabled={openCount.value === items.length}>
            Clear answered
          </button>
          <PushButton />
        </div>
        {items.length > 1 && <Tools />}
        <Problem of={inquiriesProblem} />
        {items.length === 0 && <p class="empty">Nothing waits for an answer.</p>}
        {id !== "" && !hasPanel && areRead.value && (
          <p class="empty" role="status">
            What the address names has ended, or others answer it.
          </p>
        )}
        {items.length > 0 && !hasPanel && <p class="quiet">Open one to answer it, or press j.</p>}
        <div class="groups">
          {inquiryGroups.value.map((group) => (
            <Group key={group.key} group={group} shownId={id} />
          ))}
          {items.length > 0 && shownInquiries.value.length === 0 && <p class="empty">None matches.</p>}
          <Programs
            of={items.map(({ inquiry, resolution }) => `${inquiry.requestId} ${resolution?.at}`).join()}
          />
        </div>
      </section>
      {shown !== undefined && (
        <InquiryPanel key={`${shown.inquiry.requestId} ${shown.inquiry.digest}`} item={shown} />
      )}
      {isTogether(id) && <TogetherPanel />}
    </div>
  );
}

/** What helps with many inquiries. */
function Tools(): JSX.Element {
  const amount = selected.value.size;
  return (
    <form class="filters" role="search" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
      <label>
        Filter
        <input
          type="search"
          spellcheck={false}
          autoComplete="off"
          value={inquiryFilter}
          onInput={({ currentTarget }) => {
            inquiryFilter.value = currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
      </label>
      <label>
        <input
          type="checkbox"
          checked={isGrouped.value}
          onChange={({ currentTarget }) => {
            isGrouped.value = currentTarget.checked;
          }}
        />
        By tool and session (g)
      </label>
      {hasRole("approver") && (
        <>
          <label>
            <input
              type="checkbox"
              checked={isAllSelected(shownInquiries.value)}
              onChange={({ currentTarget }) => select(shownInquiries.peek(), currentTarget.checked)}
            />
            Select all {shownInquiries.value.filter(canSelect).length} (S)
          </label>
          <button type="button" onClick={together} disabled={amount < 2}>
            Answer {amount} together (t)
          </button>
        </>
      )}
    </form>
  );
}

function Group({ group, shownId }: { readonly group: InquiryGroup; readonly shownId: string }): JSX.Element {
  const { key, items } = group;
  const [first] = items;
  const selectable = items.filter(canSelect);
  const label =
    key === "" || first === undefined ? "Inquiries" : `${visible(first.inquiry.toolName)}: inquiries`;
  return (
    <>
      {key !== "" && first !== undefined && (
        <div class="group">
          {selectable.length > 0 && hasRole("approver") && (
            <input
              type="checkbox"
              aria-label={`Select all of ${visible(first.inquiry.toolName)}`}
              checked={isAllSelected(items)}
              onChange={({ currentTarget }) => select(selectable, currentTarget.checked)}
            />
          )}
          <h2>
            <Foreign text={first.inquiry.toolName} />
          </h2>
          <span class="quiet">
            {count(items.length, "inquiry").replace(/inquirys$/, "inquiries")} · session{" "}
            <Foreign text={first.inquiry.sessionName ?? first.inquiry.sessionId} />
          </span>
        </div>
      )}
      <ul class="cards" aria-label={label}>
        {items.map((item) => (
          <Card key={item.inquiry.requestId} item={item} isShown={item.inquiry.requestId === shownId} />
        ))}
      </ul>
    </>
  );
}

function Card({ item, isShown }: { readonly item: ListedInquiry; readonly isShown: boolean }): JSX.Element {
  const { inquiry, resolution } = item;
  const { requestId, toolName } = inquiry;
  return (
    <li class={resolution === undefined ? "card" : "card ended"}>
      {canSelect(item) && hasRole("approver") && (
        <input
          type="checkbox"
          aria-label={`Select ${visible(toolName)}`}
          checked={selected.value.has(requestId)}
          onChange={({ currentTarget }) => select([item], currentTarget.checked)}
        />
      )}
      <span>
        <a
          href={hashOf("waiting", requestId)}
          aria-describedby={`about-${requestId}`}
          {...(isShown && { "aria-current": "true" as const })}
        >
          <Foreign text={toolName} />
        </a>{" "}
        <Badge word={inquiry.sideEffects} />
      </span>
      <span class="summary" id={`about-${requestId}`}>
        <Foreign
          text={inquiry.inputSummary === undefined ? inquiry.question : summaryLine(inquiry.inputSummary)}
        />
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
    </li>
  );
}
