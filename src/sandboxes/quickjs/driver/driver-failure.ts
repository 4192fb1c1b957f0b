/**
 * The part of the driver that describes what was thrown, and where the guest is. It receives the driver's function that
 * converts any value to text. Its texts are built with loops over primitive values, as the rest of the driver's are.
 *
 * - `describe(thrown)` returns `-` and `[name, message, stack, code, ...related]`. Each of `related` has an error of
 *   `cause` or `AggregateError.errors`, as text with its stack.
 * - `where()` returns the stack of whatever runs.
 */
export const FAILURE_SOURCE: string = `(readable) => {
  const { stringify } = JSON;
  const ErrorOf = Error;
  const CUT = 8192;
  const RELATED = 8;
  const RELATED_CUT = 2048;

  const cut = (value, length) => {
    if (value.length <= length) return value;
    let start = "";
    for (let i = 0; i < length; i++) start += value[i];
    return start;
  };
  const isObject = (value) => typeof value === "object" && value !== null;
  const read = (object, key, length) => {
    try { const value = object[key]; return typeof value === "string" ? cut(value, length) : ""; } catch { return ""; }
  };
  const messageOf = (thrown, length) => {
    const said = isObject(thrown) ? read(thrown, "message", length) : "";
    if (said !== "") return said;
    return thrown === undefined || thrown === null ? "" : cut(readable(thrown), length);
  };

  const related = (thrown) => {
    const texts = [];
    const add = (label, error, depth) => {
      if (texts.length >= RELATED) return;
      const name = isObject(error) ? read(error, "name", 128) : "";
      const stack = isObject(error) ? read(error, "stack", RELATED_CUT) : "";
      texts[texts.length] = label + (name === "" ? "" : name + ": ") + messageOf(error, RELATED_CUT) + "\\n" + stack;
      follow(error, depth + 1);
    };
    const follow = (error, depth) => {
      if (!isObject(error) || depth > RELATED) return;
      let cause, errors, count = 0;
      try { cause = error.cause; } catch {}
      try { errors = error.errors; count = errors.length; } catch {}
      if (cause !== undefined) add("Caused by ", cause, depth);
      if (typeof count !== "number") return;
      for (let i = 0; i < count && texts.length < RELATED; i++) {
        let each;
        try { each = errors[i]; } catch {}
        add("Error " + (i + 1) + " of " + count + ": ", each, depth);
      }
    };
    follow(thrown, 0);
    return texts;
  };

  return {
    cut: (value) => cut(value, CUT),
    describe: (thrown) => {
      const name = isObject(thrown) ? read(thrown, "name", CUT) : "";
      const stack = isObject(thrown) ? read(thrown, "stack", CUT) : "";
      const code = isObject(thrown) ? read(thrown, "code", CUT) : "";
      const texts = related(thrown);
      let written = "-[" + stringify(name) + "," + stringify(messageOf(thrown, CUT)) + "," + stringify(stack) + "," + stringify(code);
      for (let i = 0; i < texts.length; i++) written += "," + stringify(texts[i]);
      return written + "]";
    },
    where: () => cut(new ErrorOf("").stack, RELATED_CUT),
  };
}`;
