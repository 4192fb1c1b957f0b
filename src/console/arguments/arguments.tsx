import type { JSX } from "preact";
import { Diff } from "../parts/diff.tsx";
import { Escaped, ExactJson, Foreign, printable, printableLine } from "../parts/foreign.tsx";
import { Edits } from "./edits.tsx";
import {
  fieldsOf,
  isMembers,
  isShort,
  isUnifiedDiff,
  type Json,
  type JsonMembers,
  type Replacement,
  replacementOf,
} from "./fields.ts";
import { LongText } from "./long-text.tsx";
import type { Notice } from "./notices.ts";

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
        <Edits edits={[replacement]} name={printableLine(replacement.names[1])} />
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
