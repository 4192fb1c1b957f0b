// Cloudflare's codemode on workerd: a new isolate for each execution, by a worker loader.
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

/** Workers import nothing by its package's name: the worker is one file, with codemode in it. */
async function bundledWorker() {
  const input = fileURLToPath(new URL("codemode-worker.mjs", import.meta.url));
  await using bundle = await rolldown({ input, external: /^(cloudflare|node):/, platform: "browser" });
  const { output } = await bundle.generate({ format: "esm" });
  return output[0].code;
}
