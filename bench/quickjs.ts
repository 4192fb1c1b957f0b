import { newQuickJSWASMModule, RELEASE_SYNC } from "quickjs-emscripten";
import type { Question } from "./measure.ts";
import { dispatchCase, INPUT_TEXT, isInput } from "./setting.ts";

const SOURCE = "export default (input) => input";

/** What does a call in a fresh QuickJS runtime cost, beside the bare library in this thread? */
export async function quickjs(): Promise<Question> {
  const library = await newQuickJSWASMModule(RELEASE_SYNC);
  const ours = await dispatchCase("dispatch of a QuickJS tool (in a thread)", "quickjs", {
    quickjs: { source: SOURCE },
  });
  return {
    name: "quickjs",
    floor: {
      name: "quickjs-emscripten: fresh runtime and context, eval, call, dispose (in this thread)",
      run: () => {
        const runtime = library.newRuntime();
        const context = runtime.newContext();
        const tool = context.unwrapResult(
          context.evalCode("((text) => JSON.stringify(((input) => input)(JSON.parse(text))))"),
        );
        const text = context.newString(INPUT_TEXT);
        const result = context.unwrapResult(context.callFunction(tool, context.undefined, text));
        const output = context.getString(result);
        for (const handle of [result, text, tool]) handle.dispose();
        context.dispose();
        runtime.dispose();
        return output;
      },
      check: (text) => isInput(JSON.parse(String(text))),
    },
    cases: [ours.case],
    close: ours.close,
  };
}
