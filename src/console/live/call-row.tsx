import type { JSX } from "preact";
import { Badge } from "../parts/badge.tsx";
import { Foreign } from "../parts/foreign.tsx";
import { duration, time } from "../parts/format.ts";
import type { CallRow } from "./call-rows.ts";
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
      <span role="gridcell">{time(call.startedAt)}</span>
      <span role="gridcell" class="name">
        <span class="indent" style={{ width: `${Math.min(depth, MAX_INDENT) * 16}px` }} />
        {depth > 0 && <span aria-hidden="true">└ </span>}
        <Foreign text={call.toolName} />
      </span>
      <span role="gridcell">
        <Foreign text={call.sessionId ?? ""} />
      </span>
      <span role="gridcell">
        <Badge word={call.state} />
      </span>
      <span role="gridcell">
        <Foreign text={call.code ?? call.decision ?? ""} />
      </span>
      <span role="gridcell" class="number">
        {duration(call.durationMs)}
      </span>
      <span role="gridcell">
        <Waterfall row={row} now={now} />
      </span>
    </div>
  );
}
