import type { JSX } from "preact";

const TONES: Readonly<Record<string, string>> = {
  running: "busy",
  waiting: "attention",
  completed: "good",
  denied: "attention",
  failed: "bad",
  aborted: "quiet",
  allow: "good",
  deny: "bad",
  ask: "attention",
  always: "good",
  answer: "good",
  none: "quiet",
  read: "quiet",
  write: "attention",
  execute: "bad",
  network: "attention",
  destructive: "bad",
  committed: "attention",
  unknown: "bad",
  changed: "bad",
  new: "attention",
  pinned: "good",
  connected: "good",
  "not connected": "bad",
  paused: "bad",
  created: "good",
  modified: "attention",
  deleted: "bad",
};

/** Shows a word of the API, such as a state. Its colour repeats what the word says. */
export function Badge({ word }: { readonly word: string | undefined }): JSX.Element | null {
  return word === undefined || word === "" ? null : (
    <span class={`badge ${TONES[word] ?? "quiet"}`}>{word}</span>
  );
}

/** The head of a table: a row with the titles of the columns. */
export function Titles({ of }: { readonly of: readonly string[] }): JSX.Element {
  return (
    <thead>
      <tr>
        {of.map((title) => (
          <th key={title} scope="col">
            {title}
          </th>
        ))}
      </tr>
    </thead>
  );
}
