/** What the user wants of a JavaScript tool. */
export type ToolCommand =
  | {
      readonly name: "tool run";
      readonly file: string;
      readonly export: string;
      /** JSON text. */
      readonly input: string;
      /** The policy file that grants; `undefined` for QuickJS with its own limits and nothing else. */
      readonly policy: string | undefined;
    }
  | { readonly name: "tool check"; readonly files: readonly string[]; readonly export: string };

/** The options of `sandgate tool run`; `tool check` has the first one. */
export const TOOL_OPTIONS = {
  export: { type: "string", short: "e" },
  input: { type: "string", short: "i" },
  policy: { type: "string", short: "p" },
} as const;
