import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** The height of a row in CSS pixels: the property `--row`, which depends on the width of the page. */
function readRowHeight(): number {
  return Number.parseInt(getComputedStyle(document.documentElement).getPropertyValue("--row"), 10);
}

/** The rows above and below the visible ones that are there already. */
const MARGIN = 8;

/** What {@link VirtualRows} shows. */
export interface VirtualRowsProps<Row> {
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** The row to keep in view. */
  readonly selected: string | undefined;
  /** Renders a row with a `key`, as high as the class `row` says. */
  readonly render: (row: Row, index: number) => JSX.Element;
  /** Is called when the last rows come into view. */
  readonly onEnd: () => void;
}

/**
 * Renders only the rows in view, so that ten thousand rows cost as much as fifty. When rows are inserted above the
 * ones in view, those stay where they are.
 */
export function VirtualRows<Row>({
  rows,
  keyOf,
  selected,
  render,
  onEnd,
}: VirtualRowsProps<Row>): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [rowHeight, setRowHeight] = useState(readRowHeight);
  const anchor = useRef<{ key: string; index: number } | undefined>(undefined);

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => {
      setHeight(element.clientHeight);
      setRowHeight(readRowHeight());
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useLayoutEffect(() => {
    const element = box.current;
    const before = anchor.current;
    if (element === null || before === undefined || element.scrollTop === 0) return;
    const moved = rows.findIndex((row) => keyOf(row) === before.key) - before.index;
    if (moved > 0) element.scrollTop += moved * rowHeight;
  }, [rows]);

  useLayoutEffect(() => {
    const element = box.current;
    const index = selected === undefined ? -1 : rows.findIndex((row) => keyOf(row) === selected);
    if (element === null || index < 0) return;
    const [start, end] = [index * rowHeight, (index + 1) * rowHeight];
    if (start < element.scrollTop) element.scrollTop = start;
    else if (end > element.scrollTop + element.clientHeight) element.scrollTop = end - element.clientHeight;
  }, [selected]);

  // Runs after the effects above, which compare with what was in view before.
  useLayoutEffect(() => {
    const index = Math.floor((box.current?.scrollTop ?? 0) / rowHeight);
    const inView = rows[index];
    anchor.current = inView === undefined ? undefined : { key: keyOf(inView), index };
  });

  const first = Math.max(0, Math.floor(top / rowHeight) - MARGIN);
  const last = Math.min(rows.length, Math.ceil((top + height) / rowHeight) + MARGIN);

  const onScroll = ({ currentTarget }: { readonly currentTarget: HTMLDivElement }): void => {
    setTop(currentTarget.scrollTop);
    if (currentTarget.scrollTop + currentTarget.clientHeight > (rows.length - MARGIN) * rowHeight) onEnd();
  };
  return (
    <div class="rows" role="rowgroup" ref={box} onScroll={onScroll} tabIndex={0}>
      <div class="above" role="presentation" style={{ height: `${first * rowHeight}px` }} />
      {rows.slice(first, last).map((row, at) => render(row, first + at))}
      <div class="below" role="presentation" style={{ height: `${(rows.length - last) * rowHeight}px` }} />
    </div>
  );
}
