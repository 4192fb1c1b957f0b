import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { ShownTool, ToolList } from "../shapes/server.ts";
import { get } from "./api/http.ts";
import { listKeys, useKeys } from "./page/keys.ts";
import { go, hashOf, route } from "./page/route.ts";
import { Badge, Titles } from "./parts/badges.tsx";
import { Diff, Foreign, ForeignBlock } from "./parts/foreign.tsx";
import { Problem, useLoaded } from "./parts/loaded.tsx";

/** The tools of the server, and whether they are what a person approved. */
export function ToolsView(): JSX.Element {
  const { value, problem } = useLoaded("tools", readTools);
  const wanted = useSignal("");
  const { id } = route.value;
  const tools = (value.value ?? []).filter(({ name }) => name.includes(wanted.value));
  const selected = value.value?.find(({ name }) => name === id);
  useKeys({
    ...listKeys("tools", id, () => tools.map(({ name }) => name)),
    Escape: () => go("tools"),
  });
  return (
    <div class={selected === undefined ? "split" : "split open"}>
      <section class="list scrolling" aria-labelledby="tools-title" tabIndex={0}>
        <div class="title">
          <h1 id="tools-title">Tools</h1>
          <form
            class="filters"
            role="search"
            aria-label="Filter tools"
            onSubmit={(event) => event.preventDefault()}
          >
            <label>
              Name
              <input
                type="search"
                spellcheck={false}
                autoComplete="off"
                value={wanted}
                onInput={({ currentTarget }) => {
                  wanted.value = currentTarget.value;
                }}
              />
            </label>
          </form>
        </div>
        <Problem of={problem} />
        <table class="wide">
          <Titles of={["Tool", "Class", "Sandboxes", "Source", "Pin"]} />
          <tbody>
            {tools.map(({ name, sideEffects, sandboxes, source, pin }) => (
              <tr key={name} {...(name === id && { class: "selected" })}>
                <td>
                  <a href={hashOf("tools", name)}>
                    <Foreign text={name} />
                  </a>
                </td>
                <td>
                  <Badge word={sideEffects} />
                </td>
                <td>{sandboxes.join(", ")}</td>
                <td>
                  <Foreign text={source} />
                </td>
                <td>{pin !== undefined && pin.state !== "none" && <Badge word={pin.state} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {selected !== undefined && <ToolPanel tool={selected} />}
    </div>
  );
}

/** Shows the definition of a tool, what changed since it was pinned, and what its component imports. */
function ToolPanel({ tool }: { readonly tool: ShownTool }): JSX.Element {
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

/** Reads all tools, page after page. */
async function readTools(): Promise<readonly ShownTool[]> {
  const tools: ShownTool[] = [];
  let after: string | undefined;
  do {
    const page: ToolList = await get("GET /v1/console/tools", { query: { after, limit: 500 } });
    tools.push(...page.tools);
    after = page.next;
  } while (after !== undefined);
  return tools;
}
