import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { readTools } from "../api/tools.ts";
import { useKeys } from "../page/keys.ts";
import { listKeys } from "../page/list-keys.ts";
import { go, hashOf, route } from "../page/route.ts";
import { Badge } from "../parts/badge.tsx";
import { Foreign } from "../parts/foreign.tsx";
import { useLoaded } from "../parts/loader.ts";
import { Problem } from "../parts/problem.tsx";
import { Titles } from "../parts/titles.tsx";
import { ToolPanel } from "./tool-panel.tsx";

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
