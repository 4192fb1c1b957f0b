import { Ajv2020 } from "ajv/dist/2020.js";
import type { Question } from "./measure.ts";
import { dispatchCase, INPUT_SCHEMA, INPUT_TEXT, isInput } from "./setting.ts";

/** What does the dispatch of a function in this process cost, beside doing just its work? */
export async function host(): Promise<Question> {
  const validate = new Ajv2020({ allErrors: true, ownProperties: true }).compile(INPUT_SCHEMA);
  const echo = async (input: unknown): Promise<unknown> => input;
  const ours = await dispatchCase("dispatch of a host function", "host", { host: echo });
  const timed = await dispatchCase(
    "the same with a deadline",
    "host",
    { host: echo },
    { wallTimeMs: 30_000 },
  );
  return {
    name: "host",
    floor: {
      name: "JSON.parse + ajv + await fn() + JSON.stringify",
      run: async () => {
        const input: unknown = JSON.parse(INPUT_TEXT);
        if (!validate(input)) throw new Error("invalid");
        return JSON.stringify(await echo(input));
      },
      check: (text) => isInput(JSON.parse(String(text))),
    },
    cases: [ours.case, timed.case],
    close: async () => void (await Promise.all([ours.close(), timed.close()])),
  };
}
