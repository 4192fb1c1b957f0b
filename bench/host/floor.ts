import { Ajv2020 } from "ajv/dist/2020.js";
import type { OpenCase } from "../harness/case.ts";
import { INPUT_SCHEMA, INPUT_TEXT, isInput } from "../setting.ts";

/** The minimum work for a call of a function: parse and validate its arguments, and serialise its output. */
export const FLOOR = "JSON.parse + ajv + await fn() + JSON.stringify";

/** The same options as ours: report all errors, and ignore inherited properties. */
export const AJV_OPTIONS = { allErrors: true, ownProperties: true } as const;

/** Opens {@link FLOOR}. */
export function openFloor(text: string = INPUT_TEXT, schema: object = INPUT_SCHEMA): OpenCase {
  const validate = new Ajv2020(AJV_OPTIONS).compile(schema);
  const echo = async (input: unknown): Promise<unknown> => input;
  const expected = text === INPUT_TEXT ? undefined : text;
  return {
    run: async () => {
      const input: unknown = JSON.parse(text);
      if (!validate(input)) throw new Error("invalid");
      return JSON.stringify(await echo(input));
    },
    check: (answer) => {
      if (expected === undefined) isInput(JSON.parse(String(answer)));
      else if (answer !== expected) throw new Error("the result is wrong");
    },
  };
}
