// Runs in workerd. Each fetch has codemode's executor run model-written code, each time in a new isolate.
import { DynamicWorkerExecutor } from "@cloudflare/codemode";

const PROVIDERS = [{ name: "codemode", fns: { echo: async (input) => input } }];

export default {
  async fetch(request, { LOADER }) {
    const { code, calls } = await request.json();
    const executor = new DynamicWorkerExecutor({ loader: LOADER });
    const outputs = [];
    for (let i = 0; i < calls; i++) {
      const { result, error } = await executor.execute(code, PROVIDERS);
      outputs.push(result ?? error);
    }
    return Response.json(outputs);
  },
};
