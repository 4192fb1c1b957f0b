import type { JSX } from "preact";
import { summaryLine } from "../arguments/summary-line.ts";
import { hashOf } from "../page/route.ts";
import { Badge } from "../parts/badge.tsx";
import { Foreign } from "../parts/foreign.tsx";
import { duration, time } from "../parts/format.ts";
import { type CallRow, shownState } from "./call-rows.ts";
import { Waterfall } from "./waterfall.tsx";

/** The deepest indentation. Calls below are as far to the right. */
const MAX_INDENT = 12;

/** What {@link CallLine} shows. */
export interface CallLineProps {
  readonly row: CallRow;
  /** Its number in the list, from 0 on. */
  readonly index: number;
  readonly isSelected: boolean;
  readonly now: number;
  readonly onOpen: () => void;
}

/** A call in the list. The list handles the keys. */
export function CallLine({ row, index, isSelected, now, onOpen }: CallLineProps): JSX.Element {
  const { call, depth } = row;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the focus, and handles the keys of its rows
    <div
      class={isSelected ? "row selected" : "row"}
      role="row"
      id={`call-${call.ref}`}
      aria-level={depth + 1}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      onClick={onOpen}
    >
      <span role="gridcell" class="at">
        {time(call.startedAt)}
      </span>
      <span role="gridcell" class="name">
        <span class="indent" style={{ width: `${Math.min(depth, MAX_INDENT) * 16}px` }} />
        {depth > 0 && <span aria-hidden="true">└ </span>}
        <Foreign text={call.toolName} />
      </span>
      <span role="gridcell" class="given">
        <Foreign text={call.summary === undefined ? "" : summaryLine(call.summary)} />
      </span>
      <span role="gridcell" class="caller">
        <Foreign text={call.principal?.id ?? ""} />
      </span>
      <span role="gridcell" class="session">
        <Foreign text={sessionName(call.sessionId)} />
      </span>
      <span role="gridcell" class="state">
        {call.requestId === undefined ? (
          <Badge word={shownState(call)} />
        ) : (
          <a href={hashOf("waiting", call.requestId)} onClick={(event) => event.stopPropagation()}>
            waiting
          </a>
        )}
      </span>
      <span role="gridcell" class="code">
        <Foreign text={call.code ?? call.decision ?? ""} />
      </span>
      <span role="gridcell" class="number took">
        {duration(call.durationMs)}
      </span>
      <span role="gridcell" class="phases">
        <Waterfall row={row} now={now} />
      </span>
    </div>
  );
}

/** Ids of sessions begin with their time: their ends tell them apart. */
function sessionName(id = ""): string {
  return id.length <= 12 ? id : `…${id.slice(-8)}`;
}
