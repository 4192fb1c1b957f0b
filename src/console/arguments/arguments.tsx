import { type Signal, signal, useSignal } from "@preact/signals";
import { createContext, type JSX } from "preact";
import { useContext, useId, useLayoutEffect, useMemo } from "preact/hooks";
import { Diff, Escaped, ExactJson, Foreign } from "../parts/foreign.tsx";
import { count, printable, printableLine } from "../parts/format.ts";
import type { Notice } from "./edit-notices.ts";
import { Edits } from "./edits.tsx";
import {
  fieldsOf,
  isMembers,
  isShort,
  isUnifiedDiff,
  type Json,
  type JsonMembers,
  nameOf,
  type Replacement,
  replacementOf,
} from "./fields.ts";

/** What is folded of the arguments of a call. */
export class Folding {
  /** Whether everything is shown. */
  readonly isOpen: Signal<boolean> = signal(false);
  /** The numbers of characters that are folded, by the ids of the values. */
  readonly hidden: Signal<ReadonlyMap<string, number>> = signal(new Map());

  /** Says how much of a value is folded; 0 for nothing. */
  set(id: string, chars: number): void {
    if ((this.hidden.peek().get(id) ?? 0) === chars) return;
    const hidden = new Map(this.hidden.peek());
    if (chars === 0) hidden.delete(id);
    else hidden.set(id, chars);
    this.hidden.value = hidden;
  }
}

/** The folding of the arguments that a component is part of. */
export const FoldingContext: ReturnType<typeof createContext<Folding>> = createContext(new Folding());

/** A longer text is folded: its beginning and its end are shown. */
const MAX_CHARS = 4_000;

const MAX_LINES = 60;

const [FIRST, LAST] = [1_200, 600];

const [FIRST_LINES, LAST_LINES] = [20, 10];

/** Values that are further below are shown as JSON. */
const MAX_DEPTH = 4;

/** Shows arguments as people read them: texts with their line breaks, replacements as differences. */
export function Arguments({
  value,
  order,
}: {
  readonly value: Json;
  readonly order: readonly string[] | undefined;
}): JSX.Element {
  return (
    <section class="arguments" aria-label="Arguments">
      {isMembers(value) ? (
        <Members value={value} order={order} depth={0} />
      ) : (
        <Value value={value} name="arguments" depth={0} />
      )}
    </section>
  );
}

function Members({
  value,
  order,
  depth,
  above = "",
}: {
  readonly value: JsonMembers;
  readonly order?: readonly string[] | undefined;
  readonly depth: number;
  readonly above?: string;
}): JSX.Element {
  const replacement = replacementOf(value);
  const fields = fieldsOf(value, order).filter(({ name }) => !replacement?.names.includes(name));
  if (fields.length === 0 && replacement === undefined) return <p class="quiet">no arguments</p>;
  return (
    <>
      <dl class="fields">
        {fields.map(({ name, value: own, isTarget }) => (
          <div key={name} class={isTarget && depth === 0 ? "field target" : "field"}>
            <dt>
              <Foreign text={printableLine(name)} />
            </dt>
            <dd>
              <Value value={own} name={above === "" ? name : `${above}/${name}`} depth={depth} />
            </dd>
          </div>
        ))}
      </dl>
      {replacement !== undefined && (
        <Edits edits={[replacement]} name={printableLine(nameOf(replacement, above))} />
      )}
    </>
  );
}

function Value({
  value,
  name,
  depth,
}: {
  readonly value: Json;
  readonly name: string;
  readonly depth: number;
}): JSX.Element {
  const label = printableLine(name);
  if (typeof value === "string") return <Text text={value} label={label} />;
  if (typeof value !== "object" || value === null) return <code>{String(value)}</code>;
  if (depth >= MAX_DEPTH) return <ExactJson text={JSON.stringify(value)} label={label} />;
  if (isMembers(value)) return <Members value={value} depth={depth + 1} above={name} />;
  const edits = replacementsIn(value);
  if (edits !== undefined) return <Edits edits={edits} name={label} />;
  if (value.length === 0) return <span class="quiet">none</span>;
  return (
    <ol class={isShort(value) ? "items short" : "items"}>
      {value.map((item, at) => (
        <li key={at}>
          <Value value={item} name={`${name}/${at + 1}`} depth={depth + 1} />
        </li>
      ))}
    </ol>
  );
}

function Text({ text, label }: { readonly text: string; readonly label: string }): JSX.Element {
  if (text === "") return <span class="quiet">empty text</span>;
  if (isUnifiedDiff(text)) return <Diff text={printable(text)} label={label} />;
  if (!isShort(text)) return <LongText text={text} name={label} />;
  return (
    <bdi class="foreign value">
      <Escaped text={text} />
    </bdi>
  );
}

/** Returns the replacements of a list that has nothing else, apart from short members such as `replaceAll`. */
function replacementsIn(items: readonly Json[]): readonly Replacement[] | undefined {
  const found = items.map((item) => (isMembers(item) ? replacementOf(item) : undefined));
  const all = found.filter((replacement) => replacement !== undefined);
  const isAll =
    all.length === items.length && all.every(({ rest }) => rest.every(({ value }) => isShort(value)));
  return isAll && all.length > 0 ? all : undefined;
}

/** Says what a person should look at. */
export function Notices({ notices }: { readonly notices: readonly Notice[] }): JSX.Element | null {
  return notices.length === 0 ? null : (
    <section class="notices" aria-label="Look at this">
      <ul>
        {notices.map((notice) => (
          <li key={notice.join("\0")}>
            {notice.map((part, at) =>
              at % 2 === 0 ? (
                part
              ) : (
                <bdi class="foreign">
                  <Escaped text={part} keepsLines={false} />
                </bdi>
              ),
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Shows a text of several lines with its line breaks. A long one is folded, and says how much of it is not shown. */
function LongText({ text, name }: { readonly text: string; readonly name: string }): JSX.Element {
  const folding = useContext(FoldingContext);
  const isOpen = useSignal(false);
  const id = useId();
  const { head, tail, hidden } = useMemo(() => fold(text), [text]);
  const isFolded = hidden !== "" && !isOpen.value && !folding.isOpen.value;
  useLayoutEffect(() => {
    folding.set(id, isFolded ? hidden.length : 0);
    return () => folding.set(id, 0);
  }, [isFolded, hidden, id]);
  return (
    <section class="block text" aria-label={name} tabIndex={0}>
      <pre>
        <bdi class="foreign">
          <Escaped text={isFolded ? head : text} />
        </bdi>
        {isFolded && (
          <>
            <button
              type="button"
              class="fold"
              onClick={() => {
                isOpen.value = true;
              }}
            >
              Show {count(hidden.split("\n").length, "folded line")}, {count(hidden.length, "character")} (o)
            </button>
            <bdi class="foreign">
              <Escaped text={tail} />
            </bdi>
          </>
        )}
      </pre>
    </section>
  );
}

function fold(text: string): { readonly head: string; readonly tail: string; readonly hidden: string } {
  const lines = text.split("\n");
  if (text.length <= MAX_CHARS && lines.length <= MAX_LINES) return { head: text, tail: "", hidden: "" };
  const head = lines.slice(0, FIRST_LINES).join("\n").slice(0, FIRST);
  const tail = lines
    .slice(Math.max(FIRST_LINES, lines.length - LAST_LINES))
    .join("\n")
    .slice(-LAST);
  const end = Math.max(head.length, text.length - tail.length);
  return { head, tail: text.slice(end), hidden: text.slice(head.length, end) };
}
