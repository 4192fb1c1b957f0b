// `parse_csv` parses comma-separated values into records.
import { log } from "sandgate:tool/host@0.1.0";
import { readRows } from "./csv.js";

const PARSE_CSV = {
  name: "parse_csv",
  description:
    "Parses comma-separated values (RFC 4180) with a header line, and returns a record for each line",
  inputSchema: JSON.stringify({
    type: "object",
    properties: {
      text: { type: "string", description: "The header line and the lines below it" },
      delimiter: { type: "string", enum: [",", ";", "|", "\t"], default: "," },
    },
    required: ["text"],
    additionalProperties: false,
  }),
};

/** The interface that the world exports. */
export const guest = {
  describe() {
    return [PARSE_CSV];
  },

  call(tool, input) {
    try {
      if (tool !== PARSE_CSV.name) throw toolError("not-found", "there is no such tool");
      const { text, delimiter = "," } = JSON.parse(input);
      return JSON.stringify(parseCsv(text, delimiter));
    } catch (error) {
      if ("payload" in error) throw error;
      // The details go to the log only; the model does not see them.
      log("error", `${error}\n${error.stack}`);
      throw toolError("internal", "the tool has an internal error");
    }
  },
};

function parseCsv(text, delimiter) {
  const { rows, problem } = readRows(text, delimiter);
  if (problem !== undefined) throw toolError("invalid-input", problem);
  const [header, ...records] = rows;
  if (header === undefined) throw toolError("invalid-input", "there is no header line");
  if (new Set(header.fields).size < header.fields.length) {
    throw toolError("invalid-input", "the header names a field twice");
  }
  log("info", `records: ${records.length}`);
  return records.map(({ line, fields }) => {
    if (fields.length !== header.fields.length) {
      throw toolError(
        "invalid-input",
        `line ${line}: ${fields.length} fields instead of ${header.fields.length}`,
      );
    }
    return Object.fromEntries(fields.map((field, index) => [header.fields[index], field]));
  });
}

/** Returns an error to throw. Its `payload` becomes the error of the call; the model reads the message. */
function toolError(code, message) {
  return Object.assign(new Error(message), { payload: { code, message } });
}
