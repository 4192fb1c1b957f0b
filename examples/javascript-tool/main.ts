// Run it after `npm run build`: node examples/javascript-tool/main.ts
import { allow, defineTool, openSandboxes, ToolDispatchEngine, ToolRegistry } from "sandgate";

const registry = new ToolRegistry()
  .register(
    defineTool({
      name: "invoice",
      description: "Adds up an invoice, in EUR",
      inputSchema: { type: "object", required: ["currency", "lines"] },
      sideEffects: "none",
      quickjs: { file: new URL("invoice.ts", import.meta.url) },
    }),
  )
  .register(
    defineTool({
      name: "exchange_rate",
      description: "Returns the exchange rate between two currencies",
      inputSchema: { type: "object", required: ["from", "to"] },
      sideEffects: "none",
      host: ({ from }) => (from === "USD" ? 0.5 : 1),
    }),
  );
await using sandboxes = await openSandboxes();
const policy = {
  check: ({ tool }: { tool: { name: string } }) =>
    tool.name === "invoice"
      ? allow({
          sandbox: "quickjs",
          limits: { wallTimeMs: 1_000, nestedCalls: 1 },
          capabilities: { tools: ["exchange_rate"] },
        })
      : allow({ sandbox: "host" }),
};
const lines = [{ item: "paper", quantity: 4, price: "2.50" }];
const execution = await new ToolDispatchEngine().dispatch(
  { id: "call_1", name: "invoice", arguments: { currency: "USD", lines } },
  { registry, policy, sandboxes, sessionId: "example" },
);
console.log(JSON.stringify(execution?.output));
