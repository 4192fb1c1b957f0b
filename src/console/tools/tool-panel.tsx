import type { JSX } from "preact";
import type { ToolView } from "../api/tools.ts";
import { go } from "../page/route.ts";
import { Diff } from "../parts/diff.tsx";
import { Foreign, ForeignBlock } from "../parts/foreign.tsx";

/** Shows the definition of a tool, what changed since it was pinned, and what its component imports. */
export function ToolPanel({ tool }: { readonly tool: ToolView }): JSX.Element {
  const { name, description, inputSchema, pin, component } = tool;
  return (
    <aside class="panel" aria-label="Tool">
      <div class="title">
        <h2>
          <Foreign text={name} />
        </h2>
        <button type="button" onClick={() => go("tools")}>
          Close
        </button>
      </div>
      <h3>Description</h3>
      <ForeignBlock text={description} label="Description" />
      {pin?.diff !== undefined && (
        <>
          <h3>Changes since a person approved it</h3>
          <Diff text={pin.diff} label="Changes since a person approved it" />
        </>
      )}
      {component !== undefined && (
        <>
          <h3>Imports</h3>
          <Names names={component.imports} label="Imports" />
          <h3>Exports</h3>
          <Names names={component.exports} label="Exports" />
          {component.more !== undefined && <p class="quiet">{component.more} more are not shown.</p>}
        </>
      )}
      <h3>Input schema</h3>
      {inputSchema === undefined ? (
        <p class="quiet">It is too long to be shown.</p>
      ) : (
        <ForeignBlock text={inputSchema} label="Input schema" />
      )}
    </aside>
  );
}

function Names({ names, label }: { readonly names: readonly string[]; readonly label: string }): JSX.Element {
  return names.length === 0 ? (
    <p class="quiet">none</p>
  ) : (
    <ul aria-label={label}>
      {names.map((name) => (
        <li key={name}>
          <Foreign text={name} />
        </li>
      ))}
    </ul>
  );
}
