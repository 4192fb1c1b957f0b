// isolated-vm: a new V8 isolate for each call.
import ivm from "isolated-vm";

const ECHO = "((text) => JSON.stringify(((input) => input)(JSON.parse(text))))";

export function open({ INPUT_TEXT }) {
  const code = `${ECHO}(${JSON.stringify(INPUT_TEXT)})`;
  return {
    run: () => {
      const isolate = new ivm.Isolate({ memoryLimit: 64 });
      const output = isolate.createContextSync().evalSync(code, { timeout: 1_000 });
      isolate.dispose();
      return output;
    },
  };
}
