// Cloudflare's codemode on workerd: a worker loader creates a new isolate for each execution.
import { fileURLToPath } from "node:url";
import { Miniflare } from "miniflare";
import { rolldown } from "rolldown";

const ECHO = "((text) => JSON.stringify(((input) => input)(JSON.parse(text))))";

export async function open({ INPUT_TEXT, calls }) {
  const runtime = new Miniflare({
    compatibilityDate: "2026-06-11",
    compatibilityFlags: ["nodejs_compat"],
    modules: [{ type: "ESModule", path: "worker.mjs", contents: await bundledWorker() }],
    workerLoaders: { LOADER: {} },
  });
  const url = await runtime.ready;
  const body = JSON.stringify({ code: `async () => ${ECHO}(${JSON.stringify(INPUT_TEXT)})`, calls });
  return {
    run: async () => (await runtime.dispatchFetch(url, { method: "POST", body })).json(),
    close: () => runtime.dispose(),
  };
}

/** Workers cannot import packages by name, so the worker is bundled with codemode in one file. */
async function bundledWorker() {
  const input = fileURLToPath(new URL("codemode-worker.mjs", import.meta.url));
  await using bundle = await rolldown({ input, external: /^(cloudflare|node):/, platform: "browser" });
  const { output } = await bundle.generate({ format: "esm" });
  return output[0].code;
}
