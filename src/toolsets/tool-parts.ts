import type { JsonObject } from "../json/value.ts";
import type { HostContext } from "../tool/implementations/implementations.ts";

import { ToolFailure } from "../tool/tool-failure.ts";
import type { WorkspaceFiles } from "../tool/workspace-files.ts";

/** The JSON Schema of an object with required and optional members, without additional ones. */
type ObjectSchema<Required, Optional> = {
  readonly type: "object";
  readonly properties: Required & Optional;
  readonly required: readonly (keyof Required & string)[];
  readonly additionalProperties: false;
};

/**
 * Returns the input schema of a tool: an object without additional members.
 *
 * @param required The schemas of the required members.
 * @param optional The schemas of the optional members.
 */
export function inputSchema<
  const Required extends JsonObject,
  const Optional extends JsonObject = Record<never, never>,
>(required: Required, optional?: Optional): ObjectSchema<Required, Optional> {
  return {
    type: "object",
    properties: { ...required, ...(optional as Optional) },
    required: Object.keys(required) as (keyof Required & string)[],
    additionalProperties: false,
  };
}

/** The options of every toolset. */
export interface ToolsetNaming {
  /** What the name of each tool begins with, such as `project_`. Default: nothing. */
  readonly prefix?: string;
}

/**
 * Returns the files that a call of a tool with `usesFiles` was granted.
 *
 * @throws {ToolFailure} `permission_denied` if the grant has no `fs`.
 */
export function grantedFiles({ files }: Pick<HostContext, "files">): WorkspaceFiles {
  if (files !== undefined) return files;
  throw new ToolFailure("permission_denied", "Permission denied: no files are granted to this tool", {
    effect: "none",
  });
}

/** The schema of the argument `path` of tools for one file. */
export const FILE_PATH = {
  type: "string",
  minLength: 1,
  description: "The path of the file, relative to the workspace",
} as const;

/**
 * Runs changes of files, or of what a session remembers, one after another, since several calls run at once: of two edits
 * of one file, the later one has to read what the earlier one has written.
 */
export class Writing {
  readonly #last = new Map<string, Promise<unknown>>();

  /**
   * Runs a change when the earlier ones have ended.
   *
   * @param changed What is changed, such as the path of a workspace. Changes of something else do not wait.
   */
  async run<Result>(changed: string | undefined, change: () => Promise<Result>): Promise<Result> {
    const key = changed ?? "";
    const before = this.#last.get(key) ?? Promise.resolve();
    const result = before.then(change);
    const ended = result.catch(() => undefined);
    this.#last.set(key, ended);
    try {
      return await result;
    } finally {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    }
  }
}
