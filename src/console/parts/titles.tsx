import type { JSX } from "preact";

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
