import { beginning } from "../base/text.ts";
import { UNPRINTABLE } from "../base/unprintable.ts";
import type { ArgumentProblem } from "./argument-problem.ts";
import type { ValidationError } from "./interpret/errors.ts";

const MAX_PATH_LENGTH = 256;
const MAX_NAME_LENGTH = 64;
const MAX_VALUES_LENGTH = 256;

/** Describes validation errors. */
export function describeErrors(errors: readonly ValidationError[]): readonly ArgumentProblem[] {
  return errors.map(({ instancePath, keyword, message = "is not valid", params }) => {
    return {
      path: beginning(instancePath, MAX_PATH_LENGTH),
      message: `${message}${explain(keyword, params)}`,
    };
  });
}

/** Adds what ajv's messages leave out and the model needs to correct its call. */
function explain(keyword: string, params: Record<string, unknown>): string {
  if (keyword === "additionalProperties" || keyword === "unevaluatedProperties") {
    const name = params["additionalProperty"] ?? params["unevaluatedProperty"];
    return `: '${beginning(String(name), MAX_NAME_LENGTH).replace(UNPRINTABLE, "\ufffd")}'`;
  }
  if (keyword === "enum" || keyword === "const") {
    const allowed = JSON.stringify(params["allowedValues"] ?? params["allowedValue"]);
    return allowed.length <= MAX_VALUES_LENGTH ? `: ${allowed}` : "";
  }
  return "";
}
