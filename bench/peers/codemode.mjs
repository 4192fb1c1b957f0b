// Cloudflare's codemode on workerd: a worker loader creates a new isolate for each execution.
import { fileURLToPath } from "node:url";
import { Miniflare } from "miniflare";
import { rolldown } from "rolldown";

const ECHO = "((text) => JSON.stringify(((input) => input)(JSON.parse(text))))";

/** Each execution echoes the input in the sandbox. */
export function open({ INPUT_TEXT, calls }) {
  return openWith(`async () => ${ECHO}(${JSON.stringify(INPUT_TEXT)})`, calls);
}

/** Each execution calls a function of the host, which echoes the input. */
export function openCalling({ INPUT_TEXT, calls }) {
  return openWith(`async () => codemode.echo(${INPUT_TEXT})`, calls);
}

async function openWith(code, calls) {
  const runtime = new Miniflare({
    compatibilityDate: "2026-06-11",
    compatibilityFlags: ["nodejs_compat"],
    modules: [{ type: "ESModule", path: "worker.mjs", contents: await bundledWorker() }],
    workerLoaders: { LOADER: {} },
  });
  const url = await runtime.ready;
  const body = JSON.stringify({ code, calls });
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
