import { readFileSync } from "node:fs";
import * as main from "sandgate";
import * as components from "sandgate/components";
import * as executor from "sandgate/executor";
import * as journal from "sandgate/journal";
import * as programs from "sandgate/programs";
import * as protocols from "sandgate/protocols";
import * as restate from "sandgate/restate";
import * as sessions from "sandgate/sessions";
import { describe, expect, test } from "vitest";

const [calls = "", , thrown = ""] = readFileSync(new URL("../../../docs/errors.md", import.meta.url), "utf8")
  .split("\n## ")
  .slice(1);

/** The cells of a section's table, without its head. */
function rowsOf(section: string): readonly (readonly string[])[] {
  const lines = section.split("\n").filter((line) => line.startsWith("| `"));
  return lines.map((line) =>
    line
      .slice(2, -2)
      .split(" | ")
      .map((cell) => cell.replaceAll("`", "")),
  );
}

/** One error of each code; the compiler requires all of them. */
const EXAMPLES: Record<main.SandgateErrorCode, main.SandgateError> = {
  duplicate_tool: new main.DuplicateToolError("a", ["the name is taken"]),
  invalid_config: new main.ConfigError([]),
  invalid_message: new protocols.ProtocolError("", "must be an object"),
  invalid_schema: new main.SchemaError([]),
  invalid_tool: new main.ToolRegistrationError("a", ["the name is taken"]),
  journal_failed: new journal.JournalError("the journal is open already"),
  key_value_full: new main.KeyValueFullError("full"),
  listen_failed: new executor.ListenError("the address is in use"),
  message_conflict: new sessions.MessageConflictError("other calls"),
  package_file_missing: new main.PackageFileError("base/ajv-library"),
  restate_failed: new restate.RestateError("Restate cannot be reached"),
  session_exists: new sessions.SessionExistsError("in use"),
  session_store_failed: new sessions.SessionStoreError("the disk is full"),
  suspension_refused: new programs.SuspensionRefusedError("changed"),
  suspension_store_failed: new programs.SuspensionStoreError("the disk is full"),
  tool_failed: new protocols.AiSdkToolError(null),
  tool_not_found: new main.ToolNotFoundError("a"),
  tool_not_prepared: new main.ToolPreparationError("it does not load"),
  too_many_sessions: new sessions.TooManySessionsError("too many"),
};
const ENTRIES = {
  sandgate: main,
  "sandgate/components": components,
  "sandgate/executor": executor,
  "sandgate/journal": journal,
  "sandgate/programs": programs,
  "sandgate/protocols": protocols,
  "sandgate/restate": restate,
  "sandgate/sessions": sessions,
};

describe("docs/errors.md", () => {
  test("lists the codes of failed calls in the order of ERROR_CODES", () => {
    expect(rowsOf(calls).map(([code]) => code)).toEqual(main.ERROR_CODES);
  });

  test("lists the code, class and entry point of every thrown error", () => {
    const documented = rowsOf(thrown).map(([code, name, entry]) => [code, name, entry]);
    const exported = Object.entries(EXAMPLES).map(([code, error]) => {
      const found = Object.entries(ENTRIES).find(([, names]) => error.name in names);
      return [code, error.name, found?.[0]];
    });
    expect(documented).toEqual(exported);
  });
});

describe("A thrown error", () => {
  test.each(Object.entries(EXAMPLES))("with the code %s is a SandgateError that has it", (code, error) => {
    expect(error).toBeInstanceOf(main.SandgateError);
    expect(error).toBeInstanceOf(Error);
    expect(error.code).toBe(code);
    expect(error.name).toBe(error.constructor.name);
  });

  test("of an exported class has a code of its own", () => {
    const classes = Object.values(ENTRIES)
      .flatMap((names): unknown[] => Object.values(names))
      .filter(
        (value): value is typeof Error => typeof value === "function" && value.prototype instanceof Error,
      )
      .filter((value) => (value as unknown) !== main.SandgateError)
      // Tools throw it, and the functions that they call.
      .filter((value) => value.name !== "ToolFailure" && !(value.prototype instanceof main.ToolFailure));
    const examples = Object.values(EXAMPLES).map((error) => error.constructor);
    expect(new Set(classes)).toEqual(new Set(examples));
  });
});
