import type { DispatchEvent } from "../../../engine/call/events.ts";
import type { ToolExecution } from "../../../engine/call/execution.ts";
import type { Capabilities } from "../../../policy/grant/capabilities.ts";
import { shown } from "../../../rendering/shown.ts";
import type { ShownText } from "../../../rendering/shown-text.ts";
import { readComponentBytes } from "../../../sandboxes/wasm/component/bytes.ts";
import { inspectComponent } from "../../../sandboxes/wasm/tools/inspect-component.ts";
import type { ToolCommand } from "../../tool-command.ts";
import { isComponentFile } from "./tool-file.ts";

/** What the errors of guests say about a missing capability. */
const NOT_GRANTED = /capabilities\.\w+ is not granted|capability '\w+', which was not granted/;

/** Notes which capabilities a call lacked. */
export class Denials {
  #capabilities: Capabilities = {};
  #isLogged = false;

  /** Receives the events of the call. */
  note(event: DispatchEvent): void {
    if (event.type === "tool.started") this.#capabilities = event.grant.capabilities;
    if (event.type === "tool.log") this.#isLogged ||= /^denied: /.test(event.message);
  }

  /** Returns what the command says about the capabilities of a call, besides its log and its error. */
  async hints(
    { file, policy, engine }: Extract<ToolCommand, { name: "tool run" }>,
    { success, error }: ToolExecution,
  ): Promise<readonly ShownText[]> {
    const hints: ShownText[] = [];
    let isDenied = this.#isLogged || NOT_GRANTED.test(error?.message ?? "");
    // Without the capability, a component finds no directories: it fails with an error of its own.
    if (!success && this.#capabilities.fs === undefined && (await isComponentFile(file))) {
      const { imports } = await inspectComponent(await readComponentBytes(file), engine && { engine });
      const files = imports.find(({ needs }) => needs === "fs");
      if (files !== undefined) {
        isDenied = true;
        hints.push(shown`${file} imports ${files.name}: without the capability 'fs', it finds no files.`);
      }
    }
    if (policy === undefined && isDenied) {
      hints.push(shown`Without --policy FILE, tool run grants no capabilities.`);
    }
    return hints;
  }
}
