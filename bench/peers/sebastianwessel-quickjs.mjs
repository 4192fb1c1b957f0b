// @sebastianwessel/quickjs: a new sandbox for each call.
import { loadQuickJs } from "@sebastianwessel/quickjs";
import { RELEASE_SYNC } from "quickjs-emscripten";

const ECHO = "((text) => JSON.stringify(((input) => input)(JSON.parse(text))))";

export async function open({ INPUT_TEXT }) {
  const { runSandboxed } = await loadQuickJs(RELEASE_SYNC);
  const code = `export default ${ECHO}(${JSON.stringify(INPUT_TEXT)})`;
  return { run: async () => (await runSandboxed(({ evalCode }) => evalCode(code), {})).data };
}
