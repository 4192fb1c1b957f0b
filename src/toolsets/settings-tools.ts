import type { MaybePromise } from "../base/promises.ts";
import { defineTool, type Tool } from "../engine/tool.ts";
import type { JsonValue } from "../json/value.ts";
import type { HostContext } from "../tool/implementations/implementations.ts";
import { ToolFailure } from "../tool/tool-failure.ts";
import { inputSchema, type ToolsetNaming } from "./tool-parts.ts";

/**
 * The embedder's functions behind the toolset `settings`. The model reads the message of a `ToolFailure` that they throw.
 */
export interface SettingsOptions extends ToolsetNaming {
  /** Returns the value of a setting; `undefined` if there is no such setting. */
  readonly get: (name: string, context: HostContext) => MaybePromise<JsonValue | undefined>;
  /** Changes a setting. Returns `false` if there is no such setting. */
  readonly update: (
    name: string,
    value: JsonValue,
    context: HostContext,
  ) => MaybePromise<boolean | undefined>;
  /** Switches the agent to another model or service. Returns `false` if it does not exist. */
  readonly switchBackend: (name: string, context: HostContext) => MaybePromise<boolean | undefined>;
}

const NAME = { type: "string", minLength: 1, maxLength: 200 } as const;

/** Changes of an agent's own settings are asked about each time, whatever was remembered. */
const CHANGE = { sideEffects: "write", confirm: "always" } as const;

/** Tools for an agent's own settings: `get_setting`, `update_setting` and `switch_backend`. */
export function settingsTools({ get, update, switchBackend }: SettingsOptions): readonly Tool[] {
  for (const [name, given] of Object.entries({ get, update, switchBackend })) {
    if (typeof given !== "function") throw new TypeError(`The toolset 'settings' needs a function ${name}`);
  }
  return [
    defineTool({
      name: "get_setting",
      description: "Returns the value of a setting.",
      sideEffects: "read",
      inputSchema: inputSchema({ name: NAME }),
      host: async ({ name }, context) => {
        const value = await get(name, context);
        return value === undefined ? unknown("setting", name) : { value };
      },
    }),
    defineTool({
      ...CHANGE,
      name: "update_setting",
      description: "Changes the value of a setting. A person confirms each change.",
      inputSchema: inputSchema({ name: NAME, value: {} }),
      host: async ({ name, value }, context) =>
        (await update(name, value, context)) === false ? unknown("setting", name) : { name },
    }),
    defineTool({
      ...CHANGE,
      name: "switch_backend",
      description: "Switches to another backend. A person confirms each change.",
      inputSchema: inputSchema({ name: NAME }),
      host: async ({ name }, context) =>
        (await switchBackend(name, context)) === false ? unknown("backend", name) : { name },
    }),
  ];
}

function unknown(kind: string, name: string): never {
  throw new ToolFailure("validation_error", `There is no ${kind} '${name}'`, { effect: "none" });
}
